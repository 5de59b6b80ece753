"""A tree of cuts that follows a stream: clusters are found, watched, and reported when they change.

Every leaf keeps its most recent rows. It is split where held-out rows confirm a valley (`_search`). Its profile
(`_profile`) tells when rows no longer fit; a cut tells when rows fill its valley. Then only the region that no longer
fits is learned again, from the rows that are kept, and its clusters keep their identifiers if their rows continue
(`_matching`). The compiled loop is `ravine._kernels.stream`.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._matrix import Bools, Floats, Ints
from ravine.tree._derived import with_summed_cuts
from ravine.tree._stream._matching import NOBODY, Matching, match
from ravine.tree._stream._nodes import Nodes
from ravine.tree._stream._profile import APART, FITS, Profile, dependence_of, profile_of
from ravine.tree._stream._search import Split, find_split
from ravine.tree._tree import HyperplaneTree
from ravine.tree._valley_test import lattice_steps

OnEvent = Callable[[dict[str, Any]], None]

KINDS = ("split", "appeared", "vanished", "returned", "moved", "merged", "drift")
"""Kinds of events."""

MOST_EVENTS = 1000
"""Number of most recent events kept for each kind, since a stream may never end."""

FIRST_TEST, GROWTH, SLOWER_FROM, SLOWER_GROWTH = 40, 1.5, 512, 2.0
"""A leaf is tested at this many rows, then each time when its rows have grown by the factor; from some number of rows
on, by the second factor."""

MIN_PROFILE = 30
"""Minimum number of rows for a profile."""

REPAIR_LEVEL = 0.02
"""Significance level of cuts in a region that is learned again: it had clusters before."""

ENOUGH_APART, LIKELY_APART, SETTLES_AT = 24, 48, 100
"""Number of rows that do not fit at which a leaf is tested for a split after an alarm, and at which a new cluster would
have been found; number of rows since the change at which the leaf is settled if there is no split."""

LONGEST_WAIT = 1000
"""Number of rows after the alarm of a cut at which the alarm is dropped if few rows have come since."""

OLD_ROWS = 200
"""Number of rows from before an alarm that are tested together with those after it, if the old cluster continues."""

CONTINUES = 0.4
"""An old cluster continues if it gets at least this share of the rows that it would get at its old rate."""

GONE_SHARE, MIN_GONE, FEWEST_GONE, DRIFT_SHARE = 0.3, 5, 3, 0.5
"""A cluster is gone if fewer than this share of its rows since the alarm fit, of at least that many rows. There is a
drift if that many clusters are gone, with this share of the rows of a subtree."""

SLIVER_SHARE, SLIVER_FITS = 0.25, 0.02
"""A part of a leaf with at most this share of its rows belongs to another leaf if their median p-value there is above
the second number: the cut between the two leaves is misplaced."""

REGION_ROWS, REGION_ROWS_PER_LEAF = 2000, 40
"""Number of rows from which a region is learned again, and the number that each of its leaves may always give."""

ARCHIVE = 64
"""Number of profiles of former clusters that are kept, to recognize a cluster that returns."""

KNOWN = 0.15
"""A new cluster is a former one if the median p-value of its rows there is above this."""

ANNOUNCED_AFTER = 128
"""Number of rows before a new cluster is reported: meanwhile it may turn out to be part of another one, or a cluster
that moved."""

RESTS = 20
"""A cluster without rows stays in the tree for this many times the gap after which it was reported."""

RETURNED_ROWS = 5
"""Number of rows after which a resting cluster is reported as returned."""

UNIT_ROWS, UNIT_GROWTH, STEPS_GROWTH = 128, 1.25, 4.0
"""Number of recent rows of each leaf that determine the units of the columns; how much a stream grows before units and
lattice steps are computed again."""

LEAST_STEP = 0.02
"""A lattice step below this share of the unit of its column counts as 0."""

LEAST_DEVIATION = 1e-3
"""No deviation of a profile is below this share of the unit of the column."""


@dataclass(frozen=True)
class StreamSettings:
    """Settings of a tree that follows a stream.

    Attributes
    ----------
    significance : float
        Significance level of the first test of a leaf; the k-th test has 6 / (π k)² of it.
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


