"""Proof of recovery: the bounds of Theorem 1 of Panahi et al. (2017) for a partition and λ.

The bounds are sufficient, not necessary: clusters are found long before the theorem proves it.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ravine import _kernels
from ravine._convex._groups import group_mean, mass_of
from ravine._lazy import public
from ravine._matrix import Floats, Ints
from ravine._schema import Group, Number

BOUND = Number((float, np.float64), low=0, high=np.inf)
CERTIFICATE = Group({"lam": BOUND, "lower": BOUND, "upper": BOUND, "upper_any": BOUND}, optional=True)
"""What a file keeps of a `Certificate`."""


@public("ravine.cluster")
@dataclass(frozen=True)
class Certificate:
    """Whether it is proved that the solution at λ has these clusters.

    If λ is at least `lower`, no cluster breaks up. If λ is at most `upper`, no two clusters fuse. If λ is at most
    `upper_any`, not all of them fuse. The parameters are also readable attributes.

    Parameters
    ----------
    lam : float
        The λ of the solution.
    lower : float
        Largest diameter of a cluster divided by its number of rows.
    upper : float
        Smallest distance between the means of two clusters, divided by 2 n √k; infinite for one cluster.
    upper_any : float
        Largest distance of a cluster mean to the mean of all rows, divided by the number of rows outside the cluster; 0
        for one cluster.

    Attributes
    ----------
    holds : bool
        Whether the clusters are proved to be those of the solution at `lam`.
    holds_coarsely : bool
        Whether the solution at `lam` is proved to consist of unions of these clusters, at least two.
    interval : tuple of two floats, or None
        Values of λ for which the clusters are proved to be recovered; None if there are none.
    failing : dict
        The inequalities that fail at `lam`, and by which factor; empty if recovery is proved.

    See Also
    --------
    ravine.SumOfNorms : Has a certificate as `certificate_` for "uniform" weights.

    Examples
    --------
    >>> from ravine import SumOfNorms
    >>> model = SumOfNorms(lam=0.1, weights="uniform").fit([[0.0], [0.1], [5.0], [5.1]])
    >>> model.n_clusters_, model.certificate_.holds
    (2, True)
    >>> print(model.certificate_)
    proved for 0.05 <= lam <= 0.442, which lam=0.1 is in
    """

    lam: float
    lower: float
    upper: float
    upper_any: float

    @property
    def holds(self) -> bool:
        """Whether the clusters are proved to be those of the solution at `lam`."""
        return bool(self.lower <= self.lam <= self.upper)

    @property
    def holds_coarsely(self) -> bool:
        """Whether the solution at `lam` is proved to consist of unions of these clusters, at least two."""
        return bool(self.lower <= self.lam <= self.upper_any)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Values of λ for which the clusters are proved to be recovered; None if there are none."""
        return (self.lower, self.upper) if self.lower <= self.upper else None

    @property
    def failing(self) -> dict[str, float]:
        """The inequalities that fail at `lam`, and by which factor; empty if recovery is proved."""
        ratios = {"lower <= lam": _ratio(self.lower, self.lam), "lam <= upper": _ratio(self.lam, self.upper)}
        return {name: ratio for name, ratio in ratios.items() if ratio > 1}

    def __str__(self) -> str:
        if self.holds:
            return f"proved for {self.lower:.3g} <= lam <= {self.upper:.3g}, which lam={self.lam:.3g} is in"
        what = " and ".join(f"{name} fails by a factor of {ratio:.3g}" for name, ratio in self.failing.items())
        where = "for no lam" if self.interval is None else f"for {self.lower:.3g} <= lam <= {self.upper:.3g}"
        some = "; some of these clusters are proved to be apart" if self.holds_coarsely else ""
        return f"proved {where}; at lam={self.lam:.3g}, {what}{some} (sufficient, not necessary)"


def certify(rows: Floats, mass: Floats, labels: Ints, lam: float) -> Certificate:
    """Compute the bounds of the theorem for a partition of distinct rows into clusters 0, 1, …

    Rows are weighted by their mass.
    """
    n_clusters = int(labels.max()) + 1
    total, size = float(mass.sum()), mass_of(labels, mass)
    means = group_mean(rows, mass, labels)
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    lower = max(_kernels.pairs.diameter(np.ascontiguousarray(rows[of].T)) / size[k] for k, of in enumerate(members))
    if n_clusters == 1:
        return Certificate(lam, lower, np.inf, 0.0)
    center = mass @ rows / total
    return Certificate(
        lam,
        lower,
        _smallest_distance(means) / (2.0 * total * np.sqrt(n_clusters)),
        float((np.linalg.norm(means - center, axis=1) / (total - size)).max()),
    )


def _smallest_distance(points: Floats) -> float:
    return float(NearestNeighbors(n_neighbors=1).fit(points).kneighbors()[0].min())


def _ratio(small: float, large: float) -> float:
    return np.inf if large == 0 < small else small / large if large > 0 else 1.0
