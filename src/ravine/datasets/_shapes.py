"""Shapes in two dimensions: two Gaussians at a given distance, and rings around a Gaussian."""

from typing import Literal

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.utils import check_random_state

from ravine.datasets._params import Data, Seed, validated


@validated
def make_two_gaussians(
    n_samples: int = 200, *, variance: float = 0.05, separation: float = np.sqrt(2), random_state: Seed = None
) -> Data:
    """Generate two spherical Gaussians in two dimensions.

    The data is that of Panahi et al., §5, where the variance controls the difficulty. The means lie on the first axis,
    on opposite sides of the origin.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows, half of them from each Gaussian. If it is odd, class 0 has one row more.
    variance : float, default=0.05
        Variance of each Gaussian along each axis. The paper gives no value. At 0.05, the best cut misplaces one row in
        a thousand.
    separation : float, default=sqrt(2)
        Distance between the two means.
    random_state : int, RandomState instance or None, default=None
        Controls the random rows. Pass an int for reproducible output.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The rows, shuffled.
    y : ndarray of shape (n_samples,)
        0 for the left Gaussian, 1 for the right.

    Examples
    --------
    >>> from ravine.datasets import make_two_gaussians
    >>> X, y = make_two_gaussians(6, variance=0, separation=2, random_state=0)
    >>> bool((X[:, 0] == 2 * y - 1).all())
    True
    """
    means = [[-separation / 2, 0.0], [separation / 2, 0.0]]
    X, y = make_blobs(n_samples, centers=means, cluster_std=np.sqrt(variance), random_state=random_state)
    return X, y


@validated
def make_rings(
    n_samples: int = 300,
    *,
    radii: tuple[float, float] = (1.0, 2.0),
    noise: float = 0.05,
    core_std: float = 0.15,
    sizes: Literal["equal", "length"] = "equal",
    random_state: Seed = None,
) -> Data:
    """Generate two rings around a Gaussian, all with the same center.

    The shape is that of Pham, Le and Dang, §5.1, Figure 1. The paper gives no sizes.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    radii : pair of float, default=(1.0, 2.0)
        Radii of the inner and the outer ring.
    noise : float, default=0.05
        Standard deviation, along each axis, of the Gaussian noise around a ring.
    core_std : float, default=0.15
        Standard deviation of the Gaussian at the center.
    sizes : {"equal", "length"}, default="equal"
        "equal" draws a third of the rows from each class; remaining rows go to the inner classes first. "length" draws
        rows in proportion to the length of each ring, and treats the center as a ring of half the inner radius;
        remaining rows go to the outer ring.
    random_state : int, RandomState instance or None, default=None
        Controls the random rows. Pass an int for reproducible output.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The rows, shuffled.
    y : ndarray of shape (n_samples,)
        0 for the center, 1 for the inner ring, 2 for the outer.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.datasets import make_rings
    >>> X, y = make_rings(6, noise=0, core_std=0, random_state=0)
    >>> bool(np.allclose(np.hypot(*X.T), y))
    True
    """
    radius = np.array([0.0, *radii], dtype=np.float64)
    if len(radius) != 3 or not (np.isfinite(radius).all() and (np.diff(radius) > 0).all()):
        raise ValueError(f"radii={radii!r}: pass two positive radii, the smaller first")
    rng = check_random_state(random_state)
    y = np.arange(n_samples) % 3
    if sizes == "length":
        length = np.array([radius[1] / 2, *radius[1:]])
        y = np.searchsorted(np.round(n_samples * np.cumsum(length) / length.sum()), np.arange(n_samples), side="right")
    y = rng.permutation(y)
    angle = rng.uniform(0, 2 * np.pi, n_samples)
    on_ring = radius[y, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    spread = np.array([core_std, noise, noise])[y, None]
    return on_ring + spread * rng.standard_normal((n_samples, 2)), y
