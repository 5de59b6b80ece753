"""Save and restore a tree that follows a stream: the fields, the conditions on them, and their way in and out."""

import math
from dataclasses import astuple
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._matrix import LARGEST, Floats
from ravine._schema import MOST, POSITIVE, Array, Custom, Group, Number, Sizes, State, require
from ravine.tree import _check
from ravine.tree._stream._events import KINDS
from ravine.tree._stream._history import FIRST_WIDTH, MOST_BINS, OTHERS
from ravine.tree._stream._nodes import IS_CUT, Nodes
from ravine.tree._stream._profile import Profile
from ravine.tree._stream._registry import Birth, Change, Former
from ravine.tree._stream._tree import Recovery, StreamTree

LINKS = ("left", "right", "parent")
ALONG = ("identity", "order", "normal", "cut", "leaf", "mean", "inverse", "counts", "p_value", "depth")
"""Arrays with one entry per node: links to other nodes, and all others."""

STEEPEST = 1e160
"""Largest inverse of a deviation."""


def _leaves(state: State) -> Any:
    return state["left"] < 0


def links_form_a_tree(state: State, sizes: Sizes) -> None:
    """The nodes are numbered in preorder, and each leaf has a ring."""
    _check.depths_in_preorder(state["left"], state["right"], state["parent"])
    n_leaves = int(_leaves(state).sum())
    require(n_leaves == sizes["n_rings"], "rows", f"has {sizes['n_rings']} rings for {n_leaves} leaves")


def identifiers_were_given(state: State, sizes: Sizes) -> None:
    """Leaves and former clusters have different identifiers that were given before; those of cuts are negative."""
    ids, is_leaf = state["identity"], _leaves(state)
    require(len(np.unique(ids)) == len(ids), "identity", "has an entry twice")
    is_valid = (ids[is_leaf] >= 0).all() and (ids < state["n_ids"]).all()
    require(is_valid, "identity", "has a leaf without the identifier of a cluster")
    is_valid = (ids[~is_leaf] < -1).all() and (ids >= -1 - state["n_cuts"]).all()
    require(is_valid, "identity", "has a cut without the identifier of a cut")
    former = state["former"]["id"]
    require((former < state["n_ids"]).all(), "former.id", "has an entry that is not the identifier of a cluster")
    for name in ("births", "resting", "changed"):
        is_valid = np.isin(state[name][:, 0], ids[is_leaf]).all()
        require(is_valid, name, "has an entry that is not the identifier of a leaf")
    resting = state["leaf"][is_leaf, _kernels.stream.REST_UNTIL] > 0
    is_valid = set(ids[is_leaf][resting]) == set(state["resting"][:, 0])
    require(is_valid, "resting", "does not agree with the leaves that rest")


def leaves_are_valid(state: State, sizes: Sizes) -> None:
    """The numbers of a leaf agree with its ring, and a leaf that is watched has a profile."""
    kernel, leaf = _kernels.stream, state["leaf"][_leaves(state)]
    counts = leaf[:, [kernel.N_SEEN, kernel.N_STORED, kernel.N_SINCE, kernel.N_SCORES, kernel.N_VISITS]]
    is_valid = (counts >= 0).all() and (counts < MOST).all() and (counts == np.floor(counts)).all()
    require(is_valid, "leaf", "has a number of rows that is not a count")
    times = leaf[:, [kernel.BORN, kernel.LAST, kernel.SINCE, kernel.ONSET]]
    require((times >= 0).all() and (times <= state["n_rows"]).all(), "leaf", "has a row that has not come yet")
    require((leaf[:, kernel.DEPENDENCE] >= 1).all(), "leaf", "has a dependence below 1")
    require(np.isin(leaf[:, kernel.STATE], (0, 1, 2)).all(), "leaf", "has an unknown state")
    watched = leaf[:, kernel.STATE] != kernel.FRESH
    is_valid = (leaf[watched, kernel.N_SCORES] > 0).all() and (leaf[:, kernel.MEDIAN] >= 0).all()
    require(is_valid, "leaf", "has a state without a profile")
    size = state["times"].shape[1]
    for numbers, ring in zip(leaf, state["times"], strict=True):
        n_stored = int(numbers[kernel.N_STORED])
        order = np.arange(n_stored - min(n_stored, size), n_stored) % size
        in_order = ring[order]
        is_valid = (np.diff(in_order) > 0).all() and (in_order >= 0).all() and (in_order < state["n_rows"]).all()
        require(is_valid, "times", "are not in order")


