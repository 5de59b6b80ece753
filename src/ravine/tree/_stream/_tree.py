"""A tree of cuts that follows a stream: clusters are found, watched, and reported when they change.

Every leaf keeps its most recent rows. It is split where held-out rows confirm a valley (`_search`). Its profile
(`_profile`) shows when rows no longer fit; a cut shows when rows fill its valley. Then only the region that no longer
fits is learned again, from the rows that are kept (`_region`), and its clusters keep their identifiers if their rows
continue (`_matching`, `_registry`). The compiled loop over the rows is `ravine._kernels.stream`.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats, Ints, project
from ravine.tree._derived import with_summed_cuts
from ravine.tree._stream._changes import current_rows, drifted_subtree, is_trail
from ravine.tree._stream._events import EventLog, OnEvent
from ravine.tree._stream._history import History
from ravine.tree._stream._matching import NOBODY, match
from ravine.tree._stream._nodes import Nodes
from ravine.tree._stream._ownership import owners
from ravine.tree._stream._placement import place_anew
from ravine.tree._stream._profile import MIN_PROFILE, dependence_of, profile_of
from ravine.tree._stream._region import Region
from ravine.tree._stream._registry import Former, Registry
from ravine.tree._stream._search import Found, Split, find_split
from ravine.tree._stream._units import Units
from ravine.tree._tree import HyperplaneTree

FIRST_TEST, GROWTH, HOPELESS_GROWTH, LATE_GROWTH = 40, 1.5, 2.0, 3.0
"""A leaf is tested at this many rows, then each time when its rows have grown by the factor. The second factor holds if
they show no valley at all, the third when the leaf has seen twice the rows that it keeps: later tests seldom find
more."""

FIRST_SHARE, EARLY_SHARE, FULL_SHARE, LATE_SHARE = 0.4, 0.03, 0.06, 0.025
"""Shares of the significance that tests of a leaf get: the first one of a stream, those before its ring is full, those
when it is full, and afterwards divided by 1, 4, 9, …"""

REPAIR_LEVEL, DRIFT_LEVEL = 0.005, 0.02
"""Significance levels of cuts after an alarm, and after a drift: there is evidence already that something has changed,
and after a drift there were clusters."""

ENOUGH_APART, LIKELY_APART, SETTLES_AT = 24, 48, 64
"""Number of rows that do not fit at which a leaf is tested for a split after an alarm, and at which a new cluster would
have been found; number of rows since the change at which the leaf is settled if there is no split."""

LONGEST_WAIT = 1000
"""Number of rows after the alarm of a cut at which the alarm is dropped if few rows have come since."""

MOVED, MOST_APART = 0.25, 0.25
"""A cluster that still gets its rows has moved if the median of their p-values is below the first number; a few rows of
others do not change it much. It has moved as a whole if less than the second share of the rows is apart."""

SESSION = 8
"""Rows come in sessions if the visits to a leaf have at least this many rows on average."""

OLD_ROWS = 200
"""Number of rows from before an alarm that are tested together with those after it, if the old cluster continues."""

RECOVERED_SHARE, ROWS_PER_CLUSTER, RETRY_GROWTH = 0.5, 32, 1.25
"""After a drift, the old tree stays until a new one has this share of its clusters, or until so many rows per old
cluster have come. A new tree is tried each time when the rows since the drift have grown by the factor."""

RECOVERY_ROWS = 100
"""Until this many rows per old cluster have come since a drift, or until there are as many clusters as before, leaves
are tested at the level of a drift."""

MOST_TESTED = 2000
"""If a region has more rows than this, a cut is searched with so many of them, spread evenly over time."""


@dataclass(frozen=True)
class StreamSettings:
    """Settings of a tree that follows a stream.

    Attributes
    ----------
    significance : float
        Significance level of all tests of a leaf together.
    run_length : float
        Number of rows between two false alarms.
    max_clusters : int
    window_size : int
        Number of recent rows that a leaf keeps.
    dependence : float or None
        Number of successive rows that count as one; None estimates it.
    """

    significance: float = 0.02
    run_length: float = 1e8
    max_clusters: int = 200
    window_size: int = 2048
    dependence: float | None = None


@dataclass(frozen=True)
class Recovery:
    """What is expected after a drift.

    Attributes
    ----------
    n_clusters : int
        Number of clusters before.
    until : int
        Row up to which as many are expected.
    retry_at : int
        Row before which no new tree is tried.
    """

    n_clusters: int = 0
    until: int = 0
    retry_at: int = 0


@dataclass
class Growth:
    """A tree that was grown from rows and is not part of the tree of the stream yet.

    Attributes
    ----------
    leaf : ndarray of int
        Position of the leaf of each row, from left to right.
    splits : list
        Cuts in preorder; None for a leaf.
    n_leaves : int
    """

    leaf: Ints
    splits: list[Split | None] = field(default_factory=list)
    n_leaves: int = 0


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
        self.dependence = 1.0  # number of successive rows that count as one for the cuts
        self.recovery = Recovery()
        self.nodes = Nodes(n_features, settings.window_size)
        self.units = Units(np.ones(n_features), np.zeros(n_features), np.ones(n_features))
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
                self.dependence = self._dependence_of_stream()  # not at each row, which would depend on the batches
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
        return limit / 2, limit + math.log(max(depth, 1.0)), limit, self.dependence, float(self.registry.next_look)

    def _look_around(self, _: int) -> None:
        """Do what is due at many nodes: new clusters to report, cuts to renew, leaves without rows."""
        nodes, kernel, now = self.nodes, _kernels.stream, self.n_rows
        if self.registry.next_look <= now:
            self._join_births()
            self.registry.announce()
        filled = [node for node in nodes.below(nodes.root) if nodes.is_filled(node, now - 1 - kernel.PATIENCE)]
        if filled:
            self._renew_cut(filled[0])  # the highest one
        if now < self.recovery.retry_at:  # leaves without rows will be learned again
            return
        limit = math.log(self.settings.run_length)
        for leaf in nodes.leaves():
            if nodes.parent[leaf] >= 0 and kernel.is_over(nodes.leaf[leaf], float(now - 1), limit):
                self.registry.rest(leaf)

    def _join_births(self) -> None:
        """Renew the cut between a new cluster and the nearest other new or moved one if there is no valley.

        The cut then goes through one cluster, which came to lie across it.
        """
        nodes, registry = self.nodes, self.registry
        leaves = {identity: nodes.leaf_of(identity) for identity in (*registry.births, *registry.changed)}
        means = {identity: nodes.recent(leaf)[0].mean(axis=0) for identity, leaf in leaves.items()}
        self.units.renew(nodes, self.n_rows)
        for new in registry.due():
            apart = {other: (means[other] - means[new]) / self.units.spread for other in leaves if other != new}
            if not apart:
                return
            nearest = min(apart, key=lambda other: float(apart[other] @ apart[other]))
            pair = [leaves[new], leaves[nearest]]
            both = Region.of([Region.with_owner(*nodes.recent(leaf), NOBODY) for leaf in pair])
            extra = apart[nearest][np.newaxis]
            if self._find_split(both.X, REPAIR_LEVEL, self._dependence_of_stream(), extra=extra) is None:
                nodes.mark_filled(nodes.common(pair), self.n_rows - 1, LIKELY_APART)
                registry.postpone(new)

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
        for cut in self.nodes.above(leaf)[::-1]:
            place_anew(self.nodes, cut, self.units, self.n_rows)
        if L[kernel.STATE] == kernel.WATCHED:
            cusum = L[[kernel.CUSUM, kernel.ONSET]].copy()
            self._watch(leaf, self.nodes.recent(leaf)[0])
            L[[kernel.CUSUM, kernel.ONSET]] = cusum
        is_last = L[kernel.N_SEEN] >= 4 * self.settings.window_size
        L[kernel.NEXT_PROFILE] = math.inf if is_last else 2 * L[kernel.N_SEEN]

    # Tests of leaves

    def _level(self, n_rows: float, is_root: bool = False) -> float:
        """Return the level of a test of a leaf with so many rows: the levels of all its tests add up to less than 1.

        A leaf is tested at most ten times before its ring is full, then at most twice before its rows have doubled.
        These tests have most power. All later tests share the rest.
        """
        if self._is_recovering:
            return DRIFT_LEVEL
        n_doubled = math.floor(math.log2(max(n_rows, 1) / self.settings.window_size))
        early = FIRST_SHARE if is_root and n_rows < GROWTH * FIRST_TEST else EARLY_SHARE
        share = early if n_doubled < 0 else FULL_SHARE if n_doubled == 0 else LATE_SHARE / n_doubled**2
        return self.settings.significance * share

    @property
    def _is_recovering(self) -> bool:
        """Whether there was a drift a short time ago, and there are fewer clusters than before it."""
        return self.n_rows < self.recovery.until and len(self.nodes.leaves()) < self.recovery.n_clusters

    def _search(self, X: Floats, level: float, dependence: float, **hints: Any) -> Found:
        self.units.renew(self.nodes, self.n_rows)
        return find_split(X, self.units.spread, self.units.steps, level, dependence=dependence, **hints)

    def _find_split(self, X: Floats, level: float, dependence: float, **hints: Any) -> Split | None:
        return self._search(X, level, dependence, **hints).split

    def _schedule(self, leaf: int, is_hopeless: bool = False) -> None:
        """Set the next test of a leaf after one that found nothing."""
        L, kernel = self.nodes.leaf[leaf], _kernels.stream
        n = L[kernel.N_SINCE]
        L[kernel.N_TESTS] += 1
        if n >= 2 * self.settings.window_size:
            growth = LATE_GROWTH
        elif is_hopeless:
            growth = HOPELESS_GROWTH
        else:
            growth = RETRY_GROWTH if self._is_recovering else GROWTH
        L[kernel.NEXT_TEST] = max(math.ceil(growth * n), FIRST_TEST)

    def _test(self, leaf: int) -> None:
        """Test a leaf for a split."""
        L, kernel = self.nodes.leaf[leaf], _kernels.stream
        if L[kernel.STATE] == kernel.CHANGED:
            self._resolve(leaf)
            return
        X, t = self.nodes.recent(leaf, L[kernel.SINCE])
        level, has_room = self._level(L[kernel.N_SINCE]), len(self.nodes.leaves()) < self.settings.max_clusters
        first_level = self._level(L[kernel.N_SINCE], is_root=leaf == self.nodes.root)
        found = self._search(X, first_level, self._dependence(X)) if has_room else Found(None, is_hopeless=False)
        split = found.split
        region = Region.with_owner(X, t, int(self.nodes.identity[leaf]))
        comes_in_sessions = L[kernel.N_SEEN] >= SESSION * L[kernel.N_VISITS]
        if split is not None and not comes_in_sessions and is_trail(region, split):
            recent = region[region.is_recent]
            self._settle(leaf, recent, recent.t[0], has_changed=True)
            return
        if split is not None and not self._is_sliver(leaf, region, split):
            self._relearn(leaf, region, split, level, L[kernel.SINCE])
            return
        L[kernel.IS_MIXED] = split is not None
        self._schedule(leaf, found.is_hopeless)
        if L[kernel.STATE] == kernel.FRESH:
            self._watch(leaf, X)

    def _is_sliver(self, leaf: int, region: Region, split: Split) -> bool:
        """Return whether a part of a leaf belongs to other leaves; the cut above them is then renewed if possible."""
        nodes, kernel = self.nodes, _kernels.stream
        is_left = project(region.X, split.normal) < split.offset
        for part in (region[is_left], region[~is_left]):
            owned_by = owners(nodes, leaf, part, self._has_valley)
            if not owned_by:
                continue
            cut = nodes.common([leaf, *owned_by])
            if nodes.leaf[leaf, kernel.STATE] == kernel.CHANGED and nodes.cut[cut, kernel.IS_TRIED]:
                continue  # something has happened, and another place of the cut does not explain it
            nodes.mark_misplaced(cut, self.n_rows - 1)
            return True
        return False

    def _has_valley(self, region: Region) -> bool:
        X = region.thinned(MOST_TESTED).X
        return self._find_split(X, REPAIR_LEVEL, self._dependence_of_stream()) is not None

    # Alarms of leaves

    def _note_misfit(self, leaf: int) -> None:
        """Start to collect the rows since a change."""
        L, kernel = self.nodes.leaf[leaf], _kernels.stream
        onset = L[kernel.ONSET]
        L[[kernel.STATE, kernel.SINCE, kernel.CUSUM, kernel.N_TESTS]] = kernel.CHANGED, onset, 0.0, 0.0
        n_since = int((self.nodes.times_of(leaf) >= onset).sum())
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
        now, continues = current_rows(nodes, leaf, since, self.n_rows, OLD_ROWS)
        if now.n_apart < ENOUGH_APART and n_new < FIRST_TEST:
            self._schedule(leaf)
            return
        new = now[now.t >= since]
        found = self._split_changed(leaf, now, new, continues)
        if found is None:
            return
        profile = nodes.profile(leaf)
        has_moved = profile is not None and float(np.median(profile.p_values(new.X))) < MOVED
        may_split = found.split is not None or not (has_moved or found.is_hopeless)
        if not (has_moved and now.n_apart < MOST_APART * n_new):
            may_split |= continues and ENOUGH_APART / 2 < now.n_apart < LIKELY_APART
        if n_new < SETTLES_AT or (may_split and n_new < self.settings.window_size // 2):
            self._schedule(leaf)
        else:
            self._settle(leaf, new if has_moved else now, since, has_changed=has_moved or not continues)

    def _split_changed(self, leaf: int, now: Region, new: Region, continues: bool) -> Found | None:
        """Split a changed leaf if its rows show a valley, those since the change alone or with older ones.

        Returns None if it is found out what happened, and otherwise the last search. If that found a split, a part of
        the leaf belongs to other leaves.
        """
        L, kernel = self.nodes.leaf[leaf], _kernels.stream
        found = Found(None, is_hopeless=True)
        if len(self.nodes.leaves()) >= self.settings.max_clusters:
            return found
        since, level = L[kernel.SINCE], REPAIR_LEVEL / (L[kernel.N_TESTS] + 1)
        comes_in_sessions = L[kernel.N_SEEN] >= SESSION * L[kernel.N_VISITS]
        with_old = now if continues or not comes_in_sessions else self._before_and_after(leaf, new, since)
        for region in (with_old, new) if len(with_old.t) > len(new.t) else (new,):
            found = self._search(region.X, level, L[kernel.DEPENDENCE], is_apart=region.is_apart)
            if found.split is None:
                continue
            if not comes_in_sessions and is_trail(region, found.split):
                self._settle(leaf, new, since, has_changed=True)
                return None
            if not self._is_sliver(leaf, region, found.split):
                self._relearn(leaf, region, found.split, level, since)
                return None
        return found

    def _before_and_after(self, leaf: int, new: Region, since: float) -> Region:
        """Return the last rows of a leaf from before a change, and the rows since then, which belong to nobody.

        If rows come in sessions, a cluster is not gone because another one has its session.
        """
        X, t = self.nodes.recent(leaf)
        is_old = t < since
        old = Region.with_owner(X[is_old][-OLD_ROWS:], t[is_old][-OLD_ROWS:], int(self.nodes.identity[leaf]))
        return Region.of([old, replace(new, owner=np.full(len(new.t), NOBODY))])

    def _settle(self, leaf: int, now: Region, since: float, has_changed: bool) -> None:
        """End the alarm of a leaf that is still one cluster: it has moved, or has a few rows of others."""
        nodes, identity, before = self.nodes, int(self.nodes.identity[leaf]), self.registry.as_it_is(leaf)
        self._start_leaf(leaf, int(nodes.parent[leaf]), now.X, now.t)
        nodes.identity[leaf] = identity
        self.registry.wake(identity)
        if has_changed:
            self.registry.settle(leaf, before, since)

    def _forget(self, leaf: int, since: float) -> None:
        """Drop the rows of a leaf from before a change, if enough are left."""
        X, t = self.nodes.recent(leaf, since)
        if len(t) >= MIN_PROFILE:
            identity = int(self.nodes.identity[leaf])
            self._start_leaf(leaf, int(self.nodes.parent[leaf]), X, t)
            self.nodes.identity[leaf] = identity
            self.registry.wake(identity)

    def _start_leaf(self, node: int, parent: int, X: Floats, t: Ints) -> None:
        """Make a node a leaf with rows that were tested for a split once."""
        self.nodes.make_leaf(node, parent, X, t, self.n_rows)
        self._watch(node, X)
        self.nodes.leaf[node, _kernels.stream.N_TESTS] = 1
        self._schedule(node)

    # Learning a region again

    def _relearn_if_drifted(self, leaf: int) -> bool:
        """Learn the largest subtree above a changed leaf again if most of its clusters are gone.

        Returns whether the leaf has nothing else to do. The old cuts stay until there are enough rows for new ones:
        they still tell more of the new rows than no cuts at all.
        """
        nodes, kernel = self.nodes, _kernels.stream
        is_waiting = self.n_rows < self.recovery.retry_at
        top = None if is_waiting else drifted_subtree(nodes, leaf, nodes.leaf[leaf, kernel.SINCE], self.n_rows)
        if top is None and not is_waiting:
            return False
        if top is None or not self._relearn_drifted(top, nodes.leaf[leaf, kernel.SINCE]):
            nodes.leaf[leaf, kernel.NEXT_TEST] = nodes.leaf[leaf, kernel.N_SINCE] + ENOUGH_APART
        return True

    def _relearn_drifted(self, top: int, since: float) -> bool:
        """Learn a subtree again from the rows since a drift, and return True; wait if they are too few for that."""
        nodes, leaves = self.nodes, self.nodes.leaves(top)
        region = Region.of([Region.with_owner(*nodes.recent(other, since), NOBODY) for other in leaves])
        n_old, n_new, growth = len(leaves), len(region.t), self._grow(top, region, DRIFT_LEVEL)
        if growth.n_leaves < RECOVERED_SHARE * n_old and n_new < ROWS_PER_CLUSTER * n_old:
            n_more = max(math.ceil((RETRY_GROWTH - 1) * n_new), ENOUGH_APART)
            self.recovery = replace(self.recovery, retry_at=self.n_rows + n_more)
            return False
        self.recovery = Recovery(len(nodes.leaves()), int(since) + RECOVERY_ROWS * n_old, 0)
        clusters = [int(nodes.identity[other]) for other in leaves]
        before = {int(nodes.identity[other]): self.registry.as_it_is(other) for other in leaves}
        self.registry.report_drift(clusters, before, since)
        self.registry.name_anew(self._replace(top, region, growth))
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
        now, most, starts_of = self.n_rows, self.settings.window_size, zip(leaves, starts, strict=True)
        parts = [current_rows(nodes, leaf, since, now, most)[0] for leaf, since in starts_of]
        region, is_misplaced = Region.of(parts), nodes.cut[node, kernel.FILL] == 0
        if is_misplaced or max(nodes.cut[node, kernel.INNER_SINCE], region.n_apart) >= LIKELY_APART:
            extra = self._between_leaves(leaves)
            growth = self._grow(node, region, REPAIR_LEVEL, extra=extra, keeps_clusters=True)
            before = self._before(node)
            found = match(region.owner, growth.leaf, growth.n_leaves, list(before))
            if is_misplaced and not found.keeps_clusters:
                names = [kernel.N_ROWS, kernel.FILLED_AT, kernel.IS_TRIED]
                nodes.cut[node, names] = len(region.t), -1.0, 1.0  # try again with more rows
                return
            new_leaves = self._replace(node, region, growth)
            self.registry.name(new_leaves, found, before, onset, reports_moves=not is_misplaced)
            for here in found.merged:
                self._forget(new_leaves[here], onset)
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

    def _relearn(self, node: int, region: Region, split: Split, level: float, since: float) -> None:
        """Replace a leaf by a tree that is grown from some rows, and name its leaves.

        Parameters
        ----------
        node : int
        region : Region
        split : Split
            The first cut.
        level : float
            Significance level of all other cuts.
        since : float
            Row since which the leaf has changed.
        """
        growth = self._grow(node, region, level, split)
        before = self._before(node)
        found = match(region.owner, growth.leaf, growth.n_leaves, list(before))
        self.registry.name(self._replace(node, region, growth), found, before, since)

    def _before(self, node: int) -> dict[int, Former | None]:
        """Return the clusters below a node, by identifier."""
        return {int(self.nodes.identity[leaf]): self.registry.as_it_is(leaf) for leaf in self.nodes.leaves(node)}

    def _grow(
        self,
        node: int,
        region: Region,
        level: float,
        first: Split | None = None,
        *,
        extra: Floats | None = None,
        keeps_clusters: bool = False,
    ) -> Growth:
        """Grow a tree from rows that may replace a node and all below it.

        Parameters
        ----------
        node : int
        region : Region
        level : float
            Significance level.
        first : Split, optional
            The first cut, if it is known.
        extra : ndarray, optional
            Further directions for the cuts.
        keeps_clusters : bool, default=False
            Whether rows of one old cluster are not divided.
        """
        dependence, growth = self._dependence_of_stream(), Growth(np.zeros(len(region.t), dtype=np.int64))
        room = self.settings.max_clusters - len(self.nodes.leaves()) + len(self.nodes.leaves(node))
        stack: list[tuple[Ints, Split | None]] = [(np.arange(len(region.t)), first)]
        while stack:
            rows, split = stack.pop()
            is_full = growth.n_leaves + len(stack) + 1 >= room
            if split is None and not is_full and not (keeps_clusters and region[rows].is_one_cluster):
                tested = region[rows].thinned(MOST_TESTED)
                is_apart = tested.is_of_others if keeps_clusters else tested.is_apart
                split = self._find_split(tested.X, level, dependence, extra=extra, is_apart=is_apart)
            growth.splits.append(split)
            if split is None:
                growth.leaf[rows] = growth.n_leaves
                growth.n_leaves += 1
                continue
            is_left = project(region.X[rows], split.normal) < split.offset
            stack += [(rows[~is_left], None), (rows[is_left], None)]
        return growth

    def _replace(self, node: int, region: Region, growth: Growth) -> list[int]:
        """Replace a node and all below it by a tree that was grown; return its leaves from left to right."""
        nodes, leaves = self.nodes, []
        nodes.drop_below(node)
        stack = [(node, int(nodes.parent[node]), np.arange(len(region.t)))]
        for split in growth.splits:
            here, parent, rows = stack.pop()
            X = region.X[rows]
            nodes.make_leaf(here, parent, X, region.t[rows], self.n_rows)
            if split is None:
                leaves.append(here)
                continue
            values = project(X, split.normal)
            left, right = nodes.make_cut(here, split, values - split.offset)
            is_left = values < split.offset
            stack += [(right, here, rows[~is_left]), (left, here, rows[is_left])]
        self.units.spread_due = 0.0
        for leaf in leaves:
            self._start_leaf(leaf, int(nodes.parent[leaf]), *nodes.recent(leaf))
        return leaves

    # Conversion to a HyperplaneTree

    def identity_of(self, row: Floats) -> int:
        """Return the identifier of the cluster of one row, of shape (1, n_features), as the tree of `snapshot` would.

        The row goes down the nodes, whose cuts `snapshot` only copies. Copying them takes a thousand times longer.
        """
        nodes = self.nodes
        leaf = _kernels.stream.leaf_of(row, nodes.root, nodes.left, nodes.right, nodes.normal, nodes.cut)
        return int(nodes.identity[leaf])

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
