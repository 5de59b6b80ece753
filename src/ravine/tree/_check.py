"""The conditions that make arrays a valid tree. Every HyperplaneTree is checked here, also one read from a file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

INTEGERS = ("left", "right", "parent", "depth", "rank")
MATRICES = ("normal", "mean")
NOT_NEGATIVE = ("count", "sum_sq", "relative_depth", "p_value")


def checked(arrays: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays with their proper types; a ValueError names the first invalid field and says why."""
    out = {name: _typed(name, array) for name, array in arrays.items()}
    n_nodes = len(out["left"])
    _require(n_nodes > 0, "left", "is empty; a tree has at least a root")
    for name, array in out.items():
        _require(len(array) == n_nodes, name, f"has {len(array)} entries for {n_nodes} nodes")
    _require(out["normal"].shape[1] > 0, "normal", "has no columns")
    _require(out["mean"].shape == out["normal"].shape, "mean", "has another number of columns than normal")
    for name in NOT_NEGATIVE:
        _require(bool((out[name] >= 0).all()), name, "has a negative entry")
    _require(bool((out["p_value"] <= 1).all()), "p_value", "exceeds 1")
    _check_structure(out, n_nodes)
    _check_cuts(out)
    return out


def checked_surfaces(surfaces: Any, is_cut: NDArray[Any]) -> NDArray[Any]:
    """Return the surface of each node, or None; raise ValueError if a leaf has one."""
    out = np.full(len(is_cut), None, dtype=object)
    if surfaces is not None:
        _require(len(surfaces) == len(is_cut), "surface", f"has {len(surfaces)} entries for {len(is_cut)} nodes")
        out[:] = surfaces
    _require(all(surface is None for surface in out[~is_cut]), "surface", "is not None at a leaf")
    return out


def _typed(name: str, array: Any) -> NDArray[Any]:
    try:
        raw = np.asarray(array)
        if raw.dtype.kind not in "iuf":
            raise TypeError(f"of type {raw.dtype}")
        typed = np.array(raw, dtype=np.int64 if name in INTEGERS else np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"field {name!r} is not an array of numbers: {error}") from None
    _require(typed.ndim == (2 if name in MATRICES else 1), name, f"has {typed.ndim} dimensions")
    is_finite = not raw.size or bool(np.isfinite(raw.min()) and np.isfinite(raw.max()))  # needs no mask of that size
    _require(is_finite, name, "has an entry that is not finite")
    if name in INTEGERS:
        _require(bool((typed == raw).all()), name, "has an entry that is not an integer")
    return typed


def _check_structure(out: dict[str, NDArray[Any]], n_nodes: int) -> None:
    depths = check_links(out["left"], out["right"], out["parent"])
    for node, depth in enumerate(depths):
        _require(out["depth"][node] == depth, "depth", f"of node {node} is {out['depth'][node]}, not {depth}")


def check_links(left: NDArray[Any], right: NDArray[Any], parent_of: NDArray[Any]) -> list[int]:
    """Return the depths of the nodes of a tree in preorder; a ValueError names the field that makes it invalid."""
    n_nodes = len(left)
    depths: list[int] = []
    stack = [(0, -1, 0)]
    # A preorder walk must visit the nodes as 0, 1, 2, …; cycles, orphans and shared children all break this.
    while stack:
        node, parent, depth = stack.pop()
        name, expected = "left" if parent < 0 or left[parent] == node else "right", len(depths)
        _require(node == expected, name, f"of node {parent} is {node} where {expected} comes next in preorder")
        _require(parent_of[node] == parent, "parent", f"of node {node} is {parent_of[node]}, not {parent}")
        depths.append(depth)
        if left[node] == right[node] == -1:
            continue
        for name, child in (("left", left[node]), ("right", right[node])):
            _require(node < child < n_nodes, name, f"of node {node} is {child}")
        stack += [(right[node], node, depth + 1), (left[node], node, depth + 1)]
    _require(len(depths) == n_nodes, "left", f"and right reach {len(depths)} of {n_nodes} nodes")
    return depths


def _check_cuts(out: dict[str, NDArray[Any]]) -> None:
    is_cut = out["left"] >= 0
    cuts, rank = np.flatnonzero(is_cut), out["rank"]
    # Avoid a copy of the normals, which make up most of a wide tree.
    lengths = np.sqrt(np.einsum("ij,ij->i", out["normal"], out["normal"]))
    _require(np.allclose(lengths[is_cut], 1, atol=1e-6), "normal", "is not of unit length at a cut")
    is_normal: NDArray[Any] = np.any(out["normal"], axis=1)
    for name, entries in (("normal", is_normal), ("offset", out["offset"]), ("rank", rank)):
        _require(not np.any(entries[~is_cut]), name, "is not zero at a leaf")
    _require(
        bool((np.sort(rank[cuts]) == np.arange(1, len(cuts) + 1)).all()), "rank", "does not number the cuts from 1"
    )
    below = cuts[cuts > 0]
    _require(bool((rank[out["parent"][below]] < rank[below]).all()), "rank", "of a cut does not exceed its parent's")


def _require(holds: bool, name: str, complaint: str) -> None:
    if not holds:
        raise ValueError(f"field {name!r} {complaint}")
