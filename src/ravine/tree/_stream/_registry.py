"""Who is who in a stream: clusters keep their identifiers, and what happens to them is reported.

A new cluster is reported only after a while. Meanwhile it may turn out to be a part of another one, or a cluster that
jumped: one that ceased when the new one appeared. A cluster without rows rests in the tree before it is removed, and
the profiles of removed clusters are kept, so that a cluster that returns gets its old identifier.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats, Ints
from ravine.tree._stream._events import EventLog
from ravine.tree._stream._history import History
from ravine.tree._stream._matching import Matching
from ravine.tree._stream._nodes import Nodes
from ravine.tree._stream._profile import FITS, MIN_PROFILE, Profile, median

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

VISITS_APART, ROWS_APART, LEAST_RATIO = 8, 64, 0.25
"""A cluster may be another one that ceased if they changed within the time of this many of its rows plus that many
rows, and if the ratio of their rates is between the third number and its inverse."""

TINY_RATE = 1e-6
"""A rate of rows is at least this."""

STRAYS = 0.05
"""Share of the rows of a new cluster that may be older than the cluster."""

N_TOGETHER, LONGER = 4, 3.0
"""A cluster ended with the last of so many rows that came within this many times the time that they usually take."""

LEAST_SUM = 0.6
"""A new cluster has the rows of two that ceased if its rate, relative to their sum, is between this and its inverse."""

LATE_ROWS = 3
"""A cluster is late if it has no rows in the time in which it would have more than this many."""

GAINED_SHARE, STANDARD_ERRORS, LEAST_REST = 0.5, 3.0, 0.1
"""A cluster has joined another one if that one gains at least this share of its rows, and clearly more rows than by
chance. The share of the stream that other clusters have is taken to be at least the third number."""


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


def _end(t: Ints, rate: float) -> int | None:
    """Return when a cluster with this rate of rows ended, given the times of rows that may be its own.

    Single rows that come long after are strays of other clusters.
    """
    span = t[N_TOGETHER - 1 :] - t[: len(t) - N_TOGETHER + 1]
    together = np.flatnonzero(span <= LONGER * N_TOGETHER / rate)
    return int(t[together[-1] + N_TOGETHER - 1]) if len(together) else None


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
        The last change of clusters that moved or appeared.
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

    def name(
        self,
        leaves: list[int],
        found: Matching,
        before: dict[int, Former | None],
        since: float,
        *,
        reports_moves: bool = True,
    ) -> None:
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
        reports_moves : bool, default=True
            Whether clusters may have moved: not if only the cuts between them are better now.
        """
        lost = [identity for identity in found.lost if identity not in self.resting]
        continued = self._name_continued(leaves, found, before, since)
        moved = [leaf for identity, leaf in continued.items() if self._has_moved(leaf, before[identity], since)]
        for identity, parts in found.parts.items():
            self._name_parts(identity, [leaves[part] for part in parts], since)
        for identity in before.keys() - found.continues.keys() - set(found.lost):
            self.remember(identity, None)  # it was rows of several others
        for identity in found.lost:
            former = before[identity]
            last_known = None if former is None else replace(former, last=min(former.last, int(since)))
            self.remember(identity, last_known)
        for here in found.new:
            self._name_new(leaves[here], found.lost)
        joined = self._report_lost(lost)
        for leaf in moved if reports_moves else ():
            if self.nodes.identity[leaf] not in joined:
                self._report_move(leaf, before[int(self.nodes.identity[leaf])], since)

    def name_anew(self, leaves: list[int]) -> None:
        """Give identifiers to the leaves of a region whose clusters were reported as gone, with no further report."""
        for leaf in leaves:
            known = self._recognized(self.nodes.recent(leaf)[0])
            if known is not None:
                self.former.remove(known)
            self.nodes.identity[leaf] = self.new_id() if known is None else known.identity

    def _name_continued(
        self, leaves: list[int], found: Matching, before: dict[int, Former | None], since: float
    ) -> dict[int, int]:
        """Name the leaves in which clusters continue; return those of one cluster that has rows, by identifier."""
        continued = {}
        for identity, here in found.continues.items():
            if identity not in found.parts and here not in found.merged:
                self.nodes.identity[leaves[here]] = identity
                if identity in self.resting:
                    self._let_rest(leaves[here])
                else:
                    continued[identity] = leaves[here]
        for here, clusters in found.merged.items():
            reported = [identity for identity in clusters if identity not in self.births]
            keeps = (reported or clusters)[0]
            self.resting.pop(keeps, None)  # it has rows
            self.nodes.identity[leaves[here]] = keeps
            for identity in clusters:
                if identity != keeps:
                    if identity in self.births:  # it was never reported, and was a part of the other one
                        self.history.rename(identity, keeps)
                    self.remember(identity, before[identity])
            if len(reported) > 1:
                self._report("merged", reported, since)
        return continued

    def _name_parts(self, identity: int, parts: list[int], since: float) -> None:
        birth = self.births.get(identity)
        self.remember(identity, None)
        for part in parts:
            if self.nodes.identity[part] < 0:
                self.nodes.identity[part] = self.new_id()
        clusters = [int(self.nodes.identity[part]) for part in parts]
        if birth is None:
            p_value = float(self.nodes.p_value[self.nodes.common(parts)])
            self._report("split", clusters, since, node=identity, p_value=p_value)
        else:
            self.births.update(dict.fromkeys(clusters, birth))

    def _name_new(self, leaf: int, lost: list[int]) -> None:
        """Name a leaf that continues no cluster of its region: a cluster that returns or moved, or a new one."""
        X, t = self.nodes.recent(leaf)
        start = self._start(t)
        known = self._recognized(X)
        if known is None:
            self.nodes.identity[leaf] = self.new_id()
            self.births[int(self.nodes.identity[leaf])] = Birth(start, self.now + ANNOUNCED_AFTER)
            return
        self.nodes.identity[leaf] = known.identity
        self.former.remove(known)
        if known.identity not in lost:
            self._report("returned", [known.identity], start)

    def _start(self, t: Ints) -> int:
        """Estimate when a new cluster appeared from the times of its rows, of which some may be strays of before."""
        if not len(t):
            return self.now
        first, median = np.quantile(t, [STRAYS, 0.5])
        return int(max(first, 2 * median - self.now))

    def _recognized(self, X: Floats) -> Former | None:
        """Return the former cluster that some rows belong to."""
        if len(X) < MIN_PROFILE:
            return None
        fitting = (former for former in self.former[::-1] if median(former.profile.p_values(X)) > KNOWN)
        return next(fitting, None)

    def _report_lost(self, lost: list[int]) -> list[int]:
        """Report clusters without rows, unless a new cluster may be one of them; that is found out later.

        Returns the clusters into which others have merged.
        """
        joined = []
        for former in [former for former in self.former if former.identity in lost]:
            if any(self._may_be(former, new) for new in self.births):
                self.unreported.append(former.identity)
            else:
                joined += self._report_ceased(former.identity, former.last, former.rate)
        return joined

    def _report_ceased(self, identity: int, last: int, rate: float) -> list[int]:
        """Report that a cluster has vanished, or that it has merged into another one, which is returned."""
        joined = [leaf for leaf in self.nodes.leaves() if self._has_joined(last, rate, leaf)]
        if len(joined) != 1:
            self._report("vanished", [identity], last)
            return []
        into = int(self.nodes.identity[joined[0]])
        self._report("merged", [into, identity], last)
        return [into]

    def _has_moved(self, leaf: int, before: Former | None, since: float) -> bool:
        """Return whether a cluster has moved, and remember it."""
        identity, profile = int(self.nodes.identity[leaf]), self.nodes.profile(leaf)
        if before is None or profile is None or identity in self.births or not before.profile.has_moved(profile):
            return False
        self.changed[identity] = Change(int(since), before.rate)
        return True

    def _report_move(self, leaf: int, before: Former | None, since: float) -> None:
        shift = 0.0 if before is None else before.profile.shift_to(self.nodes.recent(leaf)[0].mean(axis=0))
        self._report("moved", [int(self.nodes.identity[leaf])], since, shift=shift)

    def settle(self, leaf: int, before: Former | None, since: float) -> None:
        """Report that a cluster that was learned again by itself has moved, if it has."""
        if self._has_moved(leaf, before, since):
            self._report_move(leaf, before, since)

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
        rate = self.nodes.rate(leaf)
        last = _end(t[profile.p_values(X) > FITS], rate)
        return Former(int(self.nodes.identity[leaf]), profile, self.nodes.last(leaf) if last is None else last, rate)

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

    def due(self) -> list[int]:
        """Return the new clusters that are to be looked at now."""
        return [new for new, birth in self.births.items() if birth.look_at <= self.now]

    def announce(self) -> None:
        """Report the new clusters that are due; one that appeared when others ceased is these, moved or merged."""
        nodes = self.nodes
        for new in self.due():
            birth = self.births[new]
            others = {leaf: self.as_it_is(leaf) for leaf in nodes.leaves() if nodes.identity[leaf] != new}
            near = [former for former in others.values() if former is not None and self._may_be(former, new)]
            ceased = [former for former in near if former.identity in self.resting]
            ceased += [former for former in self.former if self._may_be(former, new)]
            if any(self._is_late(former) for former in near if former.identity not in self.resting):
                self.postpone(new)  # the former cluster will have rows, or rest
            elif len(ceased) == 1 or (len(ceased) == 2 and self._is_sum(new, ceased)):
                self._take_over(new, ceased)
            else:
                self.changed[new] = Change(birth.since, min(self._rate_of(new), 1.0))
                del self.births[new]
                self._report("appeared", [new], birth.since)
        lost, self.unreported = self.unreported, []
        self._report_lost(lost)

    def _rate_of(self, new: int) -> float:
        return self.nodes.rate_since(self.nodes.leaf_of(new), self.births[new].since, self.now)

    def _may_be(self, former: Former, new: int) -> bool:
        """Return whether a cluster ceased when a new one appeared, with a similar rate of rows."""
        rate = self._rate_of(new)
        ratio = rate / former.rate
        is_near = self._is_near(former.last, max(min(rate, former.rate), TINY_RATE), self.births[new].since)
        return is_near and LEAST_RATIO < ratio < 1 / LEAST_RATIO

    def _is_sum(self, new: int, ceased: list[Former]) -> bool:
        """Return whether a new cluster has the rows of several that ceased."""
        ratio = self._rate_of(new) / sum(former.rate for former in ceased)
        return LEAST_SUM < ratio < 1 / LEAST_SUM

    def _is_near(self, last: int, rate: float, row: int) -> bool:
        return abs(last - row) < VISITS_APART / rate + ROWS_APART

    def _is_late(self, former: Former) -> bool:
        return (self.now - former.last) * former.rate > LATE_ROWS

    def _take_over(self, new: int, ceased: list[Former]) -> None:
        """Give a new cluster the identifier of the first of some clusters that ceased."""
        nodes, leaf, since = self.nodes, self.nodes.leaf_of(new), self.births.pop(new).since
        identities = [former.identity for former in ceased]
        for identity in identities:
            if identity in self.resting:
                nodes.remove(nodes.leaf_of(identity))
            self.remember(identity, None)
        self.former = [former for former in self.former if former.identity not in identities]
        nodes.identity[leaf] = identities[0]
        self.changed[identities[0]] = Change(since, min(sum(former.rate for former in ceased), 1.0))
        self.history.rename(new, identities[0])
        if len(ceased) > 1:
            self._report("merged", identities, since)
        else:
            self._report(
                "moved", identities, since, shift=ceased[0].profile.shift_to(nodes.recent(leaf)[0].mean(axis=0))
            )

    # Clusters without rows

    def rest(self, leaf: int) -> None:
        """Report a cluster without rows, or remove it after a long time."""
        nodes, identity, former = self.nodes, int(self.nodes.identity[leaf]), self.as_it_is(leaf)
        if identity in self.resting or former is None or nodes.leaf[leaf, _kernels.stream.N_SEEN] < FEW_ROWS:
            self._remove(leaf)
            return
        self.resting[identity] = self.now
        self._let_rest(leaf)
        if self.births.pop(identity, None) is not None:
            return
        if any(self._may_be(former, new) for new in self.births):
            self.announce_soon()
        elif self._report_ceased(identity, former.last, former.rate):
            self._remove(leaf)

    def postpone(self, new: int) -> None:
        """Report a new cluster later."""
        self.births[new] = Birth(self.births[new].since, self.now + ANNOUNCED_AFTER)

    def announce_soon(self) -> None:
        """Look at all new clusters at the next row, since one of them may be a cluster that rests now."""
        self.births = {new: replace(birth, look_at=self.now) for new, birth in self.births.items()}

    def _let_rest(self, leaf: int) -> None:
        gap = self.now - self.nodes.last(leaf)
        self.nodes.leaf[leaf, _kernels.stream.REST_UNTIL] = self.now + RESTS * gap

    def _has_joined(self, last: int, rate: float, leaf: int) -> bool:
        """Return whether the rows of a cluster that ceased go to a leaf: it has gained about as many since then."""
        t = self.nodes.times_of(leaf)
        change = self.changed.get(int(self.nodes.identity[leaf]))
        if change is not None and self._is_near(last, rate, change.since):
            start, before = min(change.since, last), change.rate
        elif len(t) and t[0] < last:
            start, before = last, float((t < last).sum() / (last - t[0]))
        else:
            return False
        if int(self.nodes.identity[leaf]) in self.births:
            return False
        usual = before / max(1 - rate, LEAST_REST)  # the rows of the cluster that ceased are missing
        after = self.nodes.rate_since(leaf, start, self.now)
        n_rows = max(self.now - start, 1)
        is_clear = (after - usual) * n_rows > STANDARD_ERRORS * np.sqrt(usual * n_rows)
        return bool(is_clear and after - usual > GAINED_SHARE * rate)

    def wake(self, identity: int) -> None:
        """End the rest of a cluster that was learned again from new rows."""
        self.resting.pop(identity, None)

    def note_return(self, leaf: int) -> None:
        """Report that a resting cluster has rows again, if they fit."""
        nodes, identity = self.nodes, int(self.nodes.identity[leaf])
        X, t = nodes.recent(leaf, self.resting[identity])
        profile = nodes.profile(leaf)
        if profile is not None and len(t) >= RETURNED_ROWS and profile.fit_share(X) > RETURNED_SHARE:
            del self.resting[identity]
            nodes.leaf[leaf, _kernels.stream.REST_UNTIL] = 0.0
            self._report("returned", [identity], int(t[0]))
