"""A tree of cuts that follows a stream: it splits leaves with a second mode, and removes cuts whose valley fills up.

Hofmeyr, Pavlidis and Eckley (2016). The compiled loop of `ravine._kernels.hsdc` learns rows; this module changes the
tree.
"""

import json
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from scipy.special import betainc

from ravine import _kernels
from ravine._matrix import LARGEST, Floats, Ints, Matrix
from ravine._schema import MOST, Array, Custom, Group, Number, Sizes, State, all_or_none, require
from ravine.cuts._intervals import find_valley
from ravine.tree import _check
from ravine.tree._derived import with_summed_cuts
from ravine.tree._repeats import REPEATS, RepeatWatch, window_is_complete
from ravine.tree._tree import HyperplaneTree

OnEvent = Callable[[dict[str, Any]], None]

KINDS = ("split", "drift", "withdrawal")
"""Kinds of events: a new cut, a removed cut that rows had confirmed, and a removed cut that was never confirmed."""

MOST_EVENTS = 1000
"""Number of most recent events kept for each kind, since a stream may never end."""

ROOM, ROOM_CELLS = 64, 1 << 20
"""Initial number of nodes in the arrays, and the number of values of each kind that bounds it for wide rows. It doubles
when needed."""

PATIENCE = 1.1
"""A leaf that could not be split is tested again when its weight has grown by this factor."""

DENSITY, DEPTH, PRIOR_INNER, PRIOR_OUTER = range(4)
"""Columns of `valley`: density and relative depth at a cut, and the weight in its two regions of the rows that chose
it."""

CONFIRMED = 1e-3
"""A cut counts as confirmed if the probability of so few rows in the inner region, without a valley, is below this."""

LINKS = ("left", "right", "parent")
COUNTS = ("identity", "order", "n_intervals")
NUMBERS = ("mean", "direction", "second", "leaf", "cut", "valley", "sample")
"""The arrays with one entry per node: links to other nodes, other integers, and all others."""

NEW_FIELDS = ("largest", *REPEATS)
"""Fields that older files do not have."""

ALONG = 1e153
"""Largest entry along a direction, which may exceed the entries of a row."""


def links_form_a_tree(state: State, sizes: Sizes) -> None:
    """The nodes are numbered in preorder."""
    _check.depths_in_preorder(state["left"], state["right"], state["parent"])


def leaves_have_all_numbers(state: State, sizes: Sizes) -> None:
    """Older files do not have the last number of a leaf, its unit. Neither a length nor a unit is negative."""
    kernel, leaf = _kernels.hsdc, state["leaf"]
    require(sizes["n_leaf_numbers"] in (kernel.UNIT, kernel.N_LEAF), "leaf", f"has {leaf.shape[1]} numbers for a leaf")
    is_valid = (leaf[:, [kernel.LENGTH, *range(kernel.UNIT, leaf.shape[1])]] >= 0).all()
    require(is_valid, "leaf", "has a negative length or unit")


def identities_are_given(state: State, sizes: Sizes) -> None:
    """Nodes have identifiers that were given before."""
    require(state["identity"].max() < state["n_ids"], "identity", "has an entry that is not the number of a cluster")


def samples_are_in_order(state: State, sizes: Sizes) -> None:
    """The intervals of each node are in order and do not overlap, and each has some weight."""
    for sample, n in zip(state["sample"], state["n_intervals"].tolist(), strict=True):
        low, high, weight, atoms, _ = sample[:, :n]
        in_order = (low <= high).all() and (high[:-1] < low[1:]).all()
        is_valid = in_order and (weight > 0).all() and (atoms >= 1).all()
        require(is_valid, "sample", "has intervals that are not in order, or that have no weight")


def events_are_counted(state: State, sizes: Sizes) -> None:
    """There are no more events of a kind than were counted."""
    for kind in KINDS:
        n_events = sum(event["kind"] == kind for event in state["events"])
        require(n_events <= state["n_events"][kind], "n_events", f"counts fewer events of the kind {kind!r}")


def _checked_events(events: Any) -> list[dict[str, Any]]:
    if not isinstance(events, list) or not all(isinstance(e, dict) and e.get("kind") in KINDS for e in events):
        raise ValueError("is not a list of events")
    return events


