"""Compare several clusterings of the same rows on one page: clusters, scores, time, agreement and trees."""

import html
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sklearn.metrics import adjusted_rand_score

from ravine._files import written_whole
from ravine._matrix import Ints
from ravine._names import shown
from ravine.report._page import ASSETS, read_text
from ravine.tree import HyperplaneTree

MEANINGS = {
    "silhouette": "how much closer rows are to their own cluster than to the next one, on a sample; from −1 to 1",
    "nmi": "normalized mutual information with the labels, equal to the V-measure; from 0 to 1",
    "ari": "adjusted Rand index: pairs of rows on which clusters and labels agree, corrected for chance; at most 1",
    "purity": "share of rows that belong to the most common class of their cluster; at most 1",
    "homogeneity": "whether each cluster contains only one class; from 0 to 1",
    "completeness": "whether all rows of a class are in one cluster; from 0 to 1",
}


@dataclass(frozen=True, eq=False)
class Compared:
    """The clustering that one method found.

    The parameters are also attributes.

    Parameters
    ----------
    method : str
        Name of the method on the page.
    labels : ndarray of shape (n_samples,)
        Cluster of each row; -1 for rows that the method marks as noise.
    tree : HyperplaneTree or None
        Tree to draw, if the method has one.
    seconds : float
        Duration of the fit.
    scores : mapping from str to float or None
        Any of "silhouette", "nmi", "ari", "purity", "homogeneity" and "completeness".

    Attributes
    ----------
    n_clusters : int
        Number of clusters, without noise.
    noise : float
        Share of the rows that belong to no cluster.

    See Also
    --------
    write_comparison : Write several clusterings to a page.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.report import Compared
    >>> one = Compared("a method", np.array([0, 0, 1, -1]), tree=None, seconds=0.1, scores={})
    >>> one.n_clusters, one.noise
    (2, 0.25)
    """

    method: str
    labels: Ints
    tree: HyperplaneTree | None
    seconds: float
    scores: Mapping[str, float | None]

    @property
    def n_clusters(self) -> int:
        """Number of clusters, without noise."""
        return int(self.labels.max()) + 1

    @property
    def noise(self) -> float:
        """Share of the rows that belong to no cluster."""
        return float((self.labels < 0).mean())


def write_comparison(
    found: Sequence[Compared],
    path: str | os.PathLike[str],
    *,
    title: str,
    feature_names: Sequence[str] | None = None,
) -> Path:
    """Write a page that compares several clusterings of the same rows by the same scores.

    Parameters
    ----------
    found : sequence of Compared
        The clustering of each method.
    path : path-like
        Path of the file. An existing file is replaced.
    title : str
        Title of the page.
    feature_names : sequence of str, optional
        Names of the columns. Default: x0, x1 and so on.

    Returns
    -------
    path : Path
        Path of the file.

    Examples
    --------
    >>> import tempfile
    >>> from time import perf_counter
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from ravine import MDH, NCutH, report
    >>> X, y = load_iris(return_X_y=True)
    >>> found = []
    >>> for method in (NCutH(n_clusters=3), MDH(n_clusters=3)):
    ...     start = perf_counter()
    ...     labels = method.fit_predict(X)
    ...     scores = {"ari": adjusted_rand_score(y, labels)}
    ...     found.append(report.Compared(repr(method), labels, method.tree_, perf_counter() - start, scores))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.write_comparison(found, folder + "/compared.html", title="Iris").name
    'compared.html'
    """
    _check(found)
    parts = {
        "title": html.escape(shown(title)),
        "style": read_text(ASSETS, "page.css"),
        "rows": f"{len(found[0].labels):,}",
        "scores": _scores(found),
        "meanings": "".join(f"<dt>{name}</dt><dd>{MEANINGS[name]}</dd>" for name in found[0].scores),
        "agreement": _agreement(found),
        "trees": "".join(_tree(one, feature_names) for one in found if one.tree is not None),
    }
    page = re.sub(r"\{\{ (\w+) \}\}", lambda place: parts[place[1]], read_text(ASSETS, "compare.html"))
    with written_whole(path) as place:
        place.write_bytes(page.encode("utf-8"))
    return Path(path)


def _check(found: Sequence[Compared]) -> None:
    if not found:
        raise ValueError("found is empty: pass at least one clustering")
    n_rows, scores = len(found[0].labels), list(found[0].scores)
    unknown = [name for name in scores if name not in MEANINGS]
    if unknown:
        raise ValueError(f"scores has the unknown entry {unknown[0]!r}: the known scores are {', '.join(MEANINGS)}")
    for one in found:
        if len(one.labels) != n_rows or not n_rows:
            raise ValueError(
                f"{one.method!r} has {len(one.labels)} labels and {found[0].method!r} has {n_rows}: pass "
                "clusterings of the same rows, with at least one row"
            )
        if set(one.scores) != set(scores):
            raise ValueError(
                f"{one.method!r} and {found[0].method!r} have different scores: give all methods the same scores, "
                "with None where a value is not known"
            )


def _scores(found: Sequence[Compared]) -> str:
    names = list(found[0].scores)
    best = {name: max((one.scores[name] or 0.0 for one in found), default=0.0) for name in names}
    head = "".join(f'<th scope="col" class="number">{name}</th>' for name in ("clusters", *names, "seconds"))
    body = []
    for one in found:
        noise = f" and {one.noise:.0%} noise" if one.noise else ""
        cells = [f"{one.n_clusters}{noise}"]
        for name in names:
            score = one.scores[name]
            text = "–" if score is None else f"{score:.3f}"
            cells.append(f"<b>{text}</b>" if score is not None and score == best[name] else text)
        cells.append(f"{one.seconds:.2f}")
        row = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        body.append(f'<tr><th scope="row">{html.escape(shown(one.method))}</th>{row}</tr>')
    return _table("method", head, body)


def _agreement(found: Sequence[Compared]) -> str:
    """Table of the adjusted Rand index of each pair of clusterings."""
    head = "".join(f'<th scope="col" class="number">{html.escape(shown(one.method))}</th>' for one in found)
    body = []
    for one in found:
        cells = "".join(
            f'<td class="number">{adjusted_rand_score(one.labels, other.labels):.2f}</td>' for other in found
        )
        body.append(f'<tr><th scope="row">{html.escape(shown(one.method))}</th>{cells}</tr>')
    return _table("", head, body)


def _table(corner: str, head: str, body: list[str]) -> str:
    first = f'<th scope="col">{corner}</th>' if corner else "<td></td>"
    return f"<table><thead><tr>{first}{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _tree(one: Compared, feature_names: Sequence[str] | None) -> str:
    assert one.tree is not None
    name = html.escape(shown(one.method))
    drawn = one.tree.to_html(feature_names)
    return f'<h3>{name}</h3><div class="scroll" role="region" tabindex="0" aria-label="Tree of {name}">{drawn}</div>'
