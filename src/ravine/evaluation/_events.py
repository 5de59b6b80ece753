"""Events of a model that follows a stream: how many there are, and which are new."""

from typing import Any

KINDS = {"split": "n_splits", "drift": "n_drifts", "withdrawal": "n_withdrawals"}
"""Kinds of events, and the columns of an evaluation that count them."""


def count_events(model: Any) -> dict[str, int]:
    """Number of events so far, by kind; none of a model that has no events, or of None."""
    counts = getattr(model, "n_events_", {})
    return {kind: int(counts.get(kind, 0)) for kind in KINDS}


def events_since(model: Any, past: dict[str, int]) -> list[dict[str, Any]]:
    """The events after those that were counted in `past`, in the order of the rows."""
    n_new = {kind: number - past[kind] for kind, number in count_events(model).items()}
    found = []
    for event in reversed(getattr(model, "events_", ())):
        if n_new[event["kind"]] > 0:
            n_new[event["kind"]] -= 1
            found.append(event)
    return found[::-1]
