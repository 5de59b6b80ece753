"""A tree as HTML for a notebook: a static drawing of the tree above a table of its clusters.

The fragment uses only inline styles, no script, and no color but that of the surrounding text. So it works on light and
dark pages, and several fragments can be on one page.
"""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ravine._matrix import Floats
from ravine.tree import _map
from ravine.tree._text import largest, sets_apart, shares_of_cut, shortened, shown_names, size

if TYPE_CHECKING:
    from ravine.tree._tree import HyperplaneTree

MOST_CLUSTERS = 30
"""Maximum number of clusters shown; if there are more, those of the first cuts are shown."""

PAGE, NARROWEST, WIDEST, LYING = 880, 34, 92, 72
"""Width of a page in pixels, minimum and maximum width of a column, and the width below which leaf labels are
vertical."""

LEVEL, RADIUS, LINE, LETTER = 74, 15, 13, 6
"""Distance between two levels, radius of the root, height of a line of text and width of a letter."""

THIN, THICK = 1.0, 7.0
"""Line width for a valley of unknown depth, and for an empty valley."""

LONGEST_NAME = 40


def draw(tree: "HyperplaneTree", feature_names: Sequence[str] | None) -> str:
    """Return the HTML of `HyperplaneTree.to_html`."""
    names = shown_names(tree, feature_names)
    title = f"HyperplaneTree: {size(tree)}"
    if tree.n_clusters > MOST_CLUSTERS:
        title += f" · shown are the first {MOST_CLUSTERS} clusters, cut_to({MOST_CLUSTERS})"
        tree = tree.cut_to(MOST_CLUSTERS)
    short = [shortened(name, LONGEST_NAME) for name in names]
    return (
        f'<div style="margin:.5em 0;line-height:1.4"><div>{title}</div>'
        f'<div style="font-size:85%;opacity:.75">{_map.LEGEND}</div>'
        f'<div style="overflow-x:auto">{_drawing(tree, names)}</div>'
        f'<div style="overflow-x:auto">{_table(tree, short)}</div></div>'
    )


def _drawing(tree: "HyperplaneTree", names: list[str]) -> str:
    pitch = min(max(PAGE / (tree.n_clusters + 1), NARROWEST), WIDEST)
    lies = pitch >= LYING
    labels = [
        _map.leaf_label(tree, node)
        if tree.is_leaf[node]
        else _map.cut_label(tree, node, names, int((2 * pitch - LETTER) / LETTER))
        for node in range(tree.n_nodes)
    ]
    longest = max(len(line) for leaf in tree.leaves for line in labels[leaf])
    below = 2 * LINE if lies else longest * LETTER
    x = (_map.columns(tree) + 1) * pitch
    y = 3.0 * LINE + RADIUS + LEVEL * tree.depth.astype(np.float64)
    radius = RADIUS * np.sqrt(_map.share_of_rows(tree))
    top = y - radius - np.where(tree.is_leaf, 1, [4 + LINE * len(lines) for lines in labels])
    width, height = (tree.n_clusters + 1) * pitch, y.max() + RADIUS + below + LINE
    parts = [_lines(tree, cut, x, y, radius, top) for cut in tree.cuts]
    for node, lines in enumerate(labels):
        parts.append(f"<g><title>{html.escape(_in_words(tree, node, names))}</title>")
        filled = ".55" if tree.is_leaf[node] else "0"
        parts.append(
            f'<circle cx="{x[node]:.1f}" cy="{y[node]:.1f}" r="{radius[node]:.2f}" fill="currentColor" '
            f'fill-opacity="{filled}" stroke="currentColor" stroke-width="1.2"/>'
        )
        if not tree.is_leaf[node]:
            parts.append(_text(lines, x[node], y[node] - radius[node] - 5 - LINE * (len(lines) - 1)))
        elif lies:
            parts.append(_text(lines, x[node], y[node] + radius[node] + LINE))
        else:
            parts.append(_standing_text(lines, x[node], y[node] + radius[node] + 5))
        parts.append("</g>")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Map of the tree: {size(tree)}" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="display:block;max-width:none" font-family="sans-serif" font-size="11">{"".join(parts)}</svg>'
    )


