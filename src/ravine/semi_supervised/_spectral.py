"""The semi-supervised spectral projection pursuit, S³CP² (Hofmeyr 2016, ch. 3B; Hofmeyr and Pavlidis 2015).

The boundary between two classes is orthogonal to the direction along which the rows split into the two least connected
sides, with the labeled rows on their correct sides. The search takes a few dozen evaluations of two passes over the
rows each.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ravine._lazy import public
from ravine._matrix import Floats, Ints, Matrix, moments_of
from ravine._sklearn import Interval, StrOptions
from ravine.cluster._base import FACTOR, checked_directions
from ravine.cuts import Cut
from ravine.cuts._labeled import labeled_cut, merged
from ravine.cuts._pursuit import make_starts
from ravine.semi_supervised._base import CutClassifier, linear_svm


@public("ravine")
class SpectralPursuitClassifier(CutClassifier):
    """Semi-supervised classifier whose boundary splits all rows, labeled or not, where they are least connected.

    The rows are projected on a direction and form a graph whose similarities decrease with the distance. The direction
    minimizes λ₂, the second eigenvalue of the Laplacian of that graph. In the graph, the labeled rows of a class are
    one node, and rows on the wrong side of a labeled row are joined to it. With more than two classes, there is a
    boundary for each pair of classes, and the pairs vote. A pair is learned from the labeled rows of its two classes,
    and from the unlabeled rows that linear support vector machines on the labels assign to one of the two. With more
    than 15 classes, each class is compared only with those near it.

    If the columns have different units, scale them first, for instance with StandardScaler.

    Parameters
    ----------
    bandwidth_factor : float, default=0.3
        Factor that multiplies the rule of thumb for the bandwidth: σ = bandwidth_factor · q / √d for d columns, where q
        is the 99th percentile of the distances of the rows to their nearest neighbors.
    bound : float, default=1.5
        Distance from the mean, in standard deviations, up to which distances count in full. A smaller value makes the
        sides more equal in size.
    init : {"svm"}, array-like of shape (n_starts, n_features) or callable, default="svm"
        Directions from which the search starts. "svm" is the normal of a linear support vector machine on the labeled
        rows, an array holds the directions, and a function is called as ``callable(rows) -> directions``. The start
        that leads to the smallest λ₂ wins.
    use_unlabeled : {"auto", "always", "never"}, default="auto"
        Whether the boundaries depend on the unlabeled rows. With "never", they are those of linear support vector
        machines on the labeled rows; the unlabeled rows only change the probabilities. With "auto", held-out labels
        decide: the unlabeled rows are used unless they put a held-out label on the wrong side and the labels alone have
        a smaller squared error of the probabilities. This takes up to five more searches for each pair of classes. If
        no class has two labels, nothing can be held out, and the unlabeled rows are used.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    pairs_ : ndarray of shape (n_pairs, 2)
        Pairs of classes that have a boundary, as positions in `classes_`: (0, 1), (0, 2), …, (1, 2), …. With more than
        15 classes, these are the pairs in which one class is among the six nearest of the other.
    cuts_ : list of Cut
        Boundary of each of `pairs_`; the first class of a pair is on its left.
    slopes_ : ndarray of shape (n_pairs,)
        Slope of the log-odds of each pair, per unit of distance to its cut.
    transduction_ : ndarray of shape (n_samples,)
        Class of each row of `fit`: its label if it has one, otherwise the result of `predict`.
    uses_unlabeled_ : bool
        Whether the boundaries depend on the unlabeled rows.
    held_out_errors_ : ndarray of shape (2,) or None
        Mean squared error of the probabilities of held-out labels, with the unlabeled rows and from the labels alone.
        None if it was not measured.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are all strings.

    See Also
    --------
    MDHClassifier : Uses the density of the rows instead of their connectivity.
    SpectralPursuit : The same objective without labels.

    References
    ----------
    D. Hofmeyr and N. Pavlidis, Semi-supervised spectral connectivity projection pursuit, Pattern Recognition
    Association of South Africa, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import SpectralPursuitClassifier
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> X, truth = load_wine(return_X_y=True)
    >>> y = np.full(178, -1)
    >>> y[::20] = truth[::20]
    >>> model = SpectralPursuitClassifier().fit(scale(X), y)
    >>> float(np.mean(model.transduction_ == truth).round(2))
    0.97
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CutClassifier._parameter_constraints,
        "bandwidth_factor": [FACTOR],
        "bound": [Interval(Real, 0, None, closed="neither")],
        "init": [StrOptions({"svm"}), "array-like", callable],
    }

    def __init__(
        self,
        *,
        bandwidth_factor: float = 0.3,
        bound: float = 1.5,
        init: Literal["svm"] | ArrayLike | Callable[..., ArrayLike] = "svm",
        use_unlabeled: Literal["auto", "always", "never"] = "auto",
        n_jobs: int | None = -1,
    ) -> None:
        self.bandwidth_factor = bandwidth_factor
        self.bound = bound
        self.init = init
        self.use_unlabeled = use_unlabeled
        self.n_jobs = n_jobs

    def _find_cut(self, X: Matrix, sides: Ints, weights: Floats, seed: int, n_jobs: int | None) -> Cut | None:
        X, sides, weights = merged(X, sides, weights)
        moments = moments_of(X, weights, n_jobs)
        if not moments.sum_sq > 0:
            return None
        if isinstance(self.init, str):
            normal, _ = linear_svm(X, sides, weights, moments)
            length = np.linalg.norm(normal)
            starts = normal[np.newaxis] / length if length > 0 else make_starts(1, n_jobs)(X, weights, moments)
        else:
            starts = make_starts(checked_directions(self.init), n_jobs)(X, weights, moments)
        return labeled_cut(
            X, weights, moments, sides, starts=starts, scale=self.bandwidth_factor, bound=self.bound, n_jobs=n_jobs
        )
