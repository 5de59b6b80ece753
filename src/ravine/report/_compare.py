"""Compare several clusterings of the same rows on one page: clusters, scores, time, agreement and trees."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.metrics import adjusted_rand_score

from ravine._files import written_whole
from ravine._matrix import Ints
from ravine._names import shown
from ravine.report._page import filled, markup
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
    page = filled(
        "compare.html",
        title=shown(title),
        n_rows=f"{len(found[0].labels):,}",
        meanings={name: MEANINGS[name] for name in found[0].scores},
        found=[_described(one, found, feature_names) for one in found],
    )
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


def _described(one: Compared, found: Sequence[Compared], feature_names: Sequence[str] | None) -> dict[str, Any]:
    """Return the texts of a clustering on the page: its scores, its agreement with each of the others, and its tree."""
    noise = f" and {one.noise:.0%} noise" if one.noise else ""
    return {
        "name": shown(one.method),
        "n_clusters": f"{one.n_clusters}{noise}",
        "scores": [_score(one.scores[name], [other.scores[name] for other in found]) for name in found[0].scores],
        "seconds": f"{one.seconds:.2f}",
        "agreement": [f"{adjusted_rand_score(one.labels, other.labels):.2f}" for other in found],
        "tree": None if one.tree is None else markup(one.tree.to_html(feature_names)),
    }


def _score(score: float | None, scores: Sequence[float | None]) -> tuple[str, bool]:
    """Return a score as text, and whether it is the best one."""
    if score is None:
        return "–", False
    return f"{score:.3f}", score == max(other for other in scores if other is not None)
