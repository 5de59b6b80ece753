"""The nodes of a tree that follows a stream: arrays, rings of recent rows, and the links between nodes."""

from typing import Any

import numpy as np

from ravine import _kernels
from ravine._matrix import Bools, Floats, Ints
from ravine.cuts._density import depth_at
from ravine.tree._stream._profile import Profile
from ravine.tree._stream._search import Split

ROOM = 32
"""Initial number of nodes and of rings in the arrays. It doubles when needed."""

IS_CUT, UNUSED = -1, -2
"""Values of `ring` for nodes without a ring."""

MORE_ROWS = 2
"""A cut that is misplaced is renewed if there are this many times the rows from which it was made."""

INNER_SHARE = 0.4
"""The inner region of a cut covers this share of the distance to the nearer mode."""

LINKS = ("left", "right", "parent", "ring", "identity", "order")
NUMBERS = ("normal", "cut", "leaf", "mean", "inverse", "counts", "p_value", "depth")
RINGS = ("rows", "times")
"""The arrays with one entry per node, links first, and the arrays with one entry per ring."""


class Nodes:
    """Arrays of nodes; see `ravine._kernels.stream` for the columns of `leaf` and `cut`.

    Parameters
    ----------
    n_features : int
    ring_size : int
        Number of recent rows that a leaf keeps.
    """

    left: Ints
    right: Ints
    parent: Ints
    ring: Ints
    identity: Ints
    order: Ints
    normal: Floats
    cut: Floats
    leaf: Floats
    mean: Floats
    inverse: Floats
    counts: Floats
    p_value: Floats
    depth: Floats
    rows: Floats
    times: Ints

    def __init__(self, n_features: int, ring_size: int) -> None:
        self.n_features, self.ring_size = n_features, ring_size
        self.root = 0
        self.n_cuts = 0  # since the start of the stream
        self._leaves: list[int] | None = None  # all leaves, until the tree changes
        self.allot(0, 0)

    def _make_room(self, names: tuple[str, ...], n_old: int, n_new: int) -> None:
        kernel, d = _kernels.stream, self.n_features
        widths: dict[str, tuple[int, ...]] = {
            "normal": (d,),
            "cut": (kernel.N_CUT,),
            "leaf": (kernel.N_LEAF,),
            "mean": (d,),
            "inverse": (d,),
            "counts": (kernel.N_BINS,),
            "rows": (self.ring_size, d),
            "times": (self.ring_size,),
        }
        for name in names:
            integers = name in LINKS or name == "times"
            array: Any = (
                np.full((n_new, *widths.get(name, ())), -1) if integers else np.zeros((n_new, *widths.get(name, ())))
            )
            if name == "ring":
                array[:] = UNUSED
            if n_old:
                array[:n_old] = getattr(self, name)
            setattr(self, name, array)

    def arrays(self) -> Any:
        """Return the arrays as the compiled loop takes them."""
        arrays = _kernels.stream.Arrays
        return arrays(*(getattr(self, name) for name in arrays._fields))

    # Taking and freeing nodes

    def allot(self, n_nodes: int, n_rings: int) -> None:
        """Make room for nodes and rings, and take the first ones."""
        room, n_free = max(n_nodes, ROOM), max(n_rings, 1)
        self._make_room(LINKS + NUMBERS, 0, room)
        self._make_room(RINGS, 0, n_free)
        self._free_nodes = list(range(room - 1, n_nodes - 1, -1))
        self._free_rings = list(range(n_free - 1, n_rings - 1, -1))
        self._leaves = None

    def take(self) -> int:
        """Return a node that is not used."""
        self._leaves = None
        if not self._free_nodes:
            n = len(self.left)
            self._make_room(LINKS + NUMBERS, n, 2 * n)
            self._free_nodes = list(range(2 * n - 1, n - 1, -1))
        return self._free_nodes.pop()

    def _take_ring(self) -> int:
        if not self._free_rings:
            n = len(self.times)
            self._make_room(RINGS, n, 2 * n)
            self._free_rings = list(range(2 * n - 1, n - 1, -1))
        return self._free_rings.pop()

    def _free(self, node: int) -> None:
        self._leaves = None
        self._free_ring(node)
        self.ring[node] = UNUSED
        self.left[node] = self.right[node] = self.parent[node] = self.identity[node] = -1
        self._free_nodes.append(node)

    def _free_ring(self, node: int) -> None:
        if self.ring[node] >= 0:
            self._free_rings.append(int(self.ring[node]))
            self.ring[node] = IS_CUT

    # Changing the tree

    def make_leaf(self, node: int, parent: int, X: Floats, t: Ints, now: int) -> None:
        """Turn a node into a leaf that has seen these rows, in the order of time; the oldest may not fit its ring."""
        kernel, self._leaves = _kernels.stream, None
        self.left[node] = self.right[node] = -1
        self.parent[node], self.identity[node], self.order[node] = parent, -1, -1
        if self.ring[node] < 0:
            self.ring[node] = self._take_ring()
        for array in (self.normal, self.cut, self.leaf, self.mean, self.inverse, self.counts, self.p_value, self.depth):
            array[node] = 0.0
        kept = t[-self.ring_size :]
        ring = self.ring[node]
        self.rows[ring, : len(kept)], self.times[ring, : len(kept)] = X[-self.ring_size :], kept
        self.rows[ring, len(kept) :], self.times[ring, len(kept) :] = 0.0, -1  # a saved stream has no removed rows
        L = self.leaf[node]
        L[[kernel.N_SEEN, kernel.N_SINCE]] = len(t)
        L[kernel.N_STORED] = len(kept)
        L[[kernel.BORN, kernel.SINCE]] = t[0] if len(t) else now
        L[kernel.LAST] = t[-1] if len(t) else now
        gaps = np.diff(t)
        L[kernel.LONGEST_GAP] = gaps.max(initial=0)
        L[kernel.N_VISITS] = (gaps > 1).sum() + (len(t) > 0)
        L[[kernel.NEXT_TEST, kernel.NEXT_PROFILE]] = np.inf
        L[kernel.DEPENDENCE] = 1.0

    def make_cut(self, node: int, split: Split, distances: Floats) -> tuple[int, int]:
        """Turn a leaf into a cut, given the distances of its rows from the cut; return two nodes for its children."""
        children = self.take(), self.take()
        self._free_ring(node)
        self.n_cuts += 1
        self.identity[node] = -1 - self.n_cuts
        self.left[node], self.right[node] = children
        self.order[node] = self.n_cuts
        self.place_cut(node, split, distances)
        return children

    def place_cut(self, node: int, split: Split, distances: Floats) -> None:
        """Set the place of a cut, given the distances of the rows from it."""
        kernel = _kernels.stream
        self.normal[node], self.p_value[node] = split.normal, split.p_value
        self.depth[node] = depth_at(0.0, distances, np.ones(len(distances)))
        self.cut[node] = 0.0
        c = self.cut[node]
        c[[kernel.OFFSET, kernel.LOW, kernel.HIGH]] = split.offset, split.low, split.high
        c[kernel.REACH] = INNER_SHARE * min(-split.low, split.high)
        c[kernel.RATE] = 2 * c[kernel.REACH] / (split.high - split.low)
        c[kernel.N_INNER] = (np.abs(distances) < c[kernel.REACH]).sum()
        c[kernel.N_OUTER] = ((split.low < distances) & (distances < split.high)).sum()
        c[[kernel.N_ROWS, kernel.FILLED_AT]] = len(distances), -1

    def swap_children(self, cut: int) -> None:
        """Let the left side of a cut be its right side."""
        self._leaves = None
        self.left[cut], self.right[cut] = int(self.right[cut]), int(self.left[cut])

    def keep_rows(self, leaf: int, chosen: Bools) -> None:
        """Drop all other rows from the ring of a leaf, given which of its recent rows stay."""
        kernel, L, ring = _kernels.stream, self.leaf[leaf], self.ring[leaf]
        X, t = self.recent(leaf)
        L[kernel.N_SINCE] -= (t[~chosen] >= L[kernel.SINCE]).sum()
        X, t = X[chosen], t[chosen]
        self.rows[ring], self.times[ring] = 0.0, -1
        self.rows[ring, : len(t)], self.times[ring, : len(t)] = X, t
        L[kernel.N_STORED] = len(t)

    def drop_below(self, node: int) -> None:
        """Free all nodes below a cut; the caller makes the node a leaf."""
        for child in (int(self.left[node]), int(self.right[node])):
            if child >= 0:
                self.drop_below(child)
                self._free(child)

    def remove(self, leaf: int) -> None:
        """Remove a leaf and the cut above it; its sibling moves up."""
        cut = int(self.parent[leaf])
        sibling = self.sibling(leaf)
        above = int(self.parent[cut])
        self.parent[sibling] = above
        if above < 0:
            self.root = sibling
        elif self.left[above] == cut:
            self.left[above] = sibling
        else:
            self.right[above] = sibling
        self._free(leaf)
        self._free(cut)

    def mark_misplaced(self, cut: int, row: int) -> None:
        """Let a cut be renewed if there are now more rows to place it, though no rows fill its valley."""
        kernel, c = _kernels.stream, self.cut[cut]
        n_stored = self.leaf[self.leaves(cut), kernel.N_STORED]
        if not self.is_filled(cut) and np.minimum(n_stored, self.ring_size).sum() >= MORE_ROWS * c[kernel.N_ROWS]:
            c[[kernel.FILL, kernel.FILLED_AT, kernel.FILL_ONSET]] = 0.0, row, row

    def mark_filled(self, cut: int, row: int, n_inner: float) -> None:
        """Let a cut be renewed as if so many rows had filled its valley."""
        kernel = _kernels.stream
        if not self.is_filled(cut):
            names = [kernel.FILL, kernel.FILL_ONSET, kernel.FILLED_AT, kernel.INNER_SINCE]
            self.cut[cut, names] = 1.0, row, row, n_inner

    # Looking at the tree

    def is_filled(self, node: int, by: float = np.inf) -> bool:
        """Return whether a node is a cut that raised an alarm, at row `by` at the latest."""
        return self.left[node] >= 0 and 0 <= self.cut[node, _kernels.stream.FILLED_AT] <= by

    def sibling(self, node: int) -> int:
        """Return the other child of the cut above a node."""
        above = self.parent[node]
        return int(self.right[above] if self.left[above] == node else self.left[above])

    def below(self, node: int) -> list[int]:
        """Return a node and all nodes below it, in preorder."""
        left, right = self.left.tolist(), self.right.tolist()  # a list is read ten times as fast
        found, stack = [], [node]
        while stack:
            here = stack.pop()
            found.append(here)
            if left[here] >= 0:
                stack += [right[here], left[here]]
        return found

    def leaves(self, node: int | None = None) -> list[int]:
        """Return the leaves below a node, from left to right; by default all leaves."""
        if node is not None:
            return [here for here in self.below(node) if self.left[here] < 0]
        if self._leaves is None:
            self._leaves = self.leaves(self.root)
        return self._leaves.copy()

    def above(self, node: int) -> list[int]:
        """Return the cuts above a node, the nearest first."""
        found = []
        while (node := int(self.parent[node])) >= 0:
            found.append(node)
        return found

    def common(self, nodes: list[int]) -> int:
        """Return the lowest cut above all of some nodes."""
        shared = set.intersection(*(set(self.above(node)) for node in nodes))
        return next(cut for cut in self.above(nodes[0]) if cut in shared)

    def leaf_of(self, identity: int) -> int:
        """Return the leaf with an identifier."""
        return next(leaf for leaf in self.leaves() if self.identity[leaf] == identity)

    def recent(self, leaf: int, since: float = -1, most: int | None = None) -> tuple[Floats, Ints]:
        """Return the rows of a leaf since row `since` that are still in its ring, the oldest first, and their times."""
        times, oldest = self.times_of(leaf), self._oldest(leaf)
        start = int(times.searchsorted(since)) if since > 0 else 0
        start = start if most is None else max(len(times) - most, start)
        ring = self.rows[self.ring[leaf]]
        first, n_late = oldest + start, self.ring_size - oldest  # the rows from the oldest to the end of the ring
        if len(times) <= n_late:
            return ring[first : oldest + len(times)].copy(), times[start:]
        return np.concatenate([ring[first:], ring[max(start - n_late, 0) : oldest]]), times[start:]

    def times_of(self, leaf: int) -> Ints:
        """Return the times of the rows that are still in the ring of a leaf, the oldest first."""
        times, oldest = self.times[self.ring[leaf]], self._oldest(leaf)
        if oldest:
            return np.concatenate([times[oldest:], times[:oldest]])
        return times[: int(self.leaf[leaf, _kernels.stream.N_STORED])].copy()

    def _oldest(self, leaf: int) -> int:
        """Return the position of the oldest row in the ring of a leaf."""
        n_stored = int(self.leaf[leaf, _kernels.stream.N_STORED])
        return n_stored % self.ring_size if n_stored > self.ring_size else 0

    def profile(self, leaf: int) -> Profile | None:
        """Return the profile of a leaf; None if it has none."""
        kernel, L = _kernels.stream, self.leaf[leaf]
        if L[kernel.N_SCORES] == 0:
            return None
        counts = self.counts[leaf].copy()
        n_rows = int(min(L[kernel.N_SCORES], self.ring_size))
        return Profile(self.mean[leaf].copy(), self.inverse[leaf].copy(), float(L[kernel.MEDIAN]), counts, n_rows)

    def set_profile(self, leaf: int, profile: Profile) -> None:
        """Give a leaf a profile, from which it is watched."""
        kernel, L = _kernels.stream, self.leaf[leaf]
        self.mean[leaf], self.inverse[leaf], self.counts[leaf] = profile.mean, profile.inverse, profile.counts
        L[[kernel.MEDIAN, kernel.N_SCORES, kernel.STATE]] = profile.median, profile.n_rows, kernel.WATCHED
        L[kernel.CUSUM], L[kernel.ONSET] = 0.0, L[kernel.LAST]
        L[kernel.NEXT_BET] = L[kernel.N_SEEN]

    def last(self, leaf: int) -> int:
        """Return the last row of a leaf."""
        return int(self.leaf[leaf, _kernels.stream.LAST])

    def rate(self, leaf: int) -> float:
        """Return the share of the rows of the stream that a leaf got, from its first row to its last."""
        kernel, L = _kernels.stream, self.leaf[leaf]
        return float(L[kernel.N_SEEN] / max(L[kernel.LAST] - L[kernel.BORN] + 1, L[kernel.N_SEEN], 1))

    def rate_since(self, leaf: int, row: int, now: int) -> float:
        """Return the share of the rows of the stream that a leaf got since some row, as far as its ring goes back."""
        t = self.times_of(leaf)
        start = max(row, int(t[0])) if len(t) else row
        return float((t >= start).sum() / max(now - start, 1))

    def moments(self, node: int) -> tuple[float, Floats, float]:
        """Return number, mean and sum of squares of the rows of a leaf, the latter two from its recent rows."""
        if self.left[node] >= 0 or not self.leaf[node, _kernels.stream.N_STORED]:
            return 0.0, np.zeros(self.n_features), 0.0
        X, _ = self.recent(node)
        count, mean = float(self.leaf[node, _kernels.stream.N_SEEN]), X.mean(axis=0)
        return count, mean, float(((X - mean) ** 2).sum()) * count / len(X)
