"""The log of what happened in a stream: bounded, in the order of the rows, in words too."""

from collections import deque
from collections.abc import Callable
from typing import Any

Event = dict[str, Any]
OnEvent = Callable[[Event], None]

KINDS = ("split", "appeared", "vanished", "returned", "moved", "merged", "drift")
"""Kinds of events."""

MOST_EVENTS = 1000
"""Number of most recent events kept for each kind, since a stream may never end."""

MOST_NAMED = 10
"""Maximum number of clusters that the words of an event name; they count the others."""


class EventLog:
    """The most recent events of each kind."""

    def __init__(self) -> None:
        self._events: dict[str, deque[Event]] = {kind: deque(maxlen=MOST_EVENTS) for kind in KINDS}
        self.n_events = dict.fromkeys(KINDS, 0)
        self.on_event: OnEvent | None = None

    @property
    def events(self) -> list[Event]:
        """The most recent events of each kind, in the order in which they were reported."""
        return sorted((event for kind in KINDS for event in self._events[kind]), key=lambda event: event["number"])

    def report(self, kind: str, row: int, since: float, clusters: list[int], **more: Any) -> None:
        """Log an event and pass it to `on_event`.

        Parameters
        ----------
        kind : str
        row : int
            Row after which the event is reported.
        since : float
            Row at which the change began, as far as it is known.
        clusters : list
            Identifiers of the clusters.
        more : what belongs to an event of this kind only
        """
        event = {"kind": kind, "row": row, "since": int(since), "clusters": clusters, **more}
        event |= {"text": in_words(event), "number": sum(self.n_events.values())}
        self._events[kind].append(event)
        self.n_events[kind] += 1
        if self.on_event is not None:
            self.on_event(event)

    def restore(self, events: list[Event], n_events: dict[str, int]) -> None:
        """Restore a log that was saved."""
        for event in events:
            self._events[event["kind"]].append(event)
        self.n_events.update(n_events)


def in_words(event: Event) -> str:
    """Say what happened.

    Examples
    --------
    >>> in_words({"kind": "split", "clusters": [4, 5], "node": 1, "since": 0})
    'cluster 1 split into clusters 4 and 5'
    >>> in_words({"kind": "merged", "clusters": [2, 3], "since": 0})
    'clusters 2 and 3 merged into cluster 2'
    """
    clusters, first = _named(event["clusters"]), event["clusters"][0]
    words = {
        "split": f"cluster {event.get('node')} split into {clusters}",
        "appeared": f"{clusters} appeared",
        "vanished": f"{clusters} has had no rows since row {event['since']}",
        "returned": f"{clusters} returned",
        "moved": f"{clusters} moved",
        "merged": f"{clusters} merged into cluster {first}",
        "drift": f"{clusters} changed at once, and are learned again",
    }
    return words[event["kind"]]


def _named(clusters: list[int]) -> str:
    """Return "cluster 1", or "clusters 1, 2 and 3"."""
    if len(clusters) == 1:
        return f"cluster {clusters[0]}"
    names = [str(cluster) for cluster in clusters[:MOST_NAMED]]
    if len(clusters) > MOST_NAMED:
        names = [*names[:-1], f"{len(clusters) - MOST_NAMED + 1} more"]
    return f"clusters {', '.join(names[:-1])} and {names[-1]}"
