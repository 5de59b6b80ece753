"""Convert the surfaces of the cuts of a tree to a few plain arrays for files, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.cuts import Surface

NAMES = ("node", "n_directions", "directions", "n_positions", "positions", "is_left")


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


def unpacked(record: Any, n_nodes: int, n_features: int) -> NDArray[Any]:
    """Return the surface of each node from the result of `packed`; a ValueError says what is wrong."""
    surfaces = np.full(n_nodes, None, dtype=object)
    if record is None:
        return surfaces
    if not isinstance(record, Mapping) or set(record) != set(NAMES):
        raise ValueError(f"field 'surfaces' does not have the entries {', '.join(NAMES)}")
    node, n_directions, directions, n_positions, positions, is_left = (np.asarray(record[name]) for name in NAMES)
    counts = node, n_directions, n_positions
    _require(all(a.ndim == 1 and a.dtype.kind in "iu" and len(a) == len(node) for a in counts), "has bad counts")
    node, n_directions, n_positions = (a.astype(np.int64) for a in counts)
    _require(((node >= 0) & (node < n_nodes)).all() and len(set(node.tolist())) == len(node), "names a wrong node")
    _require((n_directions >= 1).all() and (n_positions >= 2).all(), "has an entry without directions or positions")
    _require(all(a.dtype.kind == "f" and np.isfinite(a).all() for a in (directions, positions)), "is not finite")
    _require(directions.shape == (n_directions.sum(), n_features), "has directions of another shape")
    _require(positions.shape == ((n_positions * n_directions).sum(),), "has another number of positions")
    _require(is_left.dtype.kind == "b" and is_left.shape == (n_positions.sum(),), "has another number of sides")
    ends = [np.cumsum(sizes) for sizes in (n_directions, n_positions * n_directions, n_positions)]
    parts = [np.split(a, end[:-1]) for a, end in zip((directions, positions, is_left), ends, strict=True)]
    for i, here, at, sides in zip(node, *parts, strict=True):
        _require(bool(sides.any()) and not sides.all(), "has an entry without positions on one side")
        surfaces[i] = Surface(here.astype(np.float64), at.astype(np.float64).reshape(len(sides), -1), sides)
    return surfaces


def _require(holds: Any, complaint: str) -> None:
    if not holds:
        raise ValueError(f"field 'surfaces' {complaint}")