def cuts_are_valid(state: State, sizes: Sizes) -> None:
    """The inner region of a cut lies between its modes."""
    kernel, cut = _kernels.stream, state["cut"][~_leaves(state)]
    low, high, reach, rate = cut[:, [kernel.LOW, kernel.HIGH, kernel.REACH, kernel.RATE]].T
    is_valid = (low < 0).all() and (high > 0).all() and (reach > 0).all() and (rate > 0).all() and (rate < 1).all()
    require(is_valid, "cut", "has a region that is not around the cut")
    require((cut[:, [kernel.N_INNER, kernel.N_OUTER]] >= 0).all(), "cut", "has a negative number of rows")


def events_are_counted(state: State, sizes: Sizes) -> None:
    """There are no more events of a kind than were counted."""
    for kind in KINDS:
        n_events = sum(event["kind"] == kind for event in state["events"])
        require(n_events <= state["n_events"][kind], "n_events", f"counts fewer events of the kind {kind!r}")


def history_covers_the_stream(state: State, sizes: Sizes) -> None:
    """Each row of the stream is counted once, in bins that are as narrow as their number allows."""
    ids, counts, width, n_rows = (*(state["history"][name] for name in ("id", "counts", "width")), state["n_rows"])
    require((np.diff(ids) > 0).all(), "history.id", "is not in ascending order")
    require((ids < state["n_ids"]).all(), "history.id", "has an entry that is not the identifier of a cluster")
    narrowest = FIRST_WIDTH
    while n_rows >= MOST_BINS * narrowest:
        narrowest *= 2
    require(width == narrowest, "history.width", f"must be {narrowest} after {n_rows} rows")
    start = np.arange(0, n_rows, width)
    require((counts <= width).all(), "history.counts", "has an entry with more rows than a bin has")
    is_valid = np.array_equal(counts.sum(axis=1), np.minimum(width, n_rows - start))
    require(is_valid, "history.counts", "do not add up to the rows of the stream")


def _checked_events(events: Any) -> list[dict[str, Any]]:
    is_valid = isinstance(events, list) and all(
        isinstance(event, dict) and event.get("kind") in KINDS and type(event.get("number")) is int for event in events
    )
    if not is_valid:
        raise ValueError("is not a list of events")
    return events


FORMER = Group(
    {
        "id": Array("int64", ("n_former",), low=0, empty=True),
        "mean": Array("float64", ("n_former", "n_features"), low=-LARGEST, high=LARGEST, empty=True),
        "inverse": Array("float64", ("n_former", "n_features"), low=0, high=STEEPEST, empty=True),
        "median": Array("float64", ("n_former",), low=0, empty=True),
        "counts": Array("float64", ("n_former", "n_bins"), low=0, empty=True),
        "n_rows": Array("int64", ("n_former",), low=1, empty=True),
        "last": Array("int64", ("n_former",), low=0, empty=True),
        "rate": Array("float64", ("n_former",), low=POSITIVE, high=1, empty=True),
    }
)
"""Clusters that are not in the tree any more."""

HISTORY = Group(
    {
        "width": Number(int, low=1, high=MOST),
        "id": Array("int64", ("n_history",), low=OTHERS, empty=True),
        "counts": Array("int64", ("n_history_bins", "n_history"), low=0, high=MOST, empty=True),
    }
)
"""Number of rows of each cluster over time."""