STREAM = Group(
    {
        "n_rows": Number(int, low=0, high=MOST),
        "n_ids": Number(int, low=0, high=MOST),
        "events": Custom(_checked_events),
        "n_events": Group({kind: Number(int, low=0, high=MOST) for kind in KINDS}),
        "left": Array("int64", ("n_stream_nodes",), low=-1, index_of="n_stream_nodes"),
        "right": Array("int64", ("n_stream_nodes",), low=-1, index_of="n_stream_nodes"),
        "parent": Array("int64", ("n_stream_nodes",), low=-1, index_of="n_stream_nodes"),
        "identity": Array("int64", ("n_stream_nodes",), low=0),
        "order": Array("int64", ("n_stream_nodes",)),
        "n_intervals": Array("int64", ("n_stream_nodes",), index_of="n_slots"),
        "mean": Array("float64", ("n_stream_nodes", "n_features"), low=-LARGEST, high=LARGEST),
        "direction": Array("float64", ("n_stream_nodes", "n_features"), low=-ALONG, high=ALONG),
        "second": Array("float64", ("n_stream_nodes", "n_features"), low=-ALONG, high=ALONG),
        "leaf": Array("float64", ("n_stream_nodes", "n_leaf_numbers"), low=-math.inf, high=math.inf),
        "cut": Array("float64", ("n_stream_nodes", "n_cut_numbers"), low=-math.inf, high=math.inf),
        "valley": Array("float64", ("n_stream_nodes", 4), low=-1e300, high=1e300),
        "sample": Array("float64", ("n_stream_nodes", "n_sample_numbers", "n_slots"), low=-ALONG, high=ALONG),
        "largest": Number(float, low=0, high=LARGEST, required=False),
        **{name: replace(field, required=False) for name, field in REPEATS.items()},
    },
    (
        all_or_none(*NEW_FIELDS),
        links_form_a_tree,
        leaves_have_all_numbers,
        identities_are_given,
        samples_are_in_order,
        events_are_counted,
        window_is_complete,
    ),
    optional=True,
)
"""The result of `HSDCTree.state`. Numbers of a leaf or a cut may be infinite until they are known."""


@dataclass(frozen=True)
class HSDCSettings:
    """Settings of a tree that follows a stream.

    Attributes
    ----------
    inherit : bool
        Children start with the second direction of their parent.
    n_intervals : int
        Number of intervals of the sample along a direction.
    significance : float
        Significance level of the dip test.
    smoothing : float
        γ of eq. 3.
    max_forgetting : float
        Λ of eq. 3, below 1.
    min_samples_split, min_weight : float
        Number of rows in a leaf, and weight of its sample, before its first test.
    inner_share : float
        β: the inner region covers this share of the distance from a cut to the nearest mode.
    run_lengths : tuple of two floats
        Number of rows until a CUSUM raises an alarm, before and after a change.
    """

    inherit: bool = False
    n_intervals: int = 100
    significance: float = 0.05
    smoothing: float = 0.9
    max_forgetting: float = 0.5
    min_samples_split: float = 50
    min_weight: float = 20
    inner_share: float = 0.4
    run_lengths: tuple[float, float] = (1e8, 250.0)


