"""Whether a part of a leaf is a cluster, or rows of other leaves that came to lie on the wrong side of a cut."""

from collections.abc import Callable

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats, Ints
from ravine.tree._stream._nodes import Nodes
from ravine.tree._stream._profile import Profile
from ravine.tree._stream._region import Region

SLIVER_FITS, OWNER_SHARE, SETTLED_ROWS = 0.005, 0.1, 96
"""A part of a leaf belongs to other leaves if the median of the largest p-values of its rows there is above the first
number. Leaves with at least the second share of these rows are their owners: the cut between them and the leaf is
misplaced. Only leaves with so many rows in which no split was found can own others: they are one cluster."""


def owners(nodes: Nodes, leaf: int, part: Region, has_valley: Callable[[Region], bool]) -> list[int]:
    """Return the leaves that rows of another leaf belong to: they fit there, and there is no valley between.

    Parameters
    ----------
    nodes : Nodes
    leaf : int
        Leaf of the rows.
    part : Region
        Some of its rows.
    has_valley : callable ``(region) -> bool``
        Whether the rows of a region show a valley.
    """
    kernel = _kernels.stream
    is_settled = (nodes.leaf[:, kernel.N_SINCE] >= SETTLED_ROWS) & (nodes.leaf[:, kernel.IS_MIXED] == 0)
    others = [other for other in nodes.leaves() if other != leaf and is_settled[other]]
    profiles = {other: profile for other in others if (profile := nodes.profile(other)) is not None}
    if not profiles:
        return []
    strays = nearest_of_strays(part.X, list(profiles.values()))
    if strays is not None:
        n_best = np.bincount(strays, minlength=len(profiles))
        return [other for other, n in zip(profiles, n_best, strict=True) if n]
    p_values = np.array([profile.p_values(part.X) for profile in profiles.values()])
    if np.median(p_values.max(axis=0)) <= SLIVER_FITS:
        return []
    n_best = np.bincount(p_values.argmax(axis=0), minlength=len(profiles))
    largest = list(profiles)[int(n_best.argmax())]
    theirs = Region.with_owner(*nodes.recent(largest, part.t[0]), int(nodes.identity[largest]))
    if has_valley(Region.of([part, theirs])):
        return []  # a cluster that lies within the reach of a wide one
    return [other for other, n in zip(profiles, n_best, strict=True) if n >= OWNER_SHARE * len(part.t)]


def nearest_of_strays(X: Floats, profiles: list[Profile]) -> Ints | None:
    """Return the nearest profile of each row that is nearer to a profile than to the mean of all other rows.

    None if these are not most of the rows. A cluster has its rows about its mean, and strays have not.
    """
    n, within = len(X), np.mean([profile.inverse for profile in profiles], axis=0)
    own = (((X - X.mean(axis=0)) * within) ** 2).sum(axis=1) * (n / max(n - 1, 1)) ** 2
    others = np.array([(((X - profile.mean) * within) ** 2).sum(axis=1) for profile in profiles])
    is_stray = others.min(axis=0) < own
    return others.argmin(axis=0)[is_stray] if 2 * is_stray.sum() > n else None
