"""A tree of cuts that follows a stream: clusters are found, watched, and reported when they change.

Every leaf keeps its most recent rows. It is split where held-out rows confirm a valley (`_search`). Its profile
(`_profile`) shows when rows no longer fit; a cut shows when rows fill its valley. Then only the region that no longer
fits is learned again, from the rows that are kept (`_region`), and its clusters keep their identifiers if their rows
continue (`_matching`, `_registry`). The compiled loop over the rows is `ravine._kernels.stream`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats, Ints
from ravine.tree._derived import with_summed_cuts
from ravine.tree._stream._events import EventLog, OnEvent
from ravine.tree._stream._history import History
from ravine.tree._stream._matching import NOBODY, match
from ravine.tree._stream._nodes import Nodes
from ravine.tree._stream._profile import APART, FITS, MIN_PROFILE, dependence_of, profile_of
from ravine.tree._stream._region import Region
from ravine.tree._stream._registry import Registry
from ravine.tree._stream._search import Split, find_split
from ravine.tree._stream._units import Units
from ravine.tree._tree import HyperplaneTree

FIRST_TEST, GROWTH, SLOWER_FROM, SLOWER_GROWTH = 40, 1.5, 512, 2.0
"""A leaf is tested at this many rows, then each time when its rows have grown by the factor; from some number of rows
on, by the second factor."""

REPAIR_LEVEL = 0.02
"""Significance level of cuts in a region below a cut that is renewed: it had clusters before."""

ENOUGH_APART, LIKELY_APART, SETTLES_AT = 24, 48, 100
"""Number of rows that do not fit at which a leaf is tested for a split after an alarm, and at which a new cluster would
have been found; number of rows since the change at which the leaf is settled if there is no split."""

LONGEST_WAIT = 1000
"""Number of rows after the alarm of a cut at which the alarm is dropped if few rows have come since."""

OLD_ROWS = 200
"""Number of rows from before an alarm that are tested together with those after it, if the old cluster continues."""

CONTINUES, DEVIATIONS = 0.4, 2.5
"""An old cluster continues if it gets this share of the rows that it would get at its old rate, and if their number is
at most so many standard deviations too small."""

FEWEST_EXPECTED, GONE_SHARE, FEWEST_GONE, DRIFT_SHARE = 5, 0.3, 3, 0.5
"""A cluster is gone if at least so many rows were expected and less than this share of them came. There is a drift if
that many clusters are gone, with this share of the rows of a subtree."""

SLIVER_SHARE, SLIVER_FITS = 0.25, 0.02
"""A part of a leaf with at most this share of its rows belongs to another leaf if their median p-value there is above
the second number: the cut between the two leaves is misplaced."""

REGION_ROWS, ROWS_PER_LEAF = 2000, 40
"""Number of rows from which the region below a cut is learned again, and the number that each leaf may always give."""


@dataclass(frozen=True)
class StreamSettings:
    """Settings of a tree that follows a stream.

    Attributes
    ----------
    significance : float
        Significance level of all tests of a leaf together; the k-th test has 6 / (π k)² of it.
    run_length : float
        Number of rows between two false alarms.
    max_clusters : int
    window_size : int
        Number of recent rows that a leaf keeps.
    dependence : float or None
        Number of successive rows that count as one; None estimates it.
    """

    significance: float = 0.05
    run_length: float = 1e8
    max_clusters: int = 200
    window_size: int = 1024
    dependence: float | None = None


class StreamTree:
    """The tree, and what it remembers.

    Parameters
    ----------
    n_features : int
    settings : StreamSettings
    """

    def __init__(self, n_features: int, settings: StreamSettings) -> None:
        self.settings = settings
        self.n_features = n_features
        self.n_rows = 0
        self.largest = 0.0  # largest absolute value of the rows so far
        self.nodes = Nodes(n_features, settings.window_size)
        self.units = Units(np.ones(n_features), np.zeros(n_features))
        self.log = EventLog()
        self.history = History()
        self.registry = Registry(self.nodes, self.log, self.history)
        root = self.nodes.take()
        self.nodes.make_leaf(root, -1, np.empty((0, n_features)), np.empty(0, dtype=np.int64), 0)
        self.nodes.identity[root] = self.registry.new_id()
        self.nodes.leaf[root, _kernels.stream.NEXT_TEST] = FIRST_TEST

    @property
    def events(self) -> list[dict[str, Any]]:
        """The most recent events of each kind, in the order in which they were reported."""
        return self.log.events

    @property
    def n_events(self) -> dict[str, int]:
        """Number of events so far, by kind."""
        return self.log.n_events

    def learn(self, X: Floats, on_event: OnEvent | None = None) -> None:
        """Learn the next rows, in their order; `on_event` is called with each event."""
        kernel, self.log.on_event = _kernels.stream, on_event
        handlers = {
            kernel.TEST: self._test,
            kernel.MISFIT: self._note_misfit,
            kernel.PROFILE: self._renew_profile,
            kernel.RETURNED: self.registry.note_return,
            kernel.DUE: self._look_around,
        }
        first, row, settings = self.n_rows, 0, self._numbers()
        while row < len(X):
            n_seen, part = self.nodes.leaf[:, kernel.N_SEEN].copy(), X[: self.history.end - first]
            row, why, node = kernel.follow(part, row, first, self.nodes.root, self.nodes.arrays(), settings)
            self.n_rows = self.registry.now = first + row
            self._count(n_seen)
            if why != kernel.END:
                handlers[why](node)
                settings = self._numbers()
                self.history.sum_up(self.nodes.identity)
        self.log.on_event = None

    def _count(self, n_seen: Floats) -> None:
        """Add the last rows to the history, given the number of rows that each node had seen before them."""
        n_rows = self.nodes.leaf[:, _kernels.stream.N_SEEN] - n_seen
        visited = np.flatnonzero(n_rows)
        self.history.add(self.nodes.identity[visited], n_rows[visited])

    def _numbers(self) -> tuple[float, ...]:
        """Return the settings as the compiled loop takes them.

        The alarm of a leaf changes nothing by itself, since a test follows. So its limit is lower than that of a cut. A
        row passes several cuts, and each may raise a false alarm.
        """
        limit, depth = math.log(self.settings.run_length), math.log2(len(self.nodes.leaves()) + 1)
        look = max(self.registry.next_look, self.n_rows)
        return limit / 2, limit + math.log(max(depth, 1.0)), limit, self._dependence_of_stream(), look

    def _look_around(self, _: int) -> None:
        """Do what is due at many nodes: new clusters to report, cuts to renew, leaves without rows."""
        nodes, kernel, now = self.nodes, _kernels.stream, self.n_rows
        if self.registry.next_look <= now:
            self.registry.announce()
        filled = [node for node in nodes.below(nodes.root) if nodes.is_filled(node, now - 1 - kernel.PATIENCE)]
        if filled:
            self._renew_cut(filled[0])  # the highest one
        limit = math.log(self.settings.run_length)
        for leaf in nodes.leaves():
            if nodes.parent[leaf] >= 0 and kernel.is_over(nodes.leaf[leaf], float(now - 1), limit):
                self.registry.rest(leaf)

    # Dependence and profiles

    def _dependence(self, X: Floats) -> float:
        if self.settings.dependence is not None:
            return self.settings.dependence
        self.units.renew(self.nodes, self.n_rows)
        return dependence_of(X, self.units.spread)

    def _dependence_of_stream(self) -> float:
        """Return the mean dependence of the leaves, weighted by their rows."""
        kernel, leaves = _kernels.stream, self.nodes.leaves()
        seen, dependence = self.nodes.leaf[leaves][:, [kernel.N_SEEN, kernel.DEPENDENCE]].T
        return float(seen @ dependence / seen.sum()) if seen.any() else 1.0

    def _watch(self, leaf: int, X: Floats) -> None:
        """Give a leaf the profile of some of its rows, if there are enough."""
        L, kernel = self.nodes.leaf[leaf], _kernels.stream
        if len(X) >= MIN_PROFILE:
            self.units.renew(self.nodes, self.n_rows)
            self.nodes.set_profile(leaf, profile_of(X, self.units.least_deviation))
            L[kernel.DEPENDENCE] = self._dependence(X)
            L[kernel.NEXT_PROFILE] = 2 * L[kernel.N_SEEN]

    def _renew_profile(self, leaf: int) -> None:
        """Renew the profile of a leaf from its recent rows; the CUSUM goes on."""
        L, kernel = self.nodes.leaf[leaf], _kernels.stream
        if L[kernel.STATE] == kernel.WATCHED:
            cusum = L[[kernel.CUSUM, kernel.ONSET]].copy()
            self._watch(leaf, self.nodes.recent(leaf)[0])
            L[[kernel.CUSUM, kernel.ONSET]] = cusum
        is_last = L[kernel.N_SEEN] >= 4 * self.settings.window_size
        L[kernel.NEXT_PROFILE] = math.inf if is_last else 2 * L[kernel.N_SEEN]

    # Tests of leaves

    def _level(self, n_tests: float) -> float:
        """Return the level of the next test of a leaf: the levels of all its tests add up to the significance."""
        return float(self.settings.significance * 6 / (math.pi * (n_tests + 1)) ** 2)

    def _find_split(self, X: Floats, level: float, dependence: float, **hints: Any) -> Split | None:
        if len(self.nodes.leaves()) >= self.settings.max_clusters:
            return None
        self.units.renew(self.nodes, self.n_rows)
        return find_split(X, self.units.spread, self.units.steps, level, dependence=dependence, **hints)

    def _schedule(self, leaf: int) -> None:
        """Set the next test of a leaf after one that found nothing."""
        L, kernel = self.nodes.leaf[leaf], _kernels.stream
        n = L[kernel.N_SINCE]
        L[kernel.N_TESTS] += 1
        L[kernel.NEXT_TEST] = max(math.ceil(n * (GROWTH if n < SLOWER_FROM else SLOWER_GROWTH)), FIRST_TEST)

    def _test(self, leaf: int) -> None:
        """Test a leaf for a split."""
        L, kernel = self.nodes.leaf[leaf], _kernels.stream
        if L[kernel.STATE] == kernel.CHANGED:
            self._resolve(leaf)
            return
        X, t = self.nodes.recent(leaf, L[kernel.SINCE])
        level = self._level(L[kernel.N_TESTS])
        split = self._find_split(X, level, self._dependence(X))
        if split is not None and not self._is_sliver(leaf, X, split):
            region = Region.with_owner(X, t, int(self.nodes.identity[leaf]))
            self._relearn(leaf, region, split, level, L[kernel.SINCE])
            return
        self._schedule(leaf)
        if L[kernel.STATE] == kernel.FRESH:
            self._watch(leaf, X)

    def _is_sliver(self, leaf: int, X: Floats, split: Split) -> bool:
        """Return whether the smaller part of a leaf belongs to another leaf; the cut between them is then renewed."""
        is_left = _kernels.proposals.along(X, split.normal) < split.offset
        part = X[is_left if 2 * is_left.sum() <= len(X) else ~is_left]
        if len(part) > SLIVER_SHARE * len(X):
            return False
        for other in self.nodes.leaves():
            profile = self.nodes.profile(other)
            if other != leaf and profile is not None and np.median(profile.p_values(part)) > SLIVER_FITS:
                self.nodes.raise_alarm(self.nodes.common([leaf, other]), self.n_rows - 1)
                return True
        return False

    # Alarms of leaves

    def _note_misfit(self, leaf: int) -> None:
        """Start to collect the rows since a change."""
        L, kernel = self.nodes.leaf[leaf], _kernels.stream
        onset = L[kernel.ONSET]
        L[[kernel.STATE, kernel.SINCE, kernel.CUSUM, kernel.N_TESTS]] = kernel.CHANGED, onset, 0.0, 0.0
        n_since = len(self.nodes.recent(leaf, onset)[1])
        L[kernel.N_SINCE], L[kernel.NEXT_TEST] = n_since, max(ENOUGH_APART, n_since + 1)
        self._relearn_if_drifted(leaf)

    def _resolve(self, leaf: int) -> None:
        """Find out what happened to a leaf whose rows no longer fit."""
        L, kernel, nodes = self.nodes.leaf[leaf], _kernels.stream, self.nodes
        if self._relearn_if_drifted(leaf):
            return
        if any(nodes.is_filled(cut) for cut in nodes.above(leaf)):
            L[kernel.NEXT_TEST] = L[kernel.N_SINCE] + ENOUGH_APART  # the cut will be renewed with all leaves below it
            return
        since, n_new = L[kernel.SINCE], L[kernel.N_SINCE]
        now, continues = self._present(leaf, since, OLD_ROWS)
        if now.n_apart >= ENOUGH_APART or n_new >= FIRST_TEST:
            new, level, is_sliver = now[now.t >= since], self._level(L[kernel.N_TESTS]) / 2, False
            for region in (now, new) if continues else (new,):
                split = self._find_split(region.X, level, L[kernel.DEPENDENCE], is_apart=region.is_apart)
                is_sliver = split is not None and self._is_sliver(leaf, region.X, split)
                if split is not None and not is_sliver:
                    self._relearn(leaf, region, split, level, since)
                    return
            may_split = is_sliver or (continues and ENOUGH_APART / 2 < now.n_apart < LIKELY_APART)
            if n_new >= SETTLES_AT and not (may_split and n_new < self.settings.window_size // 2):
                self._settle(leaf, new, since)
                return
        self._schedule(leaf)

    def _settle(self, leaf: int, new: Region, since: float) -> None:
        """End the alarm of a leaf that is still one cluster: it has moved, or has another shape."""
        nodes, identity, before = self.nodes, int(self.nodes.identity[leaf]), self.registry.as_it_is(leaf)
        self._start_leaf(leaf, int(nodes.parent[leaf]), new.X, new.t)
        nodes.identity[leaf] = identity
        self.registry.report_move(leaf, before, since)

    def _start_leaf(self, node: int, parent: int, X: Floats, t: Ints) -> None:
        """Make a node a leaf with rows that were tested for a split once."""
        self.nodes.make_leaf(node, parent, X, t, self.n_rows)
        self._watch(node, X)
        self.nodes.leaf[node, _kernels.stream.N_TESTS] = 1
        self._schedule(node)

    # What is still true

    def _expected(self, t: Ints, since: float) -> float:
        """Return how many rows a leaf would have since some row at the rate before, given the times of its rows."""
        before = t[t < since]
        return float(len(before) / max(since - before[0], 1) * (self.n_rows - since)) if len(before) else 0.0

    def _present(self, leaf: int, since: float, most: int) -> tuple[Region, bool]:
        """Return the rows of a leaf that describe the present, and whether its old cluster continues.

        If it does not continue, only the rows since the change are returned.

        Parameters
        ----------
        leaf : int
        since : float
            Row since which the leaf may have changed.
        most : int
            Maximum number of rows from before.
        """
        profile, identity = self.nodes.profile(leaf), int(self.nodes.identity[leaf])
        X, t = self.nodes.recent(leaf)
        is_new = t >= since
        p_values = np.ones(len(t)) if profile is None else profile.p_values(X)
        n_expected = self._expected(t, since)
        enough = max(CONTINUES * n_expected, (1 - FITS) * n_expected - DEVIATIONS * math.sqrt(n_expected))
        enough = enough if n_expected >= FEWEST_EXPECTED else 0.0
        is_apart = is_new & (p_values <= APART)
        if (is_new & (p_values > FITS)).sum() >= enough:
            chosen = is_new | (np.cumsum(~is_new[::-1])[::-1] <= most)
            return Region(X, t, np.where(is_apart, NOBODY, identity), is_apart)[chosen], True
        owner = np.full(len(t), identity if is_new.sum() >= enough else NOBODY)
        return Region(X, t, owner, is_apart)[is_new], False

    def _is_gone(self, leaf: int, since: float) -> bool:
        """Return whether hardly any rows of a leaf since some row fit its profile."""
        profile = self.nodes.profile(leaf)
        if profile is None:
            return False
        X, t = self.nodes.recent(leaf)
        new = X[t >= since]
        n_expected = max(self._expected(t, since), len(new))
        return n_expected >= FEWEST_EXPECTED and (profile.p_values(new) > FITS).sum() < GONE_SHARE * n_expected

    # Learning a region again

    def _relearn_if_drifted(self, leaf: int) -> bool:
        """Learn the largest subtree above a changed leaf again if most of its clusters are gone."""
        nodes, since = self.nodes, self.nodes.leaf[leaf, _kernels.stream.SINCE]
        if not self._is_gone(leaf, since):
            return False
        gone = {other: self._is_gone(other, since) for other in nodes.leaves()}
        top = -1
        for cut in nodes.above(leaf):
            leaves = nodes.leaves(cut)
            rates = np.array([nodes.rate(other) for other in leaves])
            are_gone = np.array([gone[other] for other in leaves])
            if are_gone.sum() >= FEWEST_GONE and rates[are_gone].sum() >= DRIFT_SHARE * rates.sum():
                top = cut
        if top < 0:
            return False
        leaves = nodes.leaves(top)
        clusters = [int(nodes.identity[other]) for other in leaves]
        before = {int(nodes.identity[other]): self.registry.as_it_is(other) for other in leaves}
        region = Region.of([Region.with_owner(*nodes.recent(other, since), NOBODY) for other in leaves])
        self.registry.report_drift(clusters, before, since)
        self.registry.name_anew(self._grow(top, region, None, self._level(0), None)[0])
        return True

    def _renew_cut(self, node: int) -> None:
        """Learn the region below a cut again, since rows fill its valley, as soon as there are enough of them."""
        nodes, kernel = self.nodes, _kernels.stream
        leaves, onset = nodes.leaves(node), nodes.cut[node, kernel.FILL_ONSET]
        changed = nodes.leaf[leaves, kernel.STATE] == kernel.CHANGED
        for leaf in np.array(leaves)[changed].tolist():
            if self._relearn_if_drifted(leaf):
                return
        starts = np.where(changed, np.minimum(nodes.leaf[leaves, kernel.SINCE], onset), onset).tolist()
        most = max(ROWS_PER_LEAF, REGION_ROWS // len(leaves))
        region = Region.of([self._present(leaf, since, most)[0] for leaf, since in zip(leaves, starts, strict=True)])
        if max(nodes.cut[node, kernel.INNER_SINCE], region.n_apart) >= LIKELY_APART:
            self._relearn(node, region, None, REPAIR_LEVEL, onset, self._between_leaves(leaves))
        elif self.n_rows - nodes.cut[node, kernel.FILLED_AT] >= LONGEST_WAIT:
            nodes.cut[node, [kernel.FILL, kernel.FILLED_AT]] = 0.0, -1.0

    def _between_leaves(self, leaves: list[int]) -> Floats | None:
        """Return the directions from each leaf to the nearest other one, in columns divided by their units."""
        nodes = self.nodes
        means = np.array([nodes.mean[leaf] for leaf in leaves if nodes.profile(leaf) is not None])
        if len(means) < 2:
            return None
        self.units.renew(nodes, self.n_rows)
        scaled = means / self.units.spread
        squares = ((scaled[:, np.newaxis] - scaled) ** 2).sum(axis=2)
        np.fill_diagonal(squares, np.inf)
        pairs = {tuple(sorted((k, int(nearest)))) for k, nearest in enumerate(squares.argmin(axis=1))}
        return np.array([scaled[a] - scaled[b] for a, b in sorted(pairs)])

    def _relearn(
        self,
        node: int,
        region: Region,
        split: Split | None,
        level: float,
        since: float,
        extra: Floats | None = None,
    ) -> None:
        """Replace a node and all below it by a tree that is grown from some rows, and name its leaves.

        Parameters
        ----------
        node : int
        region : Region
        split : Split or None
            The first cut, if it is known.
        level : float
            Significance level of all other cuts.
        since : float
            Row since which the region has changed.
        extra : ndarray, optional
            Further directions for the cuts.
        """
        nodes = self.nodes
        before = {int(nodes.identity[leaf]): self.registry.as_it_is(leaf) for leaf in nodes.leaves(node)}
        leaves, leaf_of_row = self._grow(node, region, split, level, extra)
        self.registry.name(leaves, match(region.owner, leaf_of_row, len(leaves), list(before)), before, since)

    def _grow(
        self, node: int, region: Region, split: Split | None, level: float, extra: Floats | None
    ) -> tuple[list[int], Ints]:
        """Grow a tree from rows; return its leaves from left to right, and the position of the leaf of each row."""
        nodes, dependence = self.nodes, self._dependence_of_stream()
        nodes.drop_below(node)
        leaves: list[int] = []
        leaf_of_row = np.zeros(len(region.t), dtype=np.int64)
        stack = [(node, int(nodes.parent[node]), np.arange(len(region.t)), split)]
        while stack:
            here, parent, rows, split = stack.pop()
            X, t = region.X[rows], region.t[rows]
            nodes.make_leaf(here, parent, X, t, self.n_rows)
            if split is None:
                split = self._find_split(X, level, dependence, extra=extra, is_apart=region.is_apart[rows])
            if split is None:
                leaf_of_row[rows] = len(leaves)
                leaves.append(here)
                continue
            values = _kernels.proposals.along(X, split.normal)
            left, right = nodes.make_cut(here, split, values - split.offset)
            is_left = values < split.offset
            stack += [(right, here, rows[~is_left], None), (left, here, rows[is_left], None)]
        self.units.spread_due = 0.0
        for leaf in leaves:
            self._start_leaf(leaf, int(nodes.parent[leaf]), *nodes.recent(leaf))
        return leaves, leaf_of_row

    # Conversion to a HyperplaneTree

    def snapshot(self) -> tuple[HyperplaneTree, Ints]:
        """Return the current tree, and the identifier of each of its nodes; those of cuts are negative.

        A leaf counts all rows since it was made; its mean and its spread are those of its recent rows.
        """
        nodes, kernel = self.nodes, _kernels.stream
        order = np.array(nodes.below(nodes.root))
        position = np.full(len(nodes.left) + 1, -1)
        position[order] = np.arange(len(order))
        is_cut = nodes.left[order] >= 0
        count, mean, sum_sq = zip(*(nodes.moments(node) for node in order), strict=True)
        tree = HyperplaneTree.from_nodes(
            left=position[nodes.left[order]],
            right=position[nodes.right[order]],
            rank=nodes.order[order],
            normal=np.where(is_cut[:, np.newaxis], nodes.normal[order], 0.0),
            offset=np.where(is_cut, nodes.cut[order, kernel.OFFSET], 0.0),
            count=count,
            mean=mean,
            sum_sq=sum_sq,
            value=np.zeros(len(order)),
            relative_depth=np.where(is_cut, nodes.depth[order], 0.0),
            p_value=np.where(is_cut, nodes.p_value[order], 1.0),
        )
        return with_summed_cuts(tree), nodes.identity[order]