STREAM_TREE = Group(
    {
        "n_rows": Number(int, low=0, high=MOST),
        "n_ids": Number(int, low=1, high=MOST),
        "n_cuts": Number(int, low=0, high=MOST),
        "largest": Number(float, low=0, high=LARGEST),
        "dependence": Number(float, low=1, high=1e300),
        "events": Custom(_checked_events),
        "n_events": Group({kind: Number(int, low=0, high=MOST) for kind in KINDS}),
        "left": Array("int64", ("n_stream_nodes",), low=-1, index_of="n_stream_nodes"),
        "right": Array("int64", ("n_stream_nodes",), low=-1, index_of="n_stream_nodes"),
        "parent": Array("int64", ("n_stream_nodes",), low=-1, index_of="n_stream_nodes"),
        "identity": Array("int64", ("n_stream_nodes",), low=-MOST, high=MOST),
        "order": Array("int64", ("n_stream_nodes",), low=-1, high=MOST),
        "normal": Array("float64", ("n_stream_nodes", "n_features"), low=-1.1, high=1.1),
        "cut": Array("float64", ("n_stream_nodes", "n_cut_numbers"), low=-math.inf, high=math.inf),
        "leaf": Array("float64", ("n_stream_nodes", "n_leaf_numbers"), low=-math.inf, high=math.inf),
        "mean": Array("float64", ("n_stream_nodes", "n_features"), low=-LARGEST, high=LARGEST),
        "inverse": Array("float64", ("n_stream_nodes", "n_features"), low=0, high=STEEPEST),
        "counts": Array("float64", ("n_stream_nodes", "n_bins"), low=0),
        "p_value": Array("float64", ("n_stream_nodes",), low=0, high=1),
        "depth": Array("float64", ("n_stream_nodes",), low=0),
        "rows": Array("float64", ("n_rings", "window_size", "n_features"), low=-LARGEST, high=LARGEST),
        "times": Array("int64", ("n_rings", "window_size"), low=-1),
        "spread": Array("float64", ("n_features",), low=POSITIVE, high=math.inf),
        "steps": Array("float64", ("n_features",), low=0),
        "least_deviation": Array("float64", ("n_features",), low=POSITIVE),
        "units_due": Array("float64", (2,), low=0),
        "births": Array("int64", ("n_births", 3), low=0, empty=True),
        "resting": Array("int64", ("n_resting", 2), low=0, empty=True),
        "unreported": Array("int64", ("n_unreported",), low=0, empty=True),
        "changed": Array("int64", ("n_changed", 2), low=0, empty=True),
        "changed_rate": Array("float64", ("n_changed",), low=0, high=1, empty=True),
        "recovery": Array("int64", (3,), low=0, high=MOST),
        "former": FORMER,
        "history": HISTORY,
    },
    (
        links_form_a_tree,
        identifiers_were_given,
        leaves_are_valid,
        cuts_are_valid,
        events_are_counted,
        history_covers_the_stream,
    ),
    optional=True,
)
"""The result of `state_of`. Numbers of a leaf or a cut may be infinite."""


def sizes_of_stream(window_size: int) -> Sizes:
    """Return the sizes that the parameters determine."""
    kernel = _kernels.stream
    numbers = {"n_cut_numbers": kernel.N_CUT, "n_leaf_numbers": kernel.N_LEAF, "n_bins": kernel.N_BINS}
    return {**numbers, "window_size": window_size}


