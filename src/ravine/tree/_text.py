"""A tree in words: records that say what carries each cut, and a drawing with lines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.matrix import Floats

if TYPE_CHECKING:
    from ravine.tree._tree import HyperplaneTree


def describe(tree: "HyperplaneTree", feature_names: Sequence[str] | None, n_features: int) -> list[dict[str, Any]]:
    """Records of `HyperplaneTree.describe`."""
    names = _names(tree, feature_names)
    records: list[dict[str, Any]] = []
    for node in range(tree.n_nodes):
        about = {"node": node, "depth": int(tree.depth[node]), "count": float(tree.count[node])}
        if not tree.is_leaf[node]:
            for j, share in _largest(tree.normal[node], n_features):
                entry = {"feature": names[j], "coefficient": float(tree.normal[node, j]), "difference": None}
                records.append({**about, "kind": "cut", "label": None, **entry, "share": share})
        elif tree.parent[node] >= 0:
            difference = tree.mean[node] - tree.mean[tree.sibling(node)]
            for j, share in _largest(difference, n_features):
                entry = {"feature": names[j], "coefficient": None, "difference": float(difference[j])}
                records.append({**about, "kind": "cluster", "label": int(tree.label[node]), **entry, "share": share})
    return records


def draw(tree: "HyperplaneTree", feature_names: Sequence[str] | None, n_features: int) -> str:
    """Lines of `HyperplaneTree.to_text`."""
    names = _names(tree, feature_names)
    lines = [f"HyperplaneTree: {size(tree)}"]
    stack = [(0, "", "")]
    while stack:
        node, lead, below = stack.pop()
        rows = _counted(tree.count[node], "row")
        if tree.is_leaf[node]:
            lines.append(f"{lead}{node}: {rows} → cluster {tree.label[node]}")
            continue
        carriers = [f"{names[j]} ({share:.0%})" for j, share in _largest(tree.normal[node], n_features)]
        evidence = [f"p = {tree.p_value[node]:.2g}"] if tree.p_value[node] < 1 else []
        lines.append(f"{lead}{node}: " + ", ".join([rows, *carriers, *evidence]))
        stack.append((int(tree.right[node]), f"{below}└─ ", f"{below}   "))
        stack.append((int(tree.left[node]), f"{below}├─ ", f"{below}│  "))
    return "\n".join(lines)


def size(tree: "HyperplaneTree") -> str:
    """Size of the tree in words."""
    parts = (tree.n_clusters, "cluster"), (len(tree.cuts), "cut"), (tree.n_features, "feature")
    return ", ".join(_counted(*part) for part in parts)


def _counted(number: float, noun: str) -> str:
    return f"{number:.10g} {noun}{'' if number == 1 else 's'}"


def _names(tree: "HyperplaneTree", feature_names: Sequence[str] | None) -> list[str]:
    names = (
        [f"x{j}" for j in range(tree.n_features)] if feature_names is None else [str(name) for name in feature_names]
    )
    if len(names) != tree.n_features:
        raise ValueError(f"feature_names has {len(names)} entries, the tree has {tree.n_features} features")
    return names


def _largest(vector: Floats, n_features: int) -> list[tuple[int, float]]:
    """Entries that hold most of the squared length, with their shares; none of a zero vector."""
    squares = (vector / max(np.abs(vector).max(), np.finfo(float).tiny)) ** 2
    order = np.argsort(-squares, kind="stable")[:n_features]
    return [(int(j), float(squares[j] / squares.sum())) for j in order if squares[j] > 0]
