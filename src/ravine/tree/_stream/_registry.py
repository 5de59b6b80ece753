"""Who is who in a stream: clusters keep their identifiers, and what happens to them is reported.

A new cluster is reported only after a while. Meanwhile it may turn out to be a part of another one, or a cluster that
jumped: one that ceased when the new one appeared. A cluster without rows rests in the tree before it is removed, and
the profiles of removed clusters are kept, so that a cluster that returns gets its old identifier.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats
from ravine.tree._stream._events import EventLog
from ravine.tree._stream._history import History
from ravine.tree._stream._matching import Matching
from ravine.tree._stream._nodes import Nodes
from ravine.tree._stream._profile import FITS, MIN_PROFILE, Profile

ANNOUNCED_AFTER = 128
"""Number of rows before a new cluster is reported."""

MOST_FORMER = 64
"""Number of former clusters that are remembered."""

KNOWN = 0.15
"""A new cluster is a former one if the median p-value of its rows there is above this."""

RESTS = 20
"""A cluster without rows stays in the tree for this many times the gap after which it was reported."""

RETURNED_ROWS, RETURNED_SHARE = 5, 0.3
"""Number of rows after which a resting cluster is reported as returned, and the share of them that must fit."""

FEW_ROWS = 10
"""A leaf with fewer rows than this is no cluster yet: it is removed without a report."""

VISITS_APART, ROWS_APART, LEAST_RATIO = 4, 64, 0.4
"""A cluster may be another one that ceased if they changed within the time of this many of its rows plus that many
rows, and if the ratio of their rates is between the third number and its inverse."""

LATE_ROWS = 3
"""A cluster is late if it has no rows in the time in which it would have more than this many."""

GAINED_SHARE = 0.5
"""A cluster has joined another one if that one gains at least this share of its rows."""


@dataclass(frozen=True)
class Birth:
    """A new cluster that is not reported yet: its first row, and the row at which it is looked at next."""

    since: int
    look_at: int


@dataclass(frozen=True)
class Former:
    """A cluster as it was: its profile, last row and rate."""

    identity: int
    profile: Profile
    last: int
    rate: float


@dataclass(frozen=True)
class Change:
    """A change of a cluster that continues: since which row, and the rate of its rows before."""

    since: int
    rate: float


class Registry:
    """Identifiers of the leaves, and what is remembered of clusters beside the leaves.

    Parameters
    ----------
    nodes : Nodes
    log : EventLog
    history : History

    Attributes
    ----------
    n_ids : int
        Number of identifiers that were given.
    births : dict
        New clusters that are not reported yet.
    resting : dict
        Clusters without rows, and the row at which they were reported.
    former : list
        Clusters that are not in the tree any more, the most recent last.
    unreported : list
        Clusters that are gone, as long as a new cluster may be one of them.
    changed : dict
        The last change of clusters that moved.
    """

    def __init__(self, nodes: Nodes, log: EventLog, history: History) -> None:
        self.nodes, self.log, self.history = nodes, log, history
        self.now = 0
        self.n_ids = 0
        self.births: dict[int, Birth] = {}
        self.resting: dict[int, int] = {}
        self.former: list[Former] = []
        self.unreported: list[int] = []
        self.changed: dict[int, Change] = {}

    def new_id(self) -> int:
        """Return an identifier that was not given before."""
        self.n_ids += 1
        return self.n_ids - 1

    def _report(self, kind: str, clusters: list[int], since: float, **more: Any) -> None:
        self.log.report(kind, self.now - 1, since, clusters, **more)

    @property
    def next_look(self) -> float:
        """The row at which `announce` is due."""
        return min((birth.look_at for birth in self.births.values()), default=np.inf)

    # Leaves of a region that was learned again

    def name(self, leaves: list[int], found: Matching, before: dict[int, Former | None], since: float) -> None:
        """Give identifiers to the leaves of a region, and report what happened to its clusters.

        Parameters
        ----------
        leaves : list
            New leaves, which have no identifiers yet.
        found : Matching
        before : dict
            The clusters of the region as they were, by identifier.
        since : float
            Row since which the region has changed.
        """
        lost = [identity for identity in found.lost if identity not in self.resting]
        self._name_continued(leaves, found, before, since)
        for identity, parts in found.parts.items():
            self._name_parts(identity, [leaves[part] for part in parts], since)
        for identity in found.lost:
            self.remember(identity, before[identity])
        for here in found.new:
            self._name_new(leaves[here], since, found.lost)
        self._report_lost(lost)

    def name_anew(self, leaves: list[int]) -> None:
        """Give identifiers to the leaves of a region whose clusters were reported as gone, with no further report."""
        for leaf in leaves:
            known = self._recognized(self.nodes.recent(leaf)[0])
            if known is not None:
                self.former.remove(known)
            self.nodes.identity[leaf] = self.new_id() if known is None else known.identity

    def _name_continued(
        self, leaves: list[int], found: Matching, before: dict[int, Former | None], since: float
    ) -> None:
        for identity, here in found.continues.items():
            if identity not in found.parts and here not in found.merged:
                self.nodes.identity[leaves[here]] = identity
                if identity in self.resting:
                    self._let_rest(leaves[here])
                else:
                    self.report_move(leaves[here], before[identity], since)
        for here, clusters in found.merged.items():
            reported = [identity for identity in clusters if identity not in self.births]
            keeps = (reported or clusters)[0]
            self.nodes.identity[leaves[here]] = keeps
            for identity in clusters:
                if identity != keeps:
                    if identity in self.births:  # it was never reported, and was a part of the other one
                        self.history.rename(identity, keeps)
                    self.remember(identity, before[identity])
            if len(reported) > 1:
                self._report("merged", reported, since)

    def _name_parts(self, identity: int, parts: list[int], since: float) -> None:
        birth = self.births.pop(identity, None)
        for part in parts:
            if self.nodes.identity[part] < 0:
                self.nodes.identity[part] = self.new_id()
        clusters = [int(self.nodes.identity[part]) for part in parts]
        if birth is None:
            p_value = float(self.nodes.p_value[self.nodes.common(parts)])
            self._report("split", clusters, since, node=identity, p_value=p_value)
        else:
            self.births.update(dict.fromkeys(clusters, birth))

    def _name_new(self, leaf: int, since: float, lost: list[int]) -> None:
        """Name a leaf that continues no cluster of its region: a cluster that returns or moved, or a new one."""
        X, t = self.nodes.recent(leaf)
        start = max(int(t[0]) if len(t) else 0, int(since))
        known = self._recognized(X)
        if known is None:
            self.nodes.identity[leaf] = self.new_id()
            self.births[int(self.nodes.identity[leaf])] = Birth(start, self.now + ANNOUNCED_AFTER)
            return
        self.nodes.identity[leaf] = known.identity
        self.former.remove(known)
        if known.identity not in lost:
            self._report("returned", [known.identity], start)

    def _recognized(self, X: Floats) -> Former | None:
        """Return the former cluster that some rows belong to."""
        if len(X) < MIN_PROFILE:
            return None
        fitting = (former for former in self.former[::-1] if np.median(former.profile.p_values(X)) > KNOWN)
        return next(fitting, None)

    def _report_lost(self, lost: list[int]) -> None:
        """Report clusters without rows, unless a new cluster may be one of them; that is found out later."""
        for former in [former for former in self.former if former.identity in lost]:
            if any(self._may_be(former.last, former.rate, new) for new in self.births):
                self.unreported.append(former.identity)
            else:
                self._report("vanished", [former.identity], former.last)

    def report_move(self, leaf: int, before: Former | None, since: float) -> None:
        """Report that a cluster has moved, if it has."""
        identity, profile = int(self.nodes.identity[leaf]), self.nodes.profile(leaf)
        if before is None or profile is None or identity in self.births:
            return
        if before.profile.has_moved(profile):
            self.changed[identity] = Change(int(since), before.rate)
            self._report("moved", [identity], since, shift=before.profile.shift_to(profile))

    def report_drift(self, clusters: list[int], before: dict[int, Former | None], since: float) -> None:
        """Report that most clusters of a region are gone."""
        for identity, former in before.items():
            self.remember(identity, former)
        self._report("drift", clusters, since)

    # Former clusters

    def as_it_is(self, leaf: int) -> Former | None:
        """Return what would be remembered of a leaf; None if it has no profile."""
        profile = self.nodes.profile(leaf)
        if profile is None:
            return None
        X, t = self.nodes.recent(leaf)
        fitting = t[profile.p_values(X) > FITS]  # rows of a new cluster may fall into the leaf
        last = int(fitting[-1] if len(fitting) else self.nodes.last(leaf))
        return Former(int(self.nodes.identity[leaf]), profile, last, self.nodes.rate(leaf))

    def remember(self, identity: int, former: Former | None) -> None:
        """Remember a cluster that is not in the tree any more."""
        for table in (self.births, self.resting, self.changed):
            table.pop(identity, None)
        if former is not None:
            self.former = [*self.former, former][-MOST_FORMER:]

    def _remove(self, leaf: int) -> None:
        self.remember(int(self.nodes.identity[leaf]), self.as_it_is(leaf))
        self.nodes.remove(leaf)

    # New clusters

    def announce(self) -> None:
        """Report the new clusters that are due; a cluster that appeared when another ceased is that one, moved."""
        nodes = self.nodes
        for new, birth in list(self.births.items()):
            if birth.look_at > self.now:
                continue
            former = [former for former in self.former if self._may_be(former.last, former.rate, new)]
            awake = [leaf for leaf in nodes.leaves() if nodes.identity[leaf] not in (new, *self.resting)]
            resting = [leaf for leaf in nodes.leaves() if nodes.identity[leaf] in self.resting]
            ceased = [leaf for leaf in resting if self._may_be(nodes.last(leaf), nodes.rate(leaf), new)]
            if len(former) + len(ceased) == 1:
                self._take_over(new, ceased[0] if ceased else former[0])
            elif any(self._is_late(leaf) and self._may_be(nodes.last(leaf), nodes.rate(leaf), new) for leaf in awake):
                self.births[new] = Birth(birth.since, self.now + ANNOUNCED_AFTER)  # it will have rows, or rest
            else:
                del self.births[new]
                self._report("appeared", [new], birth.since)
        lost, self.unreported = self.unreported, []
        self._report_lost(lost)

    def _may_be(self, last: int, rate: float, new: int) -> bool:
        """Return whether a cluster ceased when a new one appeared, with a similar rate of rows."""
        ratio = self.nodes.rate(self.nodes.leaf_of(new)) / rate
        return self._is_near(last, rate, self.births[new].since) and LEAST_RATIO < ratio < 1 / LEAST_RATIO

    def _is_near(self, last: int, rate: float, row: int) -> bool:
        return abs(last - row) < VISITS_APART / rate + ROWS_APART

    def _is_late(self, leaf: int) -> bool:
        return (self.now - self.nodes.last(leaf)) * self.nodes.rate(leaf) > LATE_ROWS

    def _take_over(self, new: int, old: int | Former) -> None:
        """Give a new cluster the identifier of one that ceased: of a leaf that rests, or of a former cluster."""
        nodes, leaf, since = self.nodes, self.nodes.leaf_of(new), self.births[new].since
        profile: Profile | None
        if isinstance(old, Former):
            identity, profile = old.identity, old.profile
        else:
            identity, profile = int(nodes.identity[old]), nodes.profile(old)
            nodes.remove(old)
        self.remember(identity, None)
        self.births.pop(new)
        self.history.rename(new, identity)
        self.former = [former for former in self.former if former.identity != identity]
        nodes.identity[leaf] = identity
        now = nodes.profile(leaf)
        more = {} if profile is None or now is None else {"shift": profile.shift_to(now)}
        self._report("moved", [identity], since, **more)

    # Clusters without rows

    def rest(self, leaf: int) -> None:
        """Report a cluster without rows, or remove it after a long time."""
        nodes, identity, last = self.nodes, int(self.nodes.identity[leaf]), self.nodes.last(leaf)
        is_cluster = nodes.leaf[leaf, _kernels.stream.N_SEEN] >= FEW_ROWS and nodes.profile(leaf) is not None
        if identity in self.resting or not is_cluster:
            self._remove(leaf)
            return
        self.resting[identity] = self.now
        self._let_rest(leaf)
        if self.births.pop(identity, None) is not None:
            return
        new = [birth for birth in self.births if self._may_be(last, nodes.rate(leaf), birth)]
        joined = [other for other in nodes.leaves() if self._has_joined(leaf, other)]
        if len(new) == 1:
            self._take_over(new[0], leaf)
        elif len(joined) == 1:
            self._report("merged", [int(nodes.identity[joined[0]]), identity], last)
            self._remove(leaf)
        else:
            self._report("vanished", [identity], last)

    def _let_rest(self, leaf: int) -> None:
        gap = self.now - self.nodes.last(leaf)
        self.nodes.leaf[leaf, _kernels.stream.REST_UNTIL] = self.now + RESTS * gap

    def _has_joined(self, leaf: int, other: int) -> bool:
        """Return whether the rows of a silent leaf go to another one, which changed when the leaf became silent."""
        change, rate = self.changed.get(int(self.nodes.identity[other])), self.nodes.rate(leaf)
        if change is None or not self._is_near(self.nodes.last(leaf), rate, change.since):
            return False
        return self.nodes.rate(other) - change.rate > GAINED_SHARE * rate

    def note_return(self, leaf: int) -> None:
        """Report that a resting cluster has rows again, if they fit."""
        nodes, identity = self.nodes, int(self.nodes.identity[leaf])
        X, t = nodes.recent(leaf, self.resting[identity])
        profile = nodes.profile(leaf)
        if profile is not None and len(t) >= RETURNED_ROWS and profile.fit_share(X) > RETURNED_SHARE:
            del self.resting[identity]
            nodes.leaf[leaf, _kernels.stream.REST_UNTIL] = 0.0
            self._report("returned", [identity], int(t[0]))
