"""A tree as text: records with the features that drive each split, and a drawing with lines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine._matrix import Floats
from ravine._names import shown

if TYPE_CHECKING:
    from ravine.tree._tree import HyperplaneTree

CLEAR, STRONG = 0.5, 2.0
"""Number of deviations from the average at which a feature is called high or low, and very high or very low."""


def describe(tree: "HyperplaneTree", feature_names: Sequence[str] | None, n_features: int) -> list[dict[str, Any]]:
    """Return the records of `HyperplaneTree.describe`."""
    names = names_of(tree, feature_names)
    records: list[dict[str, Any]] = []
    for node in range(tree.n_nodes):
        moments = {"node": node, "depth": int(tree.depth[node]), "count": float(tree.count[node])}
        if not tree.is_leaf[node]:
            for j, share in largest(shares_of_cut(tree, node), n_features):
                entry = {"feature": names[j], "coefficient": float(tree.normal[node, j]), "difference": None}
                records.append({**moments, "kind": "cut", "label": None, **entry, "share": share})
        elif tree.parent[node] >= 0:
            difference = tree.mean[node] - tree.mean[tree.sibling(node)]
            for j, share in largest(shares_of_cut(tree, tree.parent[node]), n_features):
                entry = {"feature": names[j], "coefficient": None, "difference": float(difference[j])}
                records.append({**moments, "kind": "cluster", "label": int(tree.label[node]), **entry, "share": share})
    return records


def draw(tree: "HyperplaneTree", feature_names: Sequence[str] | None, n_features: int) -> str:
    """Return the lines of `HyperplaneTree.to_text`."""
    names = shown_names(tree, feature_names)
    lines = [f"HyperplaneTree: {size(tree)}"]
    stack = [(0, "", "")]
    while stack:
        node, lead, below = stack.pop()
        rows = counted(tree.count[node], "row")
        if tree.is_leaf[node]:
            lines.append(f"{lead}{node}: {rows} → cluster {tree.label[node]}")
            continue
        carriers = [f"{names[j]} ({share:.0%})" for j, share in largest(shares_of_cut(tree, node), n_features)]
        evidence = [f"p = {tree.p_value[node]:.2g}"] if tree.p_value[node] < 1 else []
        lines.append(f"{lead}{node}: " + ", ".join([rows, *carriers, *evidence]))
        stack.append((int(tree.right[node]), f"{below}└─ ", f"{below}   "))
        stack.append((int(tree.left[node]), f"{below}├─ ", f"{below}│  "))
    return "\n".join(lines)


def size(tree: "HyperplaneTree") -> str:
    """Describe the size of the tree."""
    parts = (tree.n_clusters, "cluster"), (len(tree.cuts), "cut"), (tree.n_features, "feature")
    return ", ".join(counted(*part) for part in parts)


def sets_apart(difference_in_deviations: Floats, names: Sequence[str], n: int = 3) -> str:
    """Describe the `n` features in which a cluster differs most from the average: "x12 very high, x3 low"."""
    size = np.abs(difference_in_deviations)
    words = [
        f"{names[j]} {'very ' if size[j] >= STRONG else ''}{'high' if difference_in_deviations[j] > 0 else 'low'}"
        for j in np.argsort(-size, kind="stable")[:n]
        if size[j] >= CLEAR
    ]
    return ", ".join(words) or "close to the average"


def counted(number: float, noun: str) -> str:
    """Format a number with a noun: 1 row, 2 rows, 1,797 rows."""
    return f"{number:,.10g} {noun}{'' if number == 1 else 's'}"


def shortened(text: str, n_letters: int) -> str:
    """Return the text, truncated if it is long."""
    return text if len(text) <= n_letters else f"{text[: max(n_letters - 1, 1)]}…"


def names_of(tree: "HyperplaneTree", feature_names: Sequence[str] | None) -> list[str]:
    """Return the names of the columns of a tree; x0, x1, … by default."""
    return named(tree.n_features, feature_names, "tree has")


def named(n_features: int, feature_names: Sequence[str] | None, whose: str) -> list[str]:
    """Return the names of `n_features` columns; x0, x1, … by default."""
    names = [f"x{j}" for j in range(n_features)] if feature_names is None else [str(name) for name in feature_names]
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} entries, but the {whose} {n_features} features")
    return names


def shown_names(tree: "HyperplaneTree", feature_names: Sequence[str] | None) -> list[str]:
    """Return the names as they are displayed."""
    return [shown(name) for name in names_of(tree, feature_names)]


def shares_of_cut(tree: "HyperplaneTree", cut: int) -> Floats:
    """Return how much each feature drives a split: its share of the distance between the two means, along the normal.

    The shares do not depend on the units. A feature in which the sides differ against the normal has share 0.
    """
    apart = tree.mean[tree.right[cut]] - tree.mean[tree.left[cut]]
    return _as_shares(np.maximum(tree.normal[cut] * apart, 0.0), instead=tree.normal[cut] ** 2)


def shares_of_cuts(tree: "HyperplaneTree") -> Floats:
    """Return how much each feature drives the splits of a tree, on average over their rows; zeros without a split."""
    total = np.zeros(tree.n_features)
    for cut in tree.cuts:
        total += tree.count[cut] * shares_of_cut(tree, int(cut))
    return total / total.sum() if total.any() else total


def shares_of_spread(direction: Floats, deviation: Floats) -> Floats:
    """Return how much each feature contributes to a direction, given the deviations of the features."""
    return _as_shares((direction * deviation) ** 2, instead=direction**2)


def _as_shares(parts: Floats, instead: Floats) -> Floats:
    parts = parts if parts.any() else instead
    parts = parts / parts.max()
    return np.asarray(parts / parts.sum())


def largest(shares: Floats, n_features: int) -> list[tuple[int, float]]:
    """Return the features with the largest shares, and these shares; features with share 0 are left out."""
    order = np.argsort(-shares, kind="stable")[:n_features]
    return [(int(j), float(shares[j])) for j in order if shares[j] > 0]
