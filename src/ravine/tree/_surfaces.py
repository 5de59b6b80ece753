"""Convert the surfaces of the cuts of a tree to a few plain arrays for files, and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._schema import Array, Group, Sizes, State, require
from ravine.cuts import Surface


def nodes_are_distinct(state: State, sizes: Sizes) -> None:
    """A node has one surface."""
    require(len(np.unique(state["node"])) == sizes["n_surfaces"], "node", "has a node twice")


def counts_add_up(state: State, sizes: Sizes) -> None:
    """The parts of all surfaces together have as many entries as the arrays."""
    # Sums of int64 could overflow.
    n_directions, n_positions = state["n_directions"].tolist(), state["n_positions"].tolist()
    n_coordinates = sum(a * b for a, b in zip(n_directions, n_positions, strict=True))
    for name, total, size in (
        ("directions", sum(n_directions), sizes["n_all_directions"]),
        ("is_left", sum(n_positions), sizes["n_all_positions"]),
        ("positions", n_coordinates, sizes["n_coordinates"]),
    ):
        require(total == size, name, f"has {size} entries, but needs {total} by 'n_directions' and 'n_positions'")


def surfaces_have_two_sides(state: State, sizes: Sizes) -> None:
    """Each surface has positions on both sides."""
    ends = np.cumsum(state["n_positions"])
    n_left = np.add.reduceat(state["is_left"].astype(np.int64), ends - state["n_positions"])
    has_both = (n_left > 0) & (n_left < state["n_positions"])
    require(has_both.all(), "is_left", "has a surface without positions on one side")


SURFACES = Group(
    {
        "node": Array("integer", ("n_surfaces",), index_of="n_nodes"),
        "n_directions": Array("integer", ("n_surfaces",), low=1),
        "directions": Array("floating", ("n_all_directions", "n_features")),
        "n_positions": Array("integer", ("n_surfaces",), low=2),
        "positions": Array("floating", ("n_coordinates",)),
        "is_left": Array("bool", ("n_all_positions",)),
    },
    (nodes_are_distinct, counts_add_up, surfaces_have_two_sides),
    optional=True,
    required=False,
)
"""The surfaces of a tree, one after the other: their nodes, and how many directions and positions each has."""


def packed(surfaces: NDArray[Any]) -> dict[str, NDArray[Any]] | None:
    """Return the arrays of all surfaces, concatenated; None if there are no surfaces."""
    nodes = [i for i, surface in enumerate(surfaces) if surface is not None]
    if not nodes:
        return None
    kept = [surfaces[i] for i in nodes]
    return {
        "node": np.array(nodes),
        "n_directions": np.array([len(surface.directions) for surface in kept]),
        "directions": np.concatenate([surface.directions for surface in kept]),
        "n_positions": np.array([len(surface.positions) for surface in kept]),
        "positions": np.concatenate([surface.positions.ravel() for surface in kept]),
        "is_left": np.concatenate([surface.is_left for surface in kept]),
    }


def unpacked(record: State | None, n_nodes: int) -> NDArray[Any]:
    """Return the surface of each node from the checked result of `packed`."""
    surfaces = np.full(n_nodes, None, dtype=object)
    if record is None:
        return surfaces
    node, n_directions, n_positions = record["node"], record["n_directions"], record["n_positions"]
    ends = [np.cumsum(sizes) for sizes in (n_directions, n_positions * n_directions, n_positions)]
    arrays = record["directions"], record["positions"], record["is_left"]
    parts = [np.split(a, end[:-1]) for a, end in zip(arrays, ends, strict=True)]
    for i, here, at, sides in zip(node, *parts, strict=True):
        surfaces[i] = Surface(here.astype(np.float64), at.astype(np.float64).reshape(len(sides), -1), sides)
    return surfaces
