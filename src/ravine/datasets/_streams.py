"""Streams of Gaussian classes, static or changing, of Hofmeyr, Pavlidis and Eckley, §6.1.

Where there are C classes in d dimensions, class i = 1…C has covariance 4 (i/C)² SᵀS with S standard normal, its mean is
uniform on [0, C d^(1/4)]^d and its share of the rows is proportional to U[1, 2]. S is drawn when the rows of the class
are, so that memory holds one d × d matrix at a time.
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
    """Draw a stream whose distribution stays the same.

    Hofmeyr, Pavlidis and Eckley, §6.1.1 and, with irrelevant features, §6.1.2.

    Parameters
    ----------
    n_samples : int or None, default=None
        Rows; None takes `500 * n_classes`, as in the paper.
    n_classes : int, default=20
        Gaussian classes, from narrow (class 0) to wide.
    n_features : int, default=50
        Features that tell the classes apart.
    n_irrelevant : int, default=0
        Features after those that are Gaussian noise with mean 0 whatever the class.
    irrelevant_scale : float, default=1.0
        Standard deviation of that noise.
    random_state : int, RandomState instance or None, default=None
        Seed of the parameters and of the rows. With an int, irrelevant features leave the other columns as they were.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features + n_irrelevant)
        The rows, in the order of time.
    y : ndarray of shape (n_samples,)
        Class of each row, 0…n_classes - 1; in a short stream some may have no row.

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
    """Draw a stream in which, again and again, a random class splits in two.

    Hofmeyr, Pavlidis and Eckley, §6.1.3, increasing number of classes. The paper does not say where the parts of a
    split class lie. Here both are new classes under the rule of the static stream, with C the number of classes after
    the split and i random in 1…C. All other classes stay as they were.

    Parameters
    ----------
    every : int, default=1000
        Rows between two splits, also before the first and after the last: the stream has
        `every * (n_classes_final - n_classes + 1)` rows.
    n_classes, n_classes_final : int, default=20 and 60
        Number of classes in the first and in the last `every` rows.
    n_features : int, default=100
        Features; the paper takes 100 and 500.
    random_state : int, RandomState instance or None, default=None
        Seed of the parameters, of the splits and of the rows.

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
            f"n_classes_final={n_classes_final} is below n_classes={n_classes}: splits only add classes; "
            "use make_merging_stream to go down"
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
    """Draw a stream in which, again and again, two random classes merge into one.

    Hofmeyr, Pavlidis and Eckley, §6.1.3, decreasing number of classes. As in `make_splitting_stream`, the merged class
    is new under the rule of the static stream, and all other classes stay as they were.

    Parameters
    ----------
    every : int, default=1000
        Rows between two mergers, also before the first and after the last: the stream has
        `every * (n_classes - n_classes_final + 1)` rows.
    n_classes, n_classes_final : int, default=60 and 20
        Number of classes in the first and in the last `every` rows.
    n_features : int, default=100
        Features; the paper takes 100 and 500.
    random_state : int, RandomState instance or None, default=None
        Seed of the parameters, of the mergers and of the rows.

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
            f"n_classes_final={n_classes_final} is above n_classes={n_classes}: mergers only remove classes; "
            "use make_splitting_stream to go up"
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
    """Draw a stream in which all classes are replaced at once, at regular intervals.

    Hofmeyr, Pavlidis and Eckley, §6.1.3, distribution overhaul.

    Parameters
    ----------
    n_samples : int, default=60000
        Rows. The paper gives no length; the default has three overhauls.
    every : int, default=15000
        Rows between two overhauls.
    n_classes : int, default=20
        Gaussian classes at any time.
    n_features : int, default=100
        Features; the paper takes 100 and 500.
    random_state : int, RandomState instance or None, default=None
        Seed of the parameters and of the rows.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows, in the order of time.
    y : ndarray of shape (n_samples,)
        Class of each row, 0…n_classes - 1. The numbers are used again after an overhaul, for classes that have nothing
        to do with those before: score a window that does not span one, or tell the classes apart by
        `y + n_classes * (np.arange(n_samples) // every)`.

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
    """Fill X from one mixture and return the class of each row."""
    y = _draw_classes(len(X), np.arange(n_classes), rng.uniform(1, 2, n_classes), rng)
    _draw_rows(X, y, np.arange(1, n_classes + 1), np.full(n_classes, n_classes), rng)
    return y


def _draw_changing(
    every: int, n_classes: int, n_classes_final: int, n_features: int, rng: np.random.RandomState
) -> Data:
    """Draw a stream that replaces, at every change, one class by two or two by one."""
    n_changes = abs(n_classes_final - n_classes)
    n_gone, n_born = (1, 2) if n_classes_final > n_classes else (2, 1)
    counts = n_classes + (n_born - n_gone) * np.arange(n_changes + 1)
    count = np.repeat(counts, [n_classes] + n_changes * [n_born])  # how many classes there are when each begins
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
    """Fill X with rows of the classes y; class c was the `rank[c]`-th of `count[c]` classes."""
    d = X.shape[1]
    for c, (i, C) in enumerate(zip(rank, count, strict=True)):
        rows = np.flatnonzero(y == c)
        mean = rng.uniform(0, C * d**0.25, d)
        S = rng.standard_normal((d, d))
        X[rows] = mean + 2 * i / C * rng.standard_normal((len(rows), d)) @ S