@dataclass(frozen=True)
class Birth:
    """A new cluster that is not reported yet: its first row, and the row at which it was found."""

    since: int
    found: int


@dataclass(frozen=True)
class Region:
    """Rows from which a region is learned again, in the order of time.

    Attributes
    ----------
    X, t : ndarray
        Rows and their times.
    owner : ndarray of int
        Identifier of the old cluster of each row, or `NOBODY`.
    is_apart : ndarray of bool
        New rows that are apart from the profile of their leaf.
    """

    X: Floats
    t: Ints
    owner: Ints
    is_apart: Bools

    @classmethod
    def of(cls, parts: "list[Region]") -> "Region":
        """Put regions together."""
        columns = [(part.X, part.t, part.owner, part.is_apart) for part in parts]
        whole = [np.concatenate(column) for column in zip(*columns, strict=True)]
        return cls(*whole)[np.argsort(whole[1], kind="stable")]

    @classmethod
    def with_owner(cls, X: Floats, t: Ints, owner: int) -> "Region":
        """Return rows that all belong to one cluster, or to `NOBODY`."""
        return cls(X, t, np.full(len(t), owner), np.zeros(len(t), dtype=bool))

    def __getitem__(self, rows: Any) -> "Region":
        return Region(self.X[rows], self.t[rows], self.owner[rows], self.is_apart[rows])

    @property
    def n_apart(self) -> float:
        """Number of rows that are apart, beyond those that would be so by chance."""
        return float(self.is_apart.sum() - APART * len(self.t))


@dataclass
class Units:
    """Spread and lattice step of each column, and the row at which they are computed again."""

    spread: Floats
    steps: Floats
    spread_due: float = 0.0
    steps_due: float = 0.0


@dataclass(frozen=True)
class Former:
    """A cluster that is not in the tree any more: its profile, last row and rate."""

    identity: int
    profile: Profile
    last: int
    rate: float


@dataclass(frozen=True)
class Change:
    """A change of a cluster that continues: since which row, and the rate of its rows before."""

    since: int
    rate: float


