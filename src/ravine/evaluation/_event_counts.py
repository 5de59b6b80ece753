"""Counting the events of a model that follows a stream, and finding the new ones."""

from typing import Any

COLUMNS = {"split": "n_splits", "drift": "n_drifts", "withdrawal": "n_withdrawals"}
"""Column of an evaluation that counts a kind of events, where it is not "n_" and the kind, as in "n_moved"."""


def column_of(kind: str) -> str:
    """Return the column of an evaluation that counts a kind of events."""
    return COLUMNS.get(kind, f"n_{kind}")


def count_events(model: Any) -> dict[str, int]:
    """Return the number of events so far, by kind; there are no kinds for a model without events, or for None."""
    return {kind: int(number) for kind, number in getattr(model, "n_events_", {}).items()}


def events_since(model: Any, past: dict[str, int]) -> list[dict[str, Any]]:
    """Return the events that came after those counted in `past`, in their order."""
    n_new = {kind: number - past.get(kind, 0) for kind, number in count_events(model).items()}
    found = []
    for event in reversed(getattr(model, "events_", ())):
        if n_new[event["kind"]] > 0:
            n_new[event["kind"]] -= 1
            found.append(event)
    return found[::-1]