def _lines(tree: "HyperplaneTree", cut: int, x: Floats, y: Floats, radius: Floats, top: Floats) -> str:
    """Draw lines from the circle of a cut to the tops of its children; no line runs behind a circle or a label."""
    a, b = tree.left[cut], tree.right[cut]
    depth = _map.depth_of_valley(tree)[cut]
    dashes = "" if depth > 0 else ' stroke-dasharray="4 3"'
    return (
        f'<path d="M{x[cut] - radius[cut]:.1f} {y[cut]:.1f}H{x[a]:.1f}V{top[a]:.1f}'
        f'M{x[cut] + radius[cut]:.1f} {y[cut]:.1f}H{x[b]:.1f}V{top[b]:.1f}" fill="none" stroke="currentColor" '
        f'stroke-opacity=".45" stroke-width="{THIN + (THICK - THIN) * depth:.2f}"{dashes}/>'
    )


def _text(lines: list[str], x: float, y: float) -> str:
    return "".join(
        f'<text x="{x:.1f}" y="{y + LINE * i:.1f}" text-anchor="middle" fill="currentColor">{html.escape(line)}</text>'
        for i, line in enumerate(lines)
    )


def _standing_text(lines: list[str], x: float, y: float) -> str:
    return "".join(
        f'<text transform="translate({x - 2 + LINE * i:.1f} {y:.1f}) rotate(-90)" text-anchor="end" '
        f'fill="currentColor">{html.escape(line)}</text>'
        for i, line in enumerate(lines)
    )


def _in_words(tree: "HyperplaneTree", node: int, names: list[str]) -> str:
    if tree.is_leaf[node]:
        return ", ".join(_map.leaf_label(tree, node))
    shares = [f"{names[j]} ({share:.0%})" for j, share in largest(shares_of_cut(tree, node), 5)]
    depth = [f"relative depth {tree.relative_depth[node]:.3g}"] if tree.relative_depth[node] > 0 else []
    evidence = [f"p = {tree.p_value[node]:.2g}"] if tree.p_value[node] < 1 else []
    return ", ".join([f"node {node}: {_map.rows_in_words(tree.count[node])}", *shares, *depth, *evidence])


def _table(tree: "HyperplaneTree", names: list[str]) -> str:
    number, words = (f"padding:.1em .8em;text-align:{side}" for side in ("right", "left"))
    head = "".join(
        f'<th scope="col" style="{style}">{name}</th>'
        for name, style in (("cluster", number), ("rows", number), ("share", number), ("what sets it apart", words))
    )
    share = _map.share_of_rows(tree)
    rows = [
        f'<tr><td style="{number}">{tree.label[leaf]}</td>'
        f'<td style="{number}">{_map.rows_in_words(tree.count[leaf]).split()[0]}</td>'
        f'<td style="{number}">{share[leaf]:.1%}</td>'
        f'<td style="{words}">{html.escape(sets_apart(difference, names))}</td></tr>'
        for leaf, difference in zip(tree.leaves, _differences(tree), strict=True)
    ]
    return (
        '<table style="border-collapse:collapse;margin:0;font-size:inherit;font-variant-numeric:tabular-nums">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _differences(tree: "HyperplaneTree") -> Floats:
    """Return the difference of each cluster mean from the overall mean, in deviations between the means; 0 if equal."""
    leaves = tree.leaves
    apart = tree.mean[leaves] - tree.mean[0]
    weight = tree.count[leaves] / (tree.count[leaves].sum() or 1.0)
    deviation = np.sqrt(weight @ apart**2)
    rounding = 1e-12 * np.abs(tree.mean).max(axis=0)
    return np.where(deviation > rounding, apart / np.where(deviation > 0, deviation, 1.0), 0.0)