def state_of(tree: StreamTree) -> State:
    """Return the fields of `STREAM_TREE`; the nodes are numbered in preorder."""
    nodes, registry, units = tree.nodes, tree.registry, tree.units
    order = np.array(nodes.below(nodes.root))
    position = np.full(len(nodes.left) + 1, -1)
    position[order] = np.arange(len(order))
    rings = nodes.ring[order][nodes.left[order] < 0]
    history = tree.history.table()
    births = [(identity, birth.since, birth.look_at) for identity, birth in registry.births.items()]
    return {
        "n_rows": tree.n_rows,
        "n_ids": registry.n_ids,
        "n_cuts": nodes.n_cuts,
        "largest": tree.largest,
        "dependence": tree.dependence,
        "events": tree.events,
        "n_events": dict(tree.n_events),
        **{name: position[getattr(nodes, name)[order]] for name in LINKS},
        **{name: getattr(nodes, name)[order] for name in ALONG},
        "rows": nodes.rows[rings],
        "times": nodes.times[rings],
        "spread": units.spread,
        "steps": units.steps,
        "least_deviation": units.least_deviation,
        "units_due": np.array([units.spread_due, units.steps_due]),
        "births": np.array(births, dtype=np.int64).reshape(-1, 3),
        "resting": np.array(list(registry.resting.items()), dtype=np.int64).reshape(-1, 2),
        "unreported": np.array(registry.unreported, dtype=np.int64),
        "changed": np.array([(i, c.since) for i, c in registry.changed.items()], dtype=np.int64).reshape(-1, 2),
        "changed_rate": np.array([c.rate for c in registry.changed.values()], dtype=np.float64),
        "recovery": np.array(astuple(tree.recovery)),
        "former": _state_of_former(registry.former, tree.n_features),
        "history": {"width": tree.history.width, "id": history["cluster_ids"], "counts": history["counts"]},
    }


def _state_of_former(former: list[Former], n_features: int) -> State:
    def stacked(name: str) -> Floats:
        rows = [getattr(f.profile, name) for f in former]
        width = n_features if name != "counts" else _kernels.stream.N_BINS
        return np.array(rows, dtype=np.float64).reshape(-1, width)

    return {
        "id": np.array([f.identity for f in former], dtype=np.int64),
        "mean": stacked("mean"),
        "inverse": stacked("inverse"),
        "median": np.array([f.profile.median for f in former], dtype=np.float64),
        "counts": stacked("counts"),
        "n_rows": np.array([f.profile.n_rows for f in former], dtype=np.int64),
        "last": np.array([f.last for f in former], dtype=np.int64),
        "rate": np.array([f.rate for f in former], dtype=np.float64),
    }


def restore(tree: StreamTree, state: State) -> None:
    """Restore the checked result of `state_of` in a tree that has learned no row."""
    registry, units = tree.registry, tree.units
    tree.n_rows = registry.now = state["n_rows"]
    tree.largest, tree.dependence = state["largest"], state["dependence"]
    tree.log.restore(state["events"], state["n_events"])
    _restore_nodes(tree.nodes, state)
    units.spread, units.steps, units.least_deviation = state["spread"], state["steps"], state["least_deviation"]
    units.spread_due, units.steps_due = state["units_due"].tolist()
    registry.n_ids = state["n_ids"]
    registry.births = {identity: Birth(since, look_at) for identity, since, look_at in state["births"].tolist()}
    registry.resting = dict(state["resting"].tolist())
    registry.unreported = state["unreported"].tolist()
    rates = state["changed_rate"].tolist()
    changes = zip(state["changed"].tolist(), rates, strict=True)
    registry.changed = {identity: Change(since, rate) for (identity, since), rate in changes}
    tree.recovery = Recovery(*state["recovery"].tolist())
    tree.history.restore(*(state["history"][name] for name in ("width", "id", "counts")))
    f = state["former"]
    registry.former = [
        Former(
            int(f["id"][k]),
            Profile(f["mean"][k], f["inverse"][k], float(f["median"][k]), f["counts"][k], int(f["n_rows"][k])),
            int(f["last"][k]),
            float(f["rate"][k]),
        )
        for k in range(len(f["id"]))
    ]


def _restore_nodes(nodes: Nodes, state: State) -> None:
    n_nodes, n_rings = len(state["left"]), len(state["rows"])
    nodes.allot(n_nodes, n_rings)
    for name in (*LINKS, *ALONG):
        getattr(nodes, name)[:n_nodes] = state[name]
    is_leaf = _leaves(state)
    nodes.ring[:n_nodes] = IS_CUT
    nodes.ring[np.flatnonzero(is_leaf)] = np.arange(n_rings)
    nodes.rows[:n_rings], nodes.times[:n_rings] = state["rows"], state["times"]
    nodes.n_cuts = state["n_cuts"]
