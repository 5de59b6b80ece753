"""Choose λ on a path: the value around which the relevant clusters stay the same for longest.

A cluster is relevant if it has a minimum number of rows. When relevant clusters absorb single rows and small groups,
nothing has changed. A change is when two of them fuse, or when small groups together become relevant. See
docs/decisions/sum-of-norms.md for the reasons.
"""

from dataclasses import dataclass

import numpy as np

from ravine._convex._path import FusionTree
from ravine._matrix import Bools, Floats, Ints

COVERED = 0.5
"""Minimum share of the rows that the relevant clusters must contain together."""

NUMBER_BONUS = 0.2
"""Bonus for more clusters: the length of a stretch counts more by this share of the logarithm of their number."""


@dataclass(frozen=True)
class LambdaChoice:
    """A chosen λ, and the clusters there.

    Attributes
    ----------
    lam : float
        Value of the path in the middle of the stretch in which the relevant clusters stay the same.
    labels : ndarray of shape (n_points,)
        Cluster of each point. A small group belongs to the cluster with which it fuses later on the path.
    strength : float
        Logarithm of the factor of λ over which the clusters stay the same, times 1 - Σ p² for their shares p of the
        rows, divided by the logarithm of their number.
    """

    lam: float
    labels: Ints
    strength: float


@dataclass(frozen=True)
class Stretch:
    """A part of the path in which the relevant clusters stay the same.

    Attributes
    ----------
    low, high : float
        First value of λ, and the value at which the clusters change, or the last one of the path.
    lam : float
        Value of the path in the middle.
    number : int
        Number of relevant clusters.
    n_fusions : int
        Number of fusions up to `lam`.
    """

    low: float
    high: float
    lam: float
    number: int
    n_fusions: int

    @property
    def length(self) -> float:
        """Logarithm of the factor of λ over which the clusters stay the same."""
        return float(np.log(self.high / self.low))


def least_size(total: float) -> float:
    """Return the minimum number of rows of a relevant cluster, given the total number of rows."""
    return max(5.0, min(0.02 * total, float(np.sqrt(total))))


def choose(
    tree: FusionTree, rows: Floats, mass: Floats, min_size: float, n_clusters: int | None = None
) -> LambdaChoice | None:
    """Choose the longest stretch of the path, in log λ, with at least two relevant clusters.

    If `n_clusters` is given, the stretch has exactly that many relevant clusters.

    None if there is no such stretch.
    """
    found = [
        stretch
        for stretch in stretches(tree, mass, min_size)
        if (stretch.number > 1 if n_clusters is None else stretch.number == n_clusters)
    ]
    if not found:
        return None
    score = np.array([stretch.length * (1.0 + NUMBER_BONUS * np.log(stretch.number)) for stretch in found])
    best = found[int(np.flatnonzero(score >= score.max() * (1.0 - 1e-9))[-1])]
    labels = labels_in(tree, rows, mass, min_size, best)
    share = np.bincount(labels, mass) / mass.sum()
    evenness = (1.0 - share @ share) / np.log(len(share)) if len(share) > 1 else 0.0
    return LambdaChoice(best.lam, labels, float(best.length * evenness))


def stretches(tree: FusionTree, mass: Floats, min_size: float) -> list[Stretch]:
    """Return the parts of the path in which the relevant clusters stay the same and contain enough of all rows."""
    _, number, changes, is_covered = clusters_that_matter(tree, mass, min_size)
    n_fusions = np.searchsorted(tree.merge_lambdas, tree.lambdas, side="right")
    # Before the first fusion there is nothing to choose.
    state = np.where(is_covered[n_fusions] & (n_fusions > 0), changes[n_fusions], -1)
    starts = np.flatnonzero(np.diff(state, prepend=-2))
    ends = np.append(starts, len(state))[1:]
    found = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if state[start] >= 0:
            middle = (start + end - 1) // 2
            low, high, lam = (float(lam) for lam in tree.lambdas[[start, min(end, len(state) - 1), middle]])
            found.append(Stretch(low, high, lam, int(number[n_fusions[start]]), int(n_fusions[middle])))
    return found


def labels_in(tree: FusionTree, rows: Floats, mass: Floats, min_size: float, stretch: Stretch) -> Ints:
    """Return the cluster of each point in a stretch, where a small group belongs to the cluster it fuses with later."""
    matters = clusters_that_matter(tree, mass, min_size)[0]
    return _with_small_groups(tree, rows, matters, stretch.n_fusions)


def clusters_that_matter(tree: FusionTree, mass: Floats, min_size: float) -> tuple[Bools, Ints, Ints, Bools]:
    """Return which nodes have enough rows, and the state of these nodes after 0, 1, 2, … fusions.

    The state is their number, the number of changes so far, and whether they contain enough of all rows.
    """
    size = mass.tolist()
    for left, right in tree.children.tolist():
        size.append(size[left] + size[right])
    matters = np.array(size) >= min_size
    held = np.where(matters, size, 0.0)
    single, pair, fused = held[: tree.n_points], held[tree.children], held[tree.n_points :]
    is_change = (fused > 0) & ((pair[:, 0] > 0) == (pair[:, 1] > 0))
    number = (single > 0).sum() + np.cumsum(np.append(0, (fused > 0).astype(int) - (pair > 0).sum(axis=1)))
    covered = single.sum() + np.cumsum(np.append(0.0, fused - pair.sum(axis=1)))
    return matters, number, np.cumsum(np.append(0, is_change)), covered >= COVERED * mass.sum()


def _with_small_groups(tree: FusionTree, rows: Floats, matters: Bools, n_fusions: int) -> Ints:
    """Return the cluster of each point after some fusions; a small group gets the cluster with which it fuses later.

    If several clusters have fused by then, it gets the nearest of them. Small groups that first fuse with each other
    and become relevant together are a cluster too.
    """
    group, top = tree.groups_after(n_fusions)
    position = np.concatenate([rows, tree.centroids])[top]
    label = np.where(matters[top], np.cumsum(matters[top]) - 1, -1)
    clusters = {int(node): [g] if matters[node] else [] for g, node in enumerate(top)}
    waiting = {int(node): [] if matters[node] else [g] for g, node in enumerate(top)}
    for node, pair in enumerate(tree.children[n_fusions:].tolist(), tree.n_points + n_fusions):
        joined = clusters.pop(pair[0]) + clusters.pop(pair[1])
        longer, shorter = sorted((waiting.pop(pair[0]), waiting.pop(pair[1])), key=len, reverse=True)
        longer.extend(shorter)
        if matters[node] and not joined:
            label[longer] = label.max() + 1
            joined, longer = longer[:1], []
        elif joined:
            for g in longer:
                label[g] = label[joined[int(((position[joined] - position[g]) ** 2).sum(axis=1).argmin())]]
            longer = []
        clusters[node], waiting[node] = joined, longer
    alone = label < 0  # the path ended before they fused
    label[alone] = label.max() + 1 + np.arange(alone.sum())
    return label[group]
