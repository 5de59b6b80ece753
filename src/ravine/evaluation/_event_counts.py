"""Counting the events of a model that follows a stream, and finding the new ones."""

from typing import Any

KINDS = {"split": "n_splits", "drift": "n_drifts", "withdrawal": "n_withdrawals"}
"""Kinds of events, and the column of an evaluation that counts each kind."""


def count_events(model: Any) -> dict[str, int]:
    """Return the number of events so far, by kind; all are 0 for a model without events, or for None."""
    counts = getattr(model, "n_events_", {})
    return {kind: int(counts.get(kind, 0)) for kind in KINDS}


def events_since(model: Any, past: dict[str, int]) -> list[dict[str, Any]]:
    """Return the events that came after those counted in `past`, in the order of the rows."""
    n_new = {kind: number - past[kind] for kind, number in count_events(model).items()}
    found = []
    for event in reversed(getattr(model, "events_", ())):
        if n_new[event["kind"]] > 0:
            n_new[event["kind"]] -= 1
            found.append(event)
    return found[::-1]
