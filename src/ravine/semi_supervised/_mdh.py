"""The semi-supervised minimum density hyperplane (Hofmeyr 2016, ch. 2 §2.2 and §5.2).

The boundary between two classes is a hyperplane of low density with the labeled rows on their correct sides. For each
start and each pair of classes, the search takes a few dozen evaluations of two passes over the rows each.
"""

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ravine._checks import numbers_of
from ravine._lazy import public
from ravine._matrix import Floats, Ints, Matrix, Moments, moments_of
from ravine._sklearn import Interval, StrOptions
from ravine.cluster._base import FACTOR, checked_bandwidth, checked_directions
from ravine.cuts import Cut
from ravine.cuts._mdh import labeled_density_cut
from ravine.cuts._pursuit import make_starts
from ravine.semi_supervised._base import CutClassifier, linear_svm


@public("ravine")
class MDHClassifier(CutClassifier):
    """Semi-supervised classifier whose boundary runs through regions of low density of all rows, labeled or not.

    The boundary between two classes is the hyperplane that minimizes the density of the projected rows, plus a penalty
    for labeled rows on the wrong side. With more than two classes, there is a hyperplane for each pair of classes, and
    the pairs vote. A pair is learned from the labeled rows of its two classes, and from the unlabeled rows that linear
    support vector machines on the labels assign to one of the two. With more than 15 classes, each class is compared
    only with those near it.

    If the columns have different units, scale them first, for instance with StandardScaler.

    Parameters
    ----------
    init : {"pca"}, int, array-like of shape (n_starts, n_features) or callable, default=2
        Directions from which the search starts. "pca" is the first principal component, an integer is the number of
        principal components, an array holds the directions, and a function is called as
        ``callable(rows) -> directions``. The normal of a linear support vector machine on the labeled rows is always
        added. The start that leads to the smallest objective wins.
    bandwidth_factor : float or callable ``(deviation, count) -> h``, default=0.9
        Factor that multiplies the rule of thumb for the bandwidth: h = bandwidth_factor · σ₁ n^(-1/5), where σ₁ is the
        standard deviation along the first start. A function returns h itself.
    alphas : sequence of float, default=(0.0, 0.9)
        Maximum distance of the cut from the mean, in standard deviations. There is one search for each value, each
        starting from the result of the one before.
    gammas : sequence of float, default=(10.0, 100.0)
        Weight of the labels relative to the density. The first value is used in the searches over `alphas`. Then there
        is one more search for each further value.
    label_margin : float, default=1.0
        A labeled row is penalized unless it lies at least this many bandwidths from the cut, on its correct side. 0
        requires only the correct side.
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
    SpectralPursuitClassifier : Uses the connectivity of the rows instead of their density.
    MDH : The same objective without labels.

    References
    ----------
    N. Pavlidis, D. Hofmeyr and S. Tasoulis, Minimum density hyperplanes, Journal of Machine Learning Research, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import MDHClassifier
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> X, truth = load_wine(return_X_y=True)
    >>> y = np.full(178, -1)
    >>> y[::20] = truth[::20]
    >>> model = MDHClassifier().fit(scale(X), y)
    >>> float(np.mean(model.transduction_ == truth).round(2))
    0.97
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CutClassifier._parameter_constraints,
        "init": [StrOptions({"pca"}), Interval(Integral, 1, None, closed="left"), "array-like", callable],
        "bandwidth_factor": [FACTOR, callable],
        "alphas": ["array-like"],
        "gammas": ["array-like"],
        "label_margin": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        init: Literal["pca"] | int | ArrayLike | Callable[..., ArrayLike] = 2,
        bandwidth_factor: float | Callable[[float, float], float] = 0.9,
        alphas: Sequence[float] = (0.0, 0.9),
        gammas: Sequence[float] = (10.0, 100.0),
        label_margin: float = 1.0,
        use_unlabeled: Literal["auto", "always", "never"] = "auto",
        n_jobs: int | None = -1,
    ) -> None:
        self.init = init
        self.bandwidth_factor = bandwidth_factor
        self.alphas = alphas
        self.gammas = gammas
        self.label_margin = label_margin
        self.use_unlabeled = use_unlabeled
        self.n_jobs = n_jobs

    def _find_cut(self, X: Matrix, sides: Ints, weights: Floats, seed: int, n_jobs: int | None) -> Cut | None:
        given = make_starts(checked_directions(self.init), n_jobs)
        gammas = _path("gammas", self.gammas)
        if not gammas[-1] > 0:
            raise ValueError(f"gammas={self.gammas!r}: the last value must be positive, or the labels have no effect")

        def starts(rows: Matrix, weights: Floats, moments: Moments) -> Floats:
            directions = given(rows, weights, moments)
            if not len(directions):
                return directions
            normal, _ = linear_svm(rows, sides, weights, moments)
            length = np.linalg.norm(normal)
            return np.vstack([directions, normal / length]) if length > 0 else directions

        return labeled_density_cut(
            X,
            weights,
            moments_of(X, weights, n_jobs),
            sides,
            starts=starts,
            bandwidth=checked_bandwidth("bandwidth_factor", self.bandwidth_factor),
            alphas=_path("alphas", self.alphas),
            gammas=gammas,
            margin=float(self.label_margin),
            n_jobs=n_jobs,
        )


def _path(name: str, numbers: Sequence[float]) -> list[float]:
    path = numbers_of(numbers, name)
    if not path or not all(np.isfinite(number) and number >= 0 for number in path):
        raise ValueError(f"{name}={numbers!r}: pass one or more non-negative numbers, in increasing order")
    return path
