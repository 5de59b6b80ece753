"""Streams of Gaussian classes, static or changing, from Hofmeyr, Pavlidis and Eckley, §6.1.

With C classes and d features, class i = 1…C has covariance 4 (i/C)² SᵀS, where S is standard normal. Its mean is
uniform on [0, C d^(1/4)]^d, and its share of the rows is proportional to U[1, 2]. S is drawn together with the rows of
the class, so that memory holds only one d × d matrix at a time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ravine._sklearn import validate_params
from ravine.datasets._params import CONSTRAINTS, Data, Seed, validated


@validate_params({**CONSTRAINTS, "n_samples": [*CONSTRAINTS["n_samples"], None]}, prefer_skip_nested_validation=True)
def make_gaussian_stream(
    n_samples: int | None = None,
    *,
    n_classes: int = 20,
    n_features: int = 50,
    n_irrelevant: int = 0,
    irrelevant_scale: float = 1.0,
    random_state: Seed = None,
) -> Data:
    """Generate a stream whose distribution does not change.

    The stream is that of Hofmeyr, Pavlidis and Eckley, §6.1.1 and, with irrelevant features, §6.1.2.

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of rows. If None, it is `500 * n_classes`, as in the paper.
    n_classes : int, default=20
        Number of Gaussian classes, from narrow (class 0) to wide.
    n_features : int, default=50
        Number of features that separate the classes.
    n_irrelevant : int, default=0
        Number of further features that are Gaussian noise with mean 0, independent of the class.
    irrelevant_scale : float, default=1.0
        Standard deviation of that noise.
    random_state : int, RandomState instance or None, default=None
        Controls the random parameters and rows. Pass an int for reproducible output. With an int, irrelevant features
        do not change the other columns.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features + n_irrelevant)
        The rows, in the order of time.
    y : ndarray of shape (n_samples,)
        Class of each row, 0…n_classes - 1. In a short stream some classes may have no rows.

    Examples
    --------
    >>> from ravine.datasets import make_gaussian_stream
    >>> X, y = make_gaussian_stream(n_classes=10, n_features=100, n_irrelevant=50, irrelevant_scale=20, random_state=0)
    >>> X.shape
    (5000, 150)
    """
    rng = check_random_state(random_state)
    n_samples = 500 * n_classes if n_samples is None else n_samples
    X = np.empty((n_samples, n_features + n_irrelevant))
    y = _draw_static(X[:, :n_features], n_classes, rng)
    X[:, n_features:] = irrelevant_scale * rng.standard_normal((n_samples, n_irrelevant))
    return X, y


@validated
def make_splitting_stream(
    *,
    every: int = 1000,
    n_classes: int = 20,
    n_classes_final: int = 60,
    n_features: int = 100,
    random_state: Seed = None,
) -> Data:
    """Generate a stream in which, at regular intervals, a random class splits in two.

    The stream is that of Hofmeyr, Pavlidis and Eckley, §6.1.3, increasing number of classes. The paper does not say
    where the two halves of a split class lie. Here both are new classes, drawn as in the static stream, with C the
    number of classes after the split and i random in 1…C. All other classes stay the same.

    Parameters
    ----------
    every : int, default=1000
        Number of rows between two splits, and also before the first and after the last: the stream has
        `every * (n_classes_final - n_classes + 1)` rows.
    n_classes, n_classes_final : int, default=20 and 60
        Number of classes in the first and in the last `every` rows.
    n_features : int, default=100
        Number of features; the paper uses 100 and 500.
    random_state : int, RandomState instance or None, default=None
        Controls the random parameters, splits and rows. Pass an int for reproducible output.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows, in the order of time.
    y : ndarray of shape (n_samples,)
        Class of each row. A new class gets the next number that was never used.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.datasets import make_splitting_stream
    >>> X, y = make_splitting_stream(every=100, n_classes=2, n_classes_final=4, n_features=5, random_state=0)
    >>> [np.unique(stage).tolist() for stage in y.reshape(3, 100)]
    [[0, 1], [1, 2, 3], [2, 3, 4, 5]]
    """
    if n_classes_final < n_classes:
        raise ValueError(
            f"n_classes_final={n_classes_final} is below n_classes={n_classes}, but splits only add classes: use "
            "make_merging_stream"
        )
    return _draw_changing(every, n_classes, n_classes_final, n_features, check_random_state(random_state))


@validated
def make_merging_stream(
    *,
    every: int = 1000,
    n_classes: int = 60,
    n_classes_final: int = 20,
    n_features: int = 100,
    random_state: Seed = None,
) -> Data:
    """Generate a stream in which, at regular intervals, two random classes merge into one.

    The stream is that of Hofmeyr, Pavlidis and Eckley, §6.1.3, decreasing number of classes. As in
    `make_splitting_stream`, the merged class is a new class, drawn as in the static stream. All other classes stay the
    same.

    Parameters
    ----------
    every : int, default=1000
        Number of rows between two mergers, and also before the first and after the last: the stream has
        `every * (n_classes - n_classes_final + 1)` rows.
    n_classes, n_classes_final : int, default=60 and 20
        Number of classes in the first and in the last `every` rows.
    n_features : int, default=100
        Number of features; the paper uses 100 and 500.
    random_state : int, RandomState instance or None, default=None
        Controls the random parameters, mergers and rows. Pass an int for reproducible output.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows, in the order of time.
    y : ndarray of shape (n_samples,)
        Class of each row. A new class gets the next number that was never used.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.datasets import make_merging_stream
    >>> X, y = make_merging_stream(every=100, n_classes=4, n_classes_final=2, n_features=5, random_state=0)
    >>> [np.unique(stage).tolist() for stage in y.reshape(3, 100)]
    [[0, 1, 2, 3], [0, 2, 4], [0, 5]]
    """
    if n_classes_final > n_classes:
        raise ValueError(
            f"n_classes_final={n_classes_final} is above n_classes={n_classes}, but mergers only remove classes: use "
            "make_splitting_stream"
        )
    return _draw_changing(every, n_classes, n_classes_final, n_features, check_random_state(random_state))


@validated
def make_overhaul_stream(
    n_samples: int = 60_000,
    *,
    every: int = 15_000,
    n_classes: int = 20,
    n_features: int = 100,
    random_state: Seed = None,
) -> Data:
    """Generate a stream in which, at regular intervals, all classes are replaced at once.

    The stream is that of Hofmeyr, Pavlidis and Eckley, §6.1.3, distribution overhaul.

    Parameters
    ----------
    n_samples : int, default=60000
        Number of rows. The paper gives no length; the default has three overhauls.
    every : int, default=15000
        Number of rows between two overhauls.
    n_classes : int, default=20
        Number of Gaussian classes at any time.
    n_features : int, default=100
        Number of features; the paper uses 100 and 500.
    random_state : int, RandomState instance or None, default=None
        Controls the random parameters and rows. Pass an int for reproducible output.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows, in the order of time.
    y : ndarray of shape (n_samples,)
        Class of each row, 0…n_classes - 1. After an overhaul the same numbers denote new, unrelated classes. Score
        windows that do not span an overhaul, or use `y + n_classes * (np.arange(n_samples) // every)`, which has a
        different number for each class.

    Examples
    --------
    >>> from ravine.datasets import make_overhaul_stream
    >>> X, y = make_overhaul_stream(1000, every=250, n_classes=3, n_features=5, random_state=0)
    >>> X.shape, int(y.max())
    ((1000, 5), 2)
    """
    rng = check_random_state(random_state)
    X = np.empty((n_samples, n_features))
    y = [_draw_static(X[start : start + every], n_classes, rng) for start in range(0, n_samples, every)]
    return X, np.concatenate(y)


def _draw_static(X: NDArray[np.float64], n_classes: int, rng: np.random.RandomState) -> NDArray[Any]:
    """Fill X with rows of one mixture and return the class of each row."""
    y = _draw_classes(len(X), np.arange(n_classes), rng.uniform(1, 2, n_classes), rng)
    _draw_rows(X, y, np.arange(1, n_classes + 1), np.full(n_classes, n_classes), rng)
    return y


def _draw_changing(
    every: int, n_classes: int, n_classes_final: int, n_features: int, rng: np.random.RandomState
) -> Data:
    """Draw a stream in which every change replaces one class by two, or two classes by one."""
    n_changes = abs(n_classes_final - n_classes)
    n_gone, n_born = (1, 2) if n_classes_final > n_classes else (2, 1)
    counts = n_classes + (n_born - n_gone) * np.arange(n_changes + 1)
    count = np.repeat(counts, [n_classes] + n_changes * [n_born])  # number of classes when each class appears
    rank = np.concatenate([np.arange(1, n_classes + 1), rng.randint(1, count[n_classes:] + 1)])
    weight = rng.uniform(1, 2, len(count))

    alive = np.arange(n_classes)
    stages = [_draw_classes(every, alive, weight[alive], rng)]
    for born in np.arange(n_classes, len(count)).reshape(n_changes, n_born):
        alive = np.concatenate([rng.permutation(alive)[n_gone:], born])
        stages.append(_draw_classes(every, alive, weight[alive], rng))
    y = np.concatenate(stages)
    X = np.empty((len(y), n_features))
    _draw_rows(X, y, rank, count, rng)
    return X, y


def _draw_classes(
    n_samples: int, classes: NDArray[Any], weight: NDArray[np.float64], rng: np.random.RandomState
) -> NDArray[Any]:
    return rng.choice(classes, n_samples, p=weight / weight.sum())


def _draw_rows(
    X: NDArray[np.float64], y: NDArray[Any], rank: NDArray[Any], count: NDArray[Any], rng: np.random.RandomState
) -> None:
    """Fill X with rows of the classes y; class c is the `rank[c]`-th of `count[c]` classes."""
    d = X.shape[1]
    for c, (i, C) in enumerate(zip(rank, count, strict=True)):
        rows = np.flatnonzero(y == c)
        mean = rng.uniform(0, C * d**0.25, d)
        S = rng.standard_normal((d, d))
        X[rows] = mean + 2 * i / C * rng.standard_normal((len(rows), d)) @ S