@dataclass
class Memory:
    """What the tree remembers of clusters beside its leaves, by identifier."""

    births: dict[int, Birth] = field(default_factory=dict)
    resting: dict[int, int] = field(default_factory=dict)
    former: list[Former] = field(default_factory=list)
    unreported: list[Former] = field(default_factory=list)
    changed: dict[int, Change] = field(default_factory=dict)


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
        self.n_ids = 0
        self.largest = 0.0  # largest absolute value of the rows so far
        self.nodes = Nodes(n_features, settings.window_size)
        self.units = Units(np.ones(n_features), np.zeros(n_features))
        self.memory = Memory()
        self._events: dict[str, deque[dict[str, Any]]] = {kind: deque(maxlen=MOST_EVENTS) for kind in KINDS}
        self.n_events = dict.fromkeys(KINDS, 0)
        self._on_event: OnEvent | None = None
        root = self.nodes.take()
        self.nodes.make_leaf(root, -1, np.empty((0, n_features)), np.empty(0, dtype=np.int64), 0)
        self.nodes.identity[root] = self._new_id()
        self.nodes.leaf[root, _kernels.stream.NEXT_TEST] = FIRST_TEST

    def learn(self, X: Floats, on_event: OnEvent | None = None) -> None:
        """Learn the next rows, in their order; `on_event` is called with each event."""
        kernel, self._on_event = _kernels.stream, on_event
        handlers = {
            kernel.TEST: self._test,
            kernel.MISFIT: self._note_misfit,
            kernel.PROFILE: self._renew_profile,
            kernel.SILENT: self._rest,
            kernel.FILLED: self._repair_cut,
            kernel.RETURNED: self._note_return,
            kernel.LOOK: self._announce,
        }
        first, row = self.n_rows, 0
        while row < len(X):
            row, why, node = kernel.follow(X, row, first, self.nodes.root, *self.nodes.arrays(), self._numbers())
            self.n_rows = first + row
            if why != kernel.END:
                handlers[why](node)
        self._on_event = None

    def _numbers(self) -> tuple[float, ...]:
        """Return the settings as the compiled loop takes them."""
        limit = math.log(self.settings.run_length)
        n_cuts = max(len(self.nodes.above(self.nodes.leaves()[0])), 1)
        births = self.memory.births.values()
        look = min((birth.found + ANNOUNCED_AFTER for birth in births), default=math.inf)
        return limit / 2, limit + math.log(n_cuts), limit, self._dependence_of_stream(), max(look, self.n_rows)

    # Events

    @property
    def events(self) -> list[dict[str, Any]]:
        """The most recent events of each kind, in the order of the rows."""
        found = [event for kind in KINDS for event in self._events[kind]]
        return sorted(found, key=lambda event: (event["row"], event["number"]))

    def _report(self, kind: str, clusters: list[int], since: float, **more: Any) -> None:
        number = sum(self.n_events.values())
        event = {
            "kind": kind,
            "row": self.n_rows - 1,
            "since": int(since),
            "clusters": clusters,
            **more,
            "number": number,
        }
        self._events[kind].append(event)
        self.n_events[kind] += 1
        if self._on_event is not None:
            self._on_event(event)

    def _new_id(self) -> int:
        self.n_ids += 1
        return self.n_ids - 1

    # Units, levels and profiles

    def _measure(self) -> Units:
        """Return the units of the columns, computed again if they are due."""
        units = self.units
        if self.n_rows < units.spread_due:
            return units
        rows = np.concatenate([self.nodes.recent(leaf, most=UNIT_ROWS)[0] for leaf in self.nodes.leaves()])
        spread = rows.std(axis=0)
        spread[spread <= 1e-9 * np.abs(rows).max(axis=0)] = np.inf
        units.spread, units.spread_due = spread, UNIT_GROWTH * self.n_rows
        if self.n_rows >= units.steps_due and len(rows) >= MIN_PROFILE:
            steps = lattice_steps(rows)
            units.steps = np.where(np.isfinite(spread) & (steps > LEAST_STEP * spread), steps, 0.0)
            units.steps_due = STEPS_GROWTH * self.n_rows
        return units

    def _level(self, n_tests: float) -> float:
        """Return the level of the next test of a leaf: the levels of all its tests add up to the significance."""
        return float(self.settings.significance * 6 / (math.pi * (n_tests + 1)) ** 2)

    def _find_split(self, X: Floats, level: float, dependence: float, **hints: Any) -> Split | None:
        if len(self.nodes.leaves()) >= self.settings.max_clusters:
            return None
        units = self._measure()
        return find_split(X, units.spread, units.steps, level, dependence=dependence, **hints)

    def _dependence(self, X: Floats) -> float:
        if self.settings.dependence is not None:
            return self.settings.dependence
        return dependence_of(X, self._measure().spread)

    def _dependence_of_stream(self) -> float:
        """Return the mean dependence of the leaves, weighted by their rows."""
        kernel, leaves = _kernels.stream, self.nodes.leaves()
        seen, dependence = self.nodes.leaf[leaves][:, [kernel.N_SEEN, kernel.DEPENDENCE]].T
        return float(seen @ dependence / seen.sum()) if seen.any() else 1.0

    def _profile_of(self, X: Floats) -> Profile:
        units = self._measure()
        spread = np.where(np.isfinite(units.spread), units.spread, 0.0)
        floor = np.hypot(LEAST_DEVIATION * spread, units.steps / math.sqrt(12))
        return profile_of(X, np.where(floor > 0, floor, 1.0))

    def _watch(self, leaf: int, X: Floats) -> None:
        """Give a leaf the profile of some of its rows, if there are enough."""
        L, kernel = self.nodes.leaf[leaf], _kernels.stream
        if len(X) >= MIN_PROFILE:
            self.nodes.set_profile(leaf, self._profile_of(X))
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
        if split is not None and self._is_sliver(leaf, X, split):
            split = None
        if split is None:
            self._schedule(leaf)
            if L[kernel.STATE] == kernel.FRESH:
                self._watch(leaf, X)
            return
        region = Region.with_owner(X, t, int(self.nodes.identity[leaf]))
        self._regrow(leaf, region, split, level, since=L[kernel.SINCE])

    def _is_sliver(self, leaf: int, X: Floats, split: Split) -> bool:
        """Return whether the smaller part of a leaf belongs to another leaf; the cut between them is then renewed."""
        is_left = _kernels.proposals.along(X, split.normal) < split.offset
        part = X[is_left if 2 * is_left.sum() <= len(X) else ~is_left]
        if len(part) > SLIVER_SHARE * len(X):
            return False
        for other in self.nodes.leaves():
            profile = self.nodes.profile(other)
            if other == leaf or profile is None or np.median(profile.p_values(part)) <= SLIVER_FITS:
                continue
            above = set(self.nodes.above(leaf))
            cut = self.nodes.cut[next(node for node in self.nodes.above(other) if node in above)]
            if cut[_kernels.stream.FILLED_AT] < 0:
                cut[_kernels.stream.FILLED_AT], cut[_kernels.stream.FILL_ONSET] = self.n_rows, self.n_rows - 1
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
        self._drifted(leaf)

    def _resolve(self, leaf: int) -> None:
        """Find out what happened to a leaf whose rows no longer fit."""
        L, kernel, nodes = self.nodes.leaf[leaf], _kernels.stream, self.nodes
        if self._drifted(leaf):
            return
        if any(nodes.cut[cut, kernel.FILLED_AT] >= 0 for cut in nodes.above(leaf)):
            L[kernel.NEXT_TEST] = L[kernel.N_SINCE] + ENOUGH_APART  # the cut will be renewed with all leaves below it
            return
        since = L[kernel.SINCE]
        now, continues = self._present(leaf, since, OLD_ROWS)
        n_new = int(L[kernel.N_SINCE])
        if now.n_apart >= ENOUGH_APART or n_new >= FIRST_TEST:
            new, level, sliver = now[now.t >= since], self._level(L[kernel.N_TESTS]) / 2, False
            for region in (now, new) if continues else (new,):
                split = self._find_split(region.X, level, L[kernel.DEPENDENCE], is_apart=region.is_apart)
                sliver = split is not None and self._is_sliver(leaf, region.X, split)
                if split is not None and not sliver:
                    self._regrow(leaf, region, split, level, since)
                    return
            may_split = sliver or (continues and ENOUGH_APART / 2 < now.n_apart < LIKELY_APART)
            if n_new >= SETTLES_AT and not (may_split and n_new < self.settings.window_size // 2):
                self._settle(leaf, new.X, new.t, since)
                return
        self._schedule(leaf)

    def _settle(self, leaf: int, X: Floats, t: Ints, since: float) -> None:
        """End the alarm of a leaf that is still one cluster: it has moved, or has another shape."""
        nodes, identity = self.nodes, int(self.nodes.identity[leaf])
        old = self._former(leaf)
        nodes.make_leaf(leaf, int(nodes.parent[leaf]), X, t, self.n_rows)
        nodes.identity[leaf] = identity
        self._watch(leaf, X)
        nodes.leaf[leaf, _kernels.stream.N_TESTS] = 1
        self._schedule(leaf)
        self._report_move(identity, old, leaf, since)

    def _report_move(self, identity: int, old: "Former | None", leaf: int, since: float) -> None:
        """Report that a cluster has moved, if it has."""
        new = self.nodes.profile(leaf)
        if old is not None and new is not None and old.profile.has_moved(new) and identity not in self.memory.births:
            self.memory.changed[identity] = Change(int(since), old.rate)
            self._report("moved", [identity], since)

    # Drift

    def _is_gone(self, leaf: int, since: float) -> bool:
        """Return whether a leaf has hardly any rows since some row that fit its profile."""
        profile = self.nodes.profile(leaf)
        if profile is None:
            return False
        X, t = self.nodes.recent(leaf)
        is_new = t >= since
        rate = (~is_new).sum() / max(since - t[0], 1) if len(t) else 0.0
        n_expected = max(rate * (self.n_rows - since), is_new.sum())
        return n_expected >= MIN_GONE and (profile.p_values(X[is_new]) > FITS).sum() < GONE_SHARE * n_expected

    def _drifted(self, leaf: int) -> bool:
        """Learn the largest subtree above a leaf again if most of its clusters are gone."""
        nodes, since = self.nodes, self.nodes.leaf[leaf, _kernels.stream.SINCE]
        if not self._is_gone(leaf, since):
            return False
        gone = {other: self._is_gone(other, since) for other in nodes.leaves()}
        top = -1
        for node in nodes.above(leaf):
            leaves = nodes.leaves(node)
            rates = np.array([nodes.rate(other) for other in leaves])
            are_gone = np.array([gone[other] for other in leaves])
            if are_gone.sum() >= FEWEST_GONE and rates[are_gone].sum() >= DRIFT_SHARE * rates.sum():
                top = node
        if top < 0:
            return False
        leaves = nodes.leaves(top)
        clusters = [int(nodes.identity[other]) for other in leaves]
        region = Region.of([Region.with_owner(*nodes.recent(other, since), NOBODY) for other in leaves])
        for other in leaves:
            self._archive(other)
        self._report("drift", clusters, since)
        self._regrow(top, region, None, self._level(0), since, is_told=True)
        return True

    # Alarms of cuts

    def _repair_cut(self, node: int) -> None:
        """Learn the region below a cut again, since rows fill its valley."""
        nodes, kernel = self.nodes, _kernels.stream
        for above in nodes.above(node)[::-1]:  # the highest cut that is due
            if nodes.cut[above, kernel.FILLED_AT] >= 0:
                node = above
                break
        leaves, onset = nodes.leaves(node), nodes.cut[node, kernel.FILL_ONSET]
        if any(self._drifted(leaf) for leaf in leaves if nodes.leaf[leaf, kernel.STATE] == kernel.CHANGED):
            return
        most, states = max(REGION_ROWS_PER_LEAF, REGION_ROWS // len(leaves)), nodes.leaf[leaves, kernel.STATE]
        starts = np.where(states == kernel.CHANGED, np.minimum(nodes.leaf[leaves, kernel.SINCE], onset), onset)
        present = [self._present(leaf, since, most) for leaf, since in zip(leaves, starts.tolist(), strict=True)]
        region = Region.of([part for part, _ in present])
        n_inner, n_waited = nodes.cut[node, kernel.INNER_SINCE], self.n_rows - nodes.cut[node, kernel.FILLED_AT]
        if max(n_inner, region.n_apart) < LIKELY_APART:
            if n_waited >= LONGEST_WAIT:
                nodes.cut[node, [kernel.FILL, kernel.FILLED_AT]] = 0.0, -1.0
            return
        self._regrow(node, region, None, REPAIR_LEVEL, onset, extra=self._between_leaves(leaves))

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
        n_expected = (~is_new).sum() / max(since - t[0], 1) * (self.n_rows - since) if len(t) else 0.0
        enough = max(CONTINUES * n_expected, (1 - FITS) * n_expected - 2.5 * math.sqrt(n_expected))
        enough = enough if n_expected >= MIN_GONE else 0.0
        is_apart = is_new & (p_values <= APART)
        if (is_new & (p_values > FITS)).sum() >= enough:
            chosen = is_new | (np.cumsum(~is_new[::-1])[::-1] <= most)
            return Region(X, t, np.where(is_apart, NOBODY, identity), is_apart)[chosen], True
        owner = np.full(len(t), identity if is_new.sum() >= enough else NOBODY)
        return Region(X, t, owner, is_apart)[is_new], False

    def _between_leaves(self, leaves: list[int]) -> Floats | None:
        """Return the directions from each leaf to the nearest other one, in columns divided by their units."""
        nodes = self.nodes
        means = np.array([nodes.mean[leaf] for leaf in leaves if nodes.profile(leaf) is not None])
        if len(means) < 2:
            return None
        scaled = means / self._measure().spread
        squares = ((scaled[:, np.newaxis] - scaled) ** 2).sum(axis=2)
        np.fill_diagonal(squares, np.inf)
        pairs = {tuple(sorted((k, int(nearest)))) for k, nearest in enumerate(squares.argmin(axis=1))}
        return np.array([scaled[a] - scaled[b] for a, b in sorted(pairs)])

    # Learning a region again

    def _regrow(
        self,
        node: int,
        region: Region,
        split: Split | None,
        level: float,
        since: float,
        extra: Floats | None = None,
        is_told: bool = False,
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
        is_told : bool
            Whether the change was reported already, so that new clusters are not.
        """
        nodes = self.nodes
        former = {int(nodes.identity[leaf]): self._former(leaf) for leaf in nodes.leaves(node)}
        nodes.drop_below(node)
        leaves, leaf_of_row = self._grow(node, region, split, level, extra)
        self.units.spread_due = 0.0
        found = match(region.owner, leaf_of_row, len(leaves), list(former))
        self._name(leaves, found, former, since, is_told)

    def _grow(
        self, node: int, region: Region, split: Split | None, level: float, extra: Floats | None
    ) -> tuple[list[int], Ints]:
        """Grow a tree from rows; return its leaves from left to right, and the position of the leaf of each row."""
        nodes, kernel = self.nodes, _kernels.stream
        leaves: list[int] = []
        dependence = self._dependence_of_stream()
        leaf_of_row = np.zeros(len(region.t), dtype=np.int64)
        stack = [(node, int(nodes.parent[node]), np.arange(len(region.t)), split)]
        while stack:
            here, parent, rows, split = stack.pop()
            X, t, is_apart = region.X[rows], region.t[rows], region.is_apart[rows]
            nodes.make_leaf(here, parent, X, t, self.n_rows)
            if split is None:
                split = self._find_split(X, level, dependence, extra=extra, is_apart=is_apart)
            if split is None:
                leaf_of_row[rows] = len(leaves)
                leaves.append(here)
                self._watch(here, X)
                nodes.leaf[here, kernel.N_TESTS] = 1
                self._schedule(here)
                continue
            distances = kernel_along(X, split.normal) - split.offset
            is_left: Bools = kernel_along(X, split.normal) < split.offset
            left, right = nodes.make_cut(here, split, distances, self.n_rows)
            stack += [(right, here, rows[~is_left], None), (left, here, rows[is_left], None)]
        return leaves, leaf_of_row

    def _name(
        self,
        leaves: list[int],
        found: Matching,
        former: dict[int, Former | None],
        since: float,
        is_told: bool,
    ) -> None:
        """Give identifiers to the leaves of a region, and report what happened to its clusters."""
        nodes, births = self.nodes, self.memory.births
        for identity, here in found.continues.items():
            if identity not in found.parts and nodes.identity[leaves[here]] < 0:
                nodes.identity[leaves[here]] = found.merged.get(here, [identity])[0]
        for identity, here in found.continues.items():
            if identity not in found.parts and here not in found.merged:
                self._report_move(identity, former[identity], leaves[here], since)
        for clusters in found.merged.values():
            reported = [identity for identity in clusters if identity not in births]
            for identity in clusters[1:]:
                births.pop(identity, None)
                self._remember(former[identity])
            if len(reported) > 1:
                self._report("merged", reported, since)
        for identity, parts in found.parts.items():
            self._name_parts(identity, [leaves[part] for part in parts], since)
        for identity in found.lost:
            births.pop(identity, None)
            self._remember(former[identity])
        for here in found.new:
            self._name_new(leaves[here], since, is_told, found.lost)
        if not is_told:
            self._report_lost([former[identity] for identity in found.lost])

    def _name_parts(self, identity: int, parts: list[int], since: float) -> None:
        nodes, births = self.nodes, self.memory.births
        birth = births.pop(identity, None)
        for part in parts:
            if nodes.identity[part] < 0:
                nodes.identity[part] = self._new_id()
        clusters = [int(nodes.identity[part]) for part in parts]
        if birth is None:
            self._report("split", clusters, since, node=identity)
        else:
            births.update(dict.fromkeys(clusters, birth))

    def _report_lost(self, lost: "list[Former | None]") -> None:
        """Report clusters without rows, unless a new cluster may be one of them, which is found out later."""
        births = self.memory.births
        for former in lost:
            if former is None or self.nodes.leaf_of(former.identity) is not None:
                continue
            if any(self._may_be(former.last, former.rate, birth, self._rate_of(i)) for i, birth in births.items()):
                self.memory.unreported.append(former)
            else:
                self._report("vanished", [former.identity], former.last)

    def _name_new(self, leaf: int, since: float, is_told: bool, lost: list[int]) -> None:
        """Name a leaf that continues no cluster of its region: a cluster that returns or moved, or a new one."""
        nodes, memory = self.nodes, self.memory
        X, t = nodes.recent(leaf)
        start = int(t[0]) if len(t) else int(since)
        known = self._recognized(X)
        if known is not None:
            nodes.identity[leaf] = known.identity
            memory.former.remove(known)
            if not is_told and known.identity not in lost:
                self._report("returned", [known.identity], start)
            return
        nodes.identity[leaf] = self._new_id()
        if not is_told:
            memory.births[int(nodes.identity[leaf])] = Birth(max(start, int(since)), self.n_rows)

    def _recognized(self, X: Floats) -> Former | None:
        """Return the former cluster that some rows belong to."""
        if len(X) < MIN_PROFILE:
            return None
        present = {int(self.nodes.identity[leaf]) for leaf in self.nodes.leaves()}
        for former in self.memory.former[::-1]:
            if former.identity not in present and np.median(former.profile.p_values(X)) > KNOWN:
                return former
        return None

    # New, resting and former clusters

    def _former(self, leaf: int) -> Former | None:
        profile = self.nodes.profile(leaf)
        if profile is None:
            return None
        X, t = self.nodes.recent(leaf)
        fitting = t[profile.p_values(X) > FITS]  # rows of a new cluster may fall into the leaf
        last = int(fitting[-1] if len(fitting) else self._last(leaf))
        return Former(int(self.nodes.identity[leaf]), profile, last, self.nodes.rate(leaf))

    def _remember(self, former: Former | None) -> None:
        if former is not None:
            self.memory.resting.pop(former.identity, None)
            self.memory.former = [*self.memory.former, former][-ARCHIVE:]

    def _archive(self, leaf: int) -> None:
        self._remember(self._former(leaf))
        self.memory.births.pop(int(self.nodes.identity[leaf]), None)

    def _announce(self, _: int) -> None:
        """Report new clusters; a cluster that appears when another ceases is that one, moved."""
        nodes, births = self.nodes, self.memory.births
        for identity, birth in list(births.items()):
            if birth.found + ANNOUNCED_AFTER > self.n_rows:
                continue
            leaf = nodes.leaf_of(identity)
            assert leaf is not None
            rate = nodes.rate(leaf)
            former = [f for f in self.memory.former if self._may_be(f.last, f.rate, birth, rate)]
            resting = [other for other in nodes.leaves() if int(nodes.identity[other]) in self.memory.resting]
            ceased = [o for o in resting if self._may_be(self._last(o), nodes.rate(o), birth, rate)]
            if len(former) + len(ceased) == 1:
                self._take_over(identity, ceased[0] if ceased else None, former[0] if former else None)
                continue
            awake = [other for other in nodes.leaves() if other != leaf and other not in resting]
            if any(self._is_late(other, birth, rate) for other in awake):
                births[identity] = Birth(birth.since, self.n_rows)  # it will have rows, or be silent
                continue
            del births[identity]
            self._report("appeared", [identity], birth.since)
        lost, self.memory.unreported = self.memory.unreported, []
        self._report_lost([former for former in lost if former in self.memory.former])

    def _last(self, leaf: int) -> int:
        return int(self.nodes.leaf[leaf, _kernels.stream.LAST])

    def _may_be(self, last: int, rate: float, birth: Birth, birth_rate: float) -> bool:
        """Return whether a cluster ceased when another appeared, with a similar rate of rows."""
        return abs(last - birth.since) < 4 / rate + 64 and 0.4 < birth_rate / rate < 2.5

    def _is_late(self, leaf: int, birth: Birth, birth_rate: float) -> bool:
        """Return whether a leaf has had so few rows since a new cluster appeared that it may be the same cluster."""
        rate, last = self.nodes.rate(leaf), self._last(leaf)
        return (self.n_rows - last) * rate > 3 and self._may_be(last, rate, birth, birth_rate)

    def _take_over(self, identity: int, ceased: int | None, former: Former | None) -> None:
        """Give a new cluster the identifier of the one that ceased when it appeared."""
        nodes, memory = self.nodes, self.memory
        leaf, birth = nodes.leaf_of(identity), memory.births.pop(identity)
        assert leaf is not None
        if ceased is not None:
            old = int(nodes.identity[ceased])
            memory.resting.pop(old, None)
            nodes.remove(ceased)
            self.units.spread_due = 0.0
        else:
            assert former is not None
            old = former.identity
            memory.former.remove(former)
        nodes.identity[leaf] = old
        self._report("moved", [old], birth.since)

    def _rest(self, leaf: int) -> None:
        """Report a cluster without rows, and remove it after a long time."""
        nodes, memory, kernel, L = self.nodes, self.memory, _kernels.stream, self.nodes.leaf[leaf]
        identity, last = int(nodes.identity[leaf]), self._last(leaf)
        if identity in memory.resting or L[kernel.N_SEEN] < 10 or L[kernel.N_SCORES] == 0:
            self._archive(leaf)
            nodes.remove(leaf)
            self.units.spread_due = 0.0
            return
        memory.resting[identity] = self.n_rows
        L[kernel.REST_UNTIL] = self.n_rows + RESTS * (self.n_rows - last)
        if identity in memory.births:
            del memory.births[identity]
            return
        new = [i for i, birth in memory.births.items() if self._may_be(last, nodes.rate(leaf), birth, self._rate_of(i))]
        if len(new) == 1:
            self._take_over(new[0], leaf, None)
            return
        joined = [other for other in nodes.leaves() if other != leaf and self._has_joined(leaf, other)]
        if len(joined) == 1:
            self._report("merged", [int(nodes.identity[joined[0]]), identity], last)
            self._archive(leaf)
            nodes.remove(leaf)
            self.units.spread_due = 0.0
            return
        self._report("vanished", [identity], last)

    def _has_joined(self, leaf: int, other: int) -> bool:
        """Return whether the rows of a silent leaf go to another leaf, which changed when it became silent."""
        nodes, change = self.nodes, self.memory.changed.get(int(self.nodes.identity[other]))
        if change is None:
            return False
        last, rate = self._last(leaf), nodes.rate(leaf)
        gained = nodes.rate(other) - change.rate
        return abs(last - change.since) < 4 / rate + 64 and gained > 0.5 * rate

    def _rate_of(self, identity: int) -> float:
        leaf = self.nodes.leaf_of(identity)
        assert leaf is not None
        return self.nodes.rate(leaf)

    def _note_return(self, leaf: int) -> None:
        """Report that a resting cluster has rows again, if they fit."""
        nodes, kernel = self.nodes, _kernels.stream
        identity = int(nodes.identity[leaf])
        X, t = nodes.recent(leaf, self.memory.resting[identity])
        profile = nodes.profile(leaf)
        if len(t) >= RETURNED_ROWS and profile is not None and profile.fit_share(X) > GONE_SHARE:
            del self.memory.resting[identity]
            nodes.leaf[leaf, kernel.REST_UNTIL] = 0.0
            self._report("returned", [identity], int(t[0]))

    # Conversion to a HyperplaneTree

    def snapshot(self) -> tuple[HyperplaneTree, Ints]:
        """Return the current tree, and the identifier of each of its nodes; cuts have none (-1)."""
        nodes, kernel = self.nodes, _kernels.stream
        order = np.array(nodes.below(nodes.root))
        position = np.full(len(nodes.left) + 1, -1)
        position[order] = np.arange(len(order))
        is_cut = nodes.left[order] >= 0
        moments = [self._moments(node) for node in order]
        tree = HyperplaneTree.from_nodes(
            left=position[nodes.left[order]],
            right=position[nodes.right[order]],
            rank=nodes.order[order],
            normal=np.where(is_cut[:, np.newaxis], nodes.normal[order], 0.0),
            offset=np.where(is_cut, nodes.cut[order, kernel.OFFSET], 0.0),
            count=[m[0] for m in moments],
            mean=[m[1] for m in moments],
            sum_sq=[m[2] for m in moments],
            value=np.zeros(len(order)),
            relative_depth=np.zeros(len(order)),
            p_value=np.where(is_cut, nodes.p_value[order], 1.0),
        )
        return with_summed_cuts(tree), nodes.identity[order]

    def _moments(self, node: int) -> tuple[float, Floats, float]:
        """Return number, mean and sum of squares of the rows in the ring of a leaf."""
        if self.nodes.left[node] >= 0:
            return 0.0, np.zeros(self.n_features), 0.0
        X, _ = self.nodes.recent(node)
        if not len(X):
            return 0.0, np.zeros(self.n_features), 0.0
        mean = X.mean(axis=0)
        return float(len(X)), mean, float(((X - mean) ** 2).sum())


def kernel_along(X: Floats, direction: Floats) -> Floats:
    """Return the position of each row along a direction, as the walk down a tree computes it."""
    return np.asarray(_kernels.proposals.along(X, direction))
