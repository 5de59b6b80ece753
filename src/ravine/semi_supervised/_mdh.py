"""The semi-supervised minimum density hyperplane (Hofmeyr 2016, ch. 2 §2.2 and §5.2).

The boundary of two classes is a hyperplane of low density with the labeled rows on their sides. A search takes some
tens of evaluations of two passes over the rows each, for each start and each pair of classes.
"""

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ravine._checks import numbers_of
from ravine._matrix import Floats, Ints, Matrix, Moments, moments_of
from ravine._sklearn import Interval, StrOptions
from ravine.cluster._base import FACTOR, checked_bandwidth, checked_directions
from ravine.cuts import Cut
from ravine.cuts._mdh import labeled_density_cut
from ravine.cuts._pursuit import make_starts
from ravine.semi_supervised._base import CutClassifier, linear_svm


class MDHClassifier(CutClassifier):
    """Classifier whose boundary runs where the density of all rows, labeled or not, is low.

    Two classes are separated by the hyperplane that minimizes the density of the projected rows on it, plus a penalty
    for labeled rows that are not on their side of it. With more classes there is a hyperplane for each pair, learned
    from the rows of the two classes and the unlabeled rows that linear support vector machines on the labels put into
    one of them; the pairs vote. With more than 15 classes each is compared with those near it.

    Scale the columns first where their units differ, for instance by StandardScaler.

    Parameters
    ----------
    init : {"pca"}, int, array-like of shape (n_starts, n_features) or callable, default=2
        Directions from which to search beside that of a linear support vector machine on the labeled rows: the first
        principal component, so many of the first ones, given directions, or ``callable(rows) -> directions``. The
        least objective wins.
    bandwidth_factor : float or callable ``(deviation, count) -> h``, default=0.9
        Factor of the bandwidth h = bandwidth_factor · σ₁ n^(-1/5), where σ₁ is the standard deviation along the first
        start. A function returns h itself.
    alphas : sequence of float, default=(0.0, 0.9)
        How far from the mean the cut may lie, in standard deviations, one search after the other.
    gammas : sequence of float, default=(10.0, 100.0)
        Weight of the labels against the density. The first holds while the bound of the cut grows, then the others, one
        search after the other.
    label_margin : float, default=1.0
        A labeled row is to lie so many bandwidths on its side of the cut. 0 asks for the right side only.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    pairs_ : ndarray of shape (n_pairs, 2)
        Numbers in `classes_` of the pairs that have a boundary: (0, 1), (0, 2), …, (1, 2), …; with more than 15 classes
        those of which one is among the six nearest of the other.
    cuts_ : list of Cut
        The boundary of each of `pairs_`; the first class of a pair is on its left.
    slopes_ : ndarray of shape (n_pairs,)
        How fast the log-odds of a pair grow with the distance to its cut.
    transduction_ : ndarray of shape (n_samples,)
        Class of each row of `fit`: the label that it was given, else what `predict` says.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are all strings.

    See Also
    --------
    SpectralPursuitClassifier : By the connectivity of the rows instead of their density.
    MDH : Without labels.

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
        n_jobs: int | None = -1,
    ) -> None:
        self.init = init
        self.bandwidth_factor = bandwidth_factor
        self.alphas = alphas
        self.gammas = gammas
        self.label_margin = label_margin
        self.n_jobs = n_jobs

    def _find_cut(self, X: Matrix, sides: Ints, weights: Floats, seed: int, n_jobs: int | None) -> Cut | None:
        given = make_starts(checked_directions(self.init), n_jobs)
        gammas = _path("gammas", self.gammas)
        if not gammas[-1] > 0:
            raise ValueError(f"gammas={self.gammas!r}: the last must be positive, or the labels have no say")

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
            bandwidth=checked_bandwidth("bandwidth", self.bandwidth_factor),
            alphas=_path("alphas", self.alphas),
            gammas=gammas,
            margin=float(self.label_margin),
            n_jobs=n_jobs,
        )


def _path(name: str, numbers: Sequence[float]) -> list[float]:
    path = numbers_of(numbers, name)
    if not path or not all(np.isfinite(number) and number >= 0 for number in path):
        raise ValueError(f"{name}={numbers!r}: give at least one number, none negative, from small to large")
    return path
