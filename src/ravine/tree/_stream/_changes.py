"""What has become of the clusters of a stream: which continue, which are gone, and where most of them are.

A cluster gets rows at its rate, and they fit its profile. If clearly fewer fit than at the rate before some row, it has
changed since then.
"""

import numpy as np
from scipy.special import gammaincc

from ravine._matrix import Ints, project
from ravine.tree._stream._matching import NOBODY
from ravine.tree._stream._nodes import Nodes
from ravine.tree._stream._profile import APART, FITS
from ravine.tree._stream._region import RECENT_SHARE, Region
from ravine.tree._stream._search import Split

CONTINUES, UNLIKELY = 0.6, 1e-3
"""A cluster has changed if less than this share of the rows that it would get at its old rate fit its profile, and if
so few rows are this unlikely."""

FEWEST_EXPECTED, GONE_SHARE, FEWEST_GONE, DRIFT_SHARE = 5, 0.3, 3, 0.5
"""A cluster is gone if at least so many rows were expected and less than this share of them came. There is a drift if
that many clusters are gone, with this share of the rows of a subtree."""


def too_few(n_rows: float, n_expected: float) -> bool:
    """Return whether there are clearly too few rows, if their number has a Poisson distribution."""
    return bool(n_rows < CONTINUES * n_expected and gammaincc(n_rows + 1, n_expected) < UNLIKELY)


def _expected(t: Ints, since: float, now: int) -> float:
    """Return how many rows a leaf would have since some row at the rate before, given the times of its rows."""
    before = t[t < since]
    return float(len(before) / max(since - before[0], 1) * (now - since)) if len(before) else 0.0


def current_rows(nodes: Nodes, leaf: int, since: float, now: int, most: int) -> tuple[Region, bool]:
    """Return the rows of a leaf that describe the present, and whether its old cluster continues.

    If it does not continue, only the rows since the change are returned.

    Parameters
    ----------
    nodes : Nodes
    leaf : int
    since : float
        Row since which the leaf may have changed.
    now : int
        Number of rows of the stream so far.
    most : int
        Maximum number of rows from before.
    """
    profile, identity = nodes.profile(leaf), int(nodes.identity[leaf])
    X, t = nodes.recent(leaf)
    is_new = t >= since
    p_values = np.ones(len(t)) if profile is None else profile.p_values(X)
    n_expected, n_fitting = _expected(t, since, now), (is_new & (p_values > FITS)).sum()
    n_expected *= 1 - _share_of_new_clusters(nodes, since, now)
    owner, is_apart = np.where(is_new & (p_values <= FITS), NOBODY, identity), is_new & (p_values <= APART)
    if not too_few(n_fitting, n_expected):
        chosen = is_new | (np.cumsum(~is_new[::-1])[::-1] <= most)
        return Region(X, t, owner, is_apart)[chosen], True
    if n_fitting < GONE_SHARE * n_expected:  # all rows are of the old cluster that moved, or none is
        owner = np.full(len(t), NOBODY if too_few(is_new.sum(), n_expected) else identity)
    return Region(X, t, owner, is_apart)[is_new], False


def _share_of_new_clusters(nodes: Nodes, since: float, now: int) -> float:
    """Estimate the share of the rows since some row that belong to no old cluster: all others have fewer then."""
    n_apart = 0.0
    for leaf in nodes.leaves():
        profile, (X, t) = nodes.profile(leaf), nodes.recent(leaf, since)
        if profile is not None and len(t):
            n_apart += max((profile.p_values(X) <= APART).sum() - APART * len(t), 0)
    return float(n_apart / max(now - since, 1))


def is_gone(nodes: Nodes, leaf: int, since: float, now: int) -> bool:
    """Return whether hardly any rows of a leaf since some row fit its profile."""
    profile = nodes.profile(leaf)
    if profile is None:
        return False
    new, _ = nodes.recent(leaf, since)
    n_expected = max(_expected(nodes.times_of(leaf), since, now), len(new))
    return n_expected >= FEWEST_EXPECTED and (profile.p_values(new) > FITS).sum() < GONE_SHARE * n_expected


def drifted_subtree(nodes: Nodes, leaf: int, since: float, now: int) -> int | None:
    """Return the highest cut above a changed leaf most of whose clusters are gone."""
    if not is_gone(nodes, leaf, since, now):
        return None
    gone = {other: is_gone(nodes, other, since, now) for other in nodes.leaves()}
    top = None
    for cut in nodes.above(leaf):
        leaves = nodes.leaves(cut)
        rates = np.array([nodes.rate(other) for other in leaves])
        are_gone = np.array([gone[other] for other in leaves])
        if are_gone.sum() >= FEWEST_GONE and rates[are_gone].sum() >= DRIFT_SHARE * rates.sum():
            top = cut
    return top


def is_trail(region: Region, split: Split) -> bool:
    """Return whether one side of a cut has no recent rows: a cluster has left it."""
    is_left = project(region.X, split.normal) < split.offset
    n_recent = np.array([(is_left & region.is_recent).sum(), (~is_left & region.is_recent).sum()])
    n_expected = np.array([is_left.sum(), (~is_left).sum()]) * RECENT_SHARE
    return any(
        too_few(n, expected) and n < GONE_SHARE * expected for n, expected in zip(n_recent, n_expected, strict=True)
    )
