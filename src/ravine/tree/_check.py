"""The conditions that make arrays a valid tree. Every HyperplaneTree is checked here, also one read from a file."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._schema import Array, Custom, FieldError, Group, Sizes, State, require
from ravine.tree._mixture import MIXTURE
from ravine.tree._surfaces import SURFACES

FORMAT_VERSION = 1
"""Version of the format of `HyperplaneTree.to_dict`."""

NODES = {
    "left": Array("int64", ("n_nodes",), low=-1, index_of="n_nodes"),
    "right": Array("int64", ("n_nodes",), low=-1, index_of="n_nodes"),
    "parent": Array("int64", ("n_nodes",), low=-1, index_of="n_nodes"),
    "depth": Array("int64", ("n_nodes",), low=0),
    "rank": Array("int64", ("n_nodes",), low=0),
    "normal": Array("float64", ("n_nodes", "n_features")),
    "offset": Array("float64", ("n_nodes",)),
    "count": Array("float64", ("n_nodes",), low=0),
    "mean": Array("float64", ("n_nodes", "n_features")),
    "sum_sq": Array("float64", ("n_nodes",), low=0),
    "value": Array("float64", ("n_nodes",)),
    "relative_depth": Array("float64", ("n_nodes",), low=0),
    "p_value": Array("float64", ("n_nodes",), low=0, high=1),
}
"""Arrays of a tree, with an entry for each node."""


def nodes_are_in_preorder(state: State, sizes: Sizes) -> None:
    """The links form one tree whose nodes are numbered in preorder, and the depths count the cuts above a node."""
    depths = depths_in_preorder(state["left"], state["right"], state["parent"])
    wrong = np.flatnonzero(state["depth"] != depths)
    for node in wrong[:1]:
        raise FieldError("depth", f"of node {node} is {state['depth'][node]}, not {depths[node]}")


def depths_in_preorder(lefts: NDArray[Any], rights: NDArray[Any], parents: NDArray[Any]) -> list[int]:
    """Return the depths of the nodes of a tree in preorder; a FieldError names the links that make it invalid."""
    n_nodes = len(lefts)
    left, right, parent_of = lefts.tolist(), rights.tolist(), parents.tolist()  # single entries of arrays are slow
    depths: list[int] = []
    stack = [(0, -1, 0)]
    # A preorder walk must visit the nodes as 0, 1, 2, …; cycles, orphans and shared children all break this.
    while stack:
        node, parent, depth = stack.pop()
        name, expected = "left" if parent < 0 or left[parent] == node else "right", len(depths)
        require(node == expected, name, f"of node {parent} is {node} where {expected} comes next in preorder")
        require(parent_of[node] == parent, "parent", f"of node {node} is {parent_of[node]}, not {parent}")
        depths.append(depth)
        if left[node] == right[node] == -1:
            continue
        for name, child in (("left", left[node]), ("right", right[node])):
            require(node < child < n_nodes, name, f"of node {node} is {child}")
        stack += [(right[node], node, depth + 1), (left[node], node, depth + 1)]
    require(len(depths) == n_nodes, "left", f"and right reach {len(depths)} of {n_nodes} nodes")
    return depths


def cuts_have_unit_normals(state: State, sizes: Sizes) -> None:
    """The normal of a cut has length 1; a leaf has neither normal nor offset."""
    is_cut, normal = state["left"] >= 0, state["normal"]
    # Avoid a copy of the normals, which make up most of a wide tree.
    lengths = np.sqrt(np.einsum("ij,ij->i", normal, normal))
    require(np.allclose(lengths[is_cut], 1, atol=1e-6), "normal", "is not of unit length at a cut")
    is_normal: NDArray[Any] = np.any(normal, axis=1)
    for name, entries in (("normal", is_normal), ("offset", state["offset"])):
        require(not np.any(entries[~is_cut]), name, "is not zero at a leaf")


def ranks_number_the_cuts(state: State, sizes: Sizes) -> None:
    """The cuts have the ranks 1, 2, …, each after the cut above it; a leaf has rank 0."""
    rank, is_cut = state["rank"], state["left"] >= 0
    cuts = np.flatnonzero(is_cut)
    require(not np.any(rank[~is_cut]), "rank", "is not zero at a leaf")
    require((np.sort(rank[cuts]) == np.arange(1, len(cuts) + 1)).all(), "rank", "does not number the cuts from 1")
    below = cuts[cuts > 0]
    require((rank[state["parent"][below]] < rank[below]).all(), "rank", "of a cut does not exceed its parent's")


def surfaces_are_at_cuts(state: State, sizes: Sizes) -> None:
    """A leaf has no surface."""
    surfaces = state["surfaces"]
    is_at_cuts = surfaces is None or (state["left"][surfaces["node"]] >= 0).all()
    require(is_at_cuts, "surfaces.node", "has a leaf, which cannot have a surface")


def _known_version(version: Any) -> int:
    if type(version) is not int or version != FORMAT_VERSION:
        raise ValueError(f"is {version!r:.50}; this version of ravine reads {FORMAT_VERSION}")
    return version


STRUCTURE = Group(NODES, (nodes_are_in_preorder, cuts_have_unit_normals, ranks_number_the_cuts))
"""The arrays of a tree without surfaces."""

TREE = Group(
    {"format_version": Custom(_known_version), **NODES, "surfaces": SURFACES, "mixture": MIXTURE},
    (*STRUCTURE.relations, surfaces_are_at_cuts),
)
"""The result of `HyperplaneTree.to_dict`."""


def typed(arrays: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return copies of the arrays of a tree with their proper types; a FieldError names one that has no numbers."""
    return {name: _typed(name, array) for name, array in arrays.items()}


def _typed(name: str, array: Any) -> NDArray[Any]:
    try:
        raw = np.asarray(array)
        if raw.dtype.kind not in "iuf":
            raise TypeError(f"of type {raw.dtype}")
        with np.errstate(invalid="ignore"):
            out = np.array(raw, dtype=NODES[name].dtype, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise FieldError(name, f"is not an array of numbers: {error}") from None
    if out.dtype.kind == "i":
        require((out == raw).all(), name, "has an entry that is not an integer")
    return out


def checked_surfaces(surfaces: Any, is_cut: NDArray[Any]) -> NDArray[Any]:
    """Return the surface of each node, or None; raise FieldError if a leaf has one."""
    out = np.full(len(is_cut), None, dtype=object)
    if surfaces is not None:
        require(len(surfaces) == len(is_cut), "surface", f"has {len(surfaces)} entries for {len(is_cut)} nodes")
        out[:] = surfaces
    require(all(surface is None for surface in out[~is_cut]), "surface", "is not None at a leaf")
    return out