class HSDCTree:
    """The tree, and the state of its nodes.

    Parameters
    ----------
    n_features : int
    settings : HSDCSettings
    """

    left: Ints
    right: Ints
    parent: Ints
    identity: Ints
    order: Ints
    n_intervals: Ints
    mean: Floats
    direction: Floats
    second: Floats
    leaf: Floats
    cut: Floats
    valley: Floats
    sample: Floats

    def __init__(self, n_features: int, settings: HSDCSettings) -> None:
        self.settings = settings
        self.n_features = n_features
        self.n_rows = 0
        self.n_ids = 0
        self.largest = 0.0  # largest absolute value of the rows so far
        self.repeats = RepeatWatch(n_features)
        self._events: dict[str, deque[dict[str, Any]]] = {kind: deque(maxlen=MOST_EVENTS) for kind in KINDS}
        self.n_events = dict.fromkeys(KINDS, 0)
        self._free: list[int] = []
        self._make_room(0)
        self._start_leaf(self._take_node(), parent=-1)

    def learn(self, X: Matrix, on_event: OnEvent | None = None) -> None:
        """Learn the next rows, in their order; `on_event` is called with each change of the tree."""
        stream, row, node = _kernels.hsdc, 0, 0
        settings, table = self._numbers(), threshold_table(self.settings.significance)
        while row < len(X):
            row, why, node = stream.learn(X, row, node, *self._arrays(), settings, table)
            if why == stream.ALARM:
                self._record(self._remove_cut(node, self.n_rows + row), on_event)
            elif why == stream.SPLIT:
                self._record(self._split(node, self.n_rows + row - 1), on_event)
                node = 0
        self.n_rows += len(X)

    def _numbers(self) -> tuple[float, ...]:
        """Return the settings as the compiled loop takes them."""
        s = self.settings
        forgetting = float(s.smoothing), float(s.max_forgetting)
        return (
            float(s.inherit),
            *forgetting,
            float(s.min_samples_split),
            float(s.min_weight),
            *map(float, s.run_lengths),
        )

    def _arrays(self) -> tuple[Ints, Ints, Ints, Floats, Floats, Floats, Floats, Floats, Floats, Ints]:
        """Return the state of the nodes as the compiled loop takes it."""
        links, vectors = (self.left, self.right, self.parent), (self.mean, self.direction, self.second)
        return *links, *vectors, self.leaf, self.cut, self.sample, self.n_intervals

    @property
    def events(self) -> list[dict[str, Any]]:
        """The most recent changes of the tree of each kind, in the order of the rows."""
        return sorted((event for kind in KINDS for event in self._events[kind]), key=lambda event: event["row"])

    def _record(self, event: dict[str, Any] | None, on_event: OnEvent | None) -> None:
        """Store an event, if there is one, and pass it to `on_event`."""
        if event is None:
            return
        self._events[event["kind"]].append(event)
        self.n_events[event["kind"]] += 1
        if on_event is not None:
            on_event(event)

    # Nodes

    def _make_room(self, n_nodes: int, size: int | None = None) -> None:
        """Enlarge the arrays to `size` nodes, by default to twice `n_nodes`; wide rows start with fewer nodes."""
        stream, d = _kernels.hsdc, self.n_features
        widest = max(d, _kernels.intervals.N_ROWS * (self.settings.n_intervals + 1))
        size = size or max(2 * n_nodes, min(ROOM, max(ROOM_CELLS // widest, 1)))
        shapes: dict[str, tuple[tuple[int, ...], Any]] = {
            "left": ((size,), np.int64),
            "right": ((size,), np.int64),
            "parent": ((size,), np.int64),
            "identity": ((size,), np.int64),
            "order": ((size,), np.int64),
            "n_intervals": ((size,), np.int64),
            "mean": ((size, d), np.float64),
            "direction": ((size, d), np.float64),
            "second": ((size, d), np.float64),
            "leaf": ((size, stream.N_LEAF), np.float64),
            "cut": ((size, stream.N_CUT), np.float64),
            "valley": ((size, 4), np.float64),
            "sample": ((size, _kernels.intervals.N_ROWS, self.settings.n_intervals + 1), np.float64),
        }
        for name, (shape, dtype) in shapes.items():
            array = np.zeros(shape, dtype=dtype)
            if n_nodes:
                array[:n_nodes] = getattr(self, name)
            setattr(self, name, array)
        self._free += range(size - 1, n_nodes - 1, -1)

    def _take_node(self) -> int:
        if not self._free:
            self._make_room(len(self.left))
        return self._free.pop()

    def _start_leaf(self, node: int, parent: int) -> None:
        stream = _kernels.hsdc
        self.left[node] = self.right[node] = -1
        self.parent[node] = parent
        self.n_intervals[node] = 0
        for array in (self.mean, self.direction, self.second, self.leaf, self.cut, self.valley):
            array[node] = 0.0
        self.leaf[node, stream.FADE] = 1.0
        self.leaf[node, stream.BOUND] = math.inf
        self.identity[node] = self._new_id()

    def _new_id(self) -> int:
        self.n_ids += 1
        return self.n_ids - 1

    # Split a leaf

    def _split(self, node: int, row: int) -> dict[str, Any] | None:
        """Cut a leaf at the valley of its sample; if there is none, return None and test it again later."""
        stream, s = _kernels.hsdc, self.settings
        sample = self.sample[node][:, : self.n_intervals[node]]
        found = find_valley(sample, s.inner_share)
        if found is None:
            self.leaf[node, stream.WAIT] = PATIENCE * self.leaf[node, stream.TOTAL]
            return None
        length, weight = self.leaf[node, stream.LENGTH], self.leaf[node, stream.TOTAL]
        n_seen, second = self.leaf[node, stream.N_SEEN], self.second[node].copy()
        children = self._take_node(), self._take_node()
        self.direction[node] /= length
        self.left[node], self.right[node] = children
        self.order[node] = row
        inner, outer = weight * found.inner_mass, weight * found.outer_mass
        self.valley[node, [DENSITY, DEPTH, PRIOR_INNER, PRIOR_OUTER]] = (
            found.density,
            found.relative_depth,
            inner,
            outer,
        )
        cut = self.cut[node]
        cut[:] = 0.0
        # Use our own loop: the last digit of a BLAS product depends on where the numbers lie in memory.
        cut[stream.OFFSET] = found.position + _kernels.rows.dot(self.direction[node], self.mean[node])
        cut[[stream.OUTER_LOW, stream.OUTER_HIGH]] = found.left_mode - found.position, found.right_mode - found.position
        cut[[stream.INNER_LOW, stream.INNER_HIGH]] = -found.reach, found.reach
        cut[[stream.N_INNER, stream.N_OUTER]] = inner, outer
        cut[stream.RATE] = 2 * found.reach / (found.right_mode - found.left_mode)
        cut[stream.LIMIT] = math.inf
        stream.renew_cusum(cut, *map(float, s.run_lengths))
        for child in children:
            self._start_leaf(child, parent=node)
            if s.inherit and second.any():
                self.direction[child] = second
                self.leaf[child, stream.LENGTH] = np.linalg.norm(second)
                self.leaf[child, stream.HEAD_START] = n_seen
                self.leaf[child, stream.UNIT] = self.leaf[node, stream.UNIT]
        return self._split_event(node, row, weight)

    def _split_event(self, node: int, row: int, weight: float) -> dict[str, Any]:
        clusters = [int(self.identity[child]) for child in (self.left[node], self.right[node])]
        return {
            "kind": "split",
            "row": row,
            "node": int(self.identity[node]),
            "clusters": clusters,
            "weight": float(weight),
        }

    # Remove a cut

    def _remove_cut(self, node: int, row: int) -> dict[str, Any]:
        """Remove a cut and all cuts below it; the node becomes an empty leaf again."""
        stream, cut = _kernels.hsdc, self.cut[node]
        below = self._below(node)
        event = {
            "kind": "drift" if self.evidence(node) < CONFIRMED else "withdrawal",
            "row": row,
            "node": int(self.identity[node]),
            "clusters": [int(self.identity[n]) for n in below if self.left[n] < 0],
            "statistic": float(cut[stream.CUSUM]),
            "limit": float(cut[stream.LIMIT]),
            "p0": float(cut[stream.N_INNER] / cut[stream.N_OUTER]),
            "p1": float(cut[stream.RATE]),
            "region": float(cut[stream.OUTER_HIGH] - cut[stream.OUTER_LOW]),
        }
        self._free += [n for n in below if n != node]
        self._start_leaf(node, parent=int(self.parent[node]))
        return event

    def _below(self, node: int) -> list[int]:
        nodes, stack = [], [node]
        while stack:
            n = stack.pop()
            nodes.append(n)
            if self.left[n] >= 0:
                stack += [int(self.right[n]), int(self.left[n])]
        return nodes

    def _preorder(self) -> tuple[Ints, Ints]:
        """Return the nodes in preorder, left before right, and the position of each node; -1 stays -1."""
        order = np.array(self._below(0))
        position = np.full(len(self.left) + 1, -1)
        position[order] = np.arange(len(order))
        return order, position

    def evidence(self, node: int) -> float:
        """Return the probability of so few rows in the inner region, since the cut was made, for a flat density."""
        stream, cut = _kernels.hsdc, self.cut[node]
        inner, outer = cut[[stream.N_INNER, stream.N_OUTER]] - self.valley[node, [PRIOR_INNER, PRIOR_OUTER]]
        return float(betainc(outer - inner, inner + 1, 1 - cut[stream.RATE])) if outer > inner else 1.0

    # Save and restore the tree

    def state(self) -> dict[str, Any]:
        """Return the fields of `STREAM`, which must be saved; the nodes are numbered in preorder."""
        order, position = self._preorder()
        links = {name: position[getattr(self, name)[order]] for name in LINKS}
        arrays = {name: getattr(self, name)[order] for name in (*COUNTS, *NUMBERS)}
        totals = {"n_rows": self.n_rows, "n_ids": self.n_ids}
        events = {"events": self.events, "n_events": dict(self.n_events)}
        return {**totals, **events, **links, **arrays, "largest": self.largest, **self.repeats.state()}

    def restore(self, state: State) -> None:
        """Restore the checked result of `state` before any row is learned."""
        n_nodes = len(state["left"])
        if len(self.left) < n_nodes:
            self._make_room(len(self.left), n_nodes)
        self.leaf[:n_nodes, _kernels.hsdc.UNIT] = 1.0  # older files do not have it, because it was always 1
        self.leaf[:n_nodes, : state["leaf"].shape[1]] = state["leaf"]
        for name in (*LINKS, *COUNTS, *(name for name in NUMBERS if name != "leaf")):
            getattr(self, name)[:n_nodes] = state[name]
        self._free = list(range(len(self.left) - 1, n_nodes - 1, -1))
        self.n_rows, self.n_ids = state["n_rows"], state["n_ids"]
        for event in state["events"]:
            self._events[event["kind"]].append(event)
        self.n_events.update(state["n_events"])
        self.largest = 1.0 if state["largest"] is None else state["largest"]
        self.repeats.restore(state)

    # Conversion to a HyperplaneTree

    def _cuts(self, nodes: Ints) -> tuple[Floats, Floats]:
        """Return unit normals and offsets of some nodes; only cuts have them."""
        return self.direction[nodes], self.cut[nodes, _kernels.hsdc.OFFSET]

    def snapshot(self) -> tuple[HyperplaneTree, Ints]:
        """Return the current tree, and the identity of each of its nodes."""
        stream, (order, position) = _kernels.hsdc, self._preorder()
        is_cut = self.left[order] >= 0
        count = np.where(is_cut, 0.0, self.leaf[order, stream.N_SEEN])
        sum_sq = np.where(is_cut, 0.0, self.leaf[order, stream.SUM_SQ])
        normal, offset = self._cuts(order)
        tree = HyperplaneTree.from_nodes(
            left=position[self.left[order]],
            right=position[self.right[order]],
            rank=self.order[order],
            normal=np.where(is_cut[:, np.newaxis], normal, 0.0),
            offset=np.where(is_cut, offset, 0.0),
            count=count,
            mean=self.mean[order],
            sum_sq=sum_sq,
            value=np.where(is_cut, self.valley[order, DENSITY], 0.0),
            relative_depth=np.where(is_cut, self.valley[order, DEPTH], 0.0),
            p_value=[self.evidence(node) if self.left[node] >= 0 else 1.0 for node in order],
        )
        return with_summed_cuts(tree), self.identity[order]


@cache
def threshold_table(significance: float) -> tuple[float, float, Floats]:
    """Return start and step of the log sizes, and the log dips, as the table for `_kernels.hsdc.threshold`."""
    record = json.loads((resources.files("ravine.tree") / "dip_quantiles.json").read_text(encoding="utf-8"))
    sizes, levels = np.log(record["n_rows"]), np.log(record["significance"][::-1])
    dips = np.log(np.array(record["dip"])[:, ::-1])
    at_level = np.array([np.interp(math.log(significance), levels, row) for row in dips])
    even = np.linspace(sizes[0], sizes[-1], len(sizes))
    return float(even[0]), float(even[1] - even[0]), np.interp(even, sizes, at_level)
