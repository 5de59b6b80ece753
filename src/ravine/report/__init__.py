"""A fitted model explained to a person, in one HTML file that works without a network.

The counts in it are of all rows given; what is drawn comes from a random sample of them. The same model and rows give
the same file, to the last byte.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ravine._files import written_whole
from ravine.report._compare import Compared, write_comparison
from ravine.report._data import ReportAccumulator, ReportData, gathered
from ravine.report._page import render
from ravine.report._summary import describe_clusters, summarize

__all__ = ["Compared", "ReportAccumulator", "ReportData", "describe_clusters", "html", "write", "write_comparison"]


def write(
    model: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    labels: Any = None,
    feature_names: Sequence[str] | None = None,
    title: str | None = None,
    preparation: str | None = None,
    command: str | None = None,
) -> Path:
    """Write the report of a fitted model to a file.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
        Any fitted model of ravine, or a tree. A model without a tree has a page of its clusters or classes.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or Rows
        Rows to show; those of `fit`, or any others with the same columns. Rows that do not fit in memory are given to a
        `ReportAccumulator` batch by batch, and what it has gathered is given here.
    path : path-like
        An existing file is replaced.
    labels : sequence of length n_rows, optional
        Known classes of the rows, to which the clusters are compared.
    feature_names : sequence of str, optional
        Names of the columns. Default: those that the estimator saw in `fit`, or x0, x1 and so on.
    title : str, optional
        Title of the page.
    preparation : str, optional
        What was done to the rows before the fit, to be said beside the method.
    command : str, optional
        What makes the report again, in place of lines of Python.

    Returns
    -------
    path : Path
        Of the file.

    See Also
    --------
    html : The same page as text.
    write_comparison : Several clusterings on one page.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from ravine import NCutH, report
    >>> iris = load_iris()
    >>> model = NCutH(n_clusters=3).fit(iris.data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.write(model, iris.data, folder + "/iris.html", labels=iris.target_names[iris.target]).name
    'iris.html'
    """
    page = html(
        model,
        X,
        labels=labels,
        feature_names=feature_names,
        title=title,
        preparation=preparation,
        command=command,
    )
    with written_whole(path) as place:
        place.write_bytes(page.encode("utf-8"))
    return Path(path)


def html(
    model: Any,
    X: Any,
    *,
    labels: Any = None,
    feature_names: Sequence[str] | None = None,
    title: str | None = None,
    preparation: str | None = None,
    command: str | None = None,
) -> str:
    """The report of a fitted model as the text of an HTML page.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
        Any fitted model of ravine, or a tree. A model without a tree has a page of its clusters or classes.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or Rows
        Rows to show, as for `write`.
    labels : sequence of length n_rows, optional
        Known classes of the rows, to which the clusters are compared.
    feature_names : sequence of str, optional
        Names of the columns. Default: those that the estimator saw in `fit`, or x0, x1 and so on.
    title : str, optional
        Title of the page.
    preparation : str, optional
        What was done to the rows before the fit, to be said beside the method.
    command : str, optional
        What makes the report again, in place of lines of Python.

    Returns
    -------
    page : str
        A whole page, which needs no network.

    See Also
    --------
    write : Writes it to a file.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ravine import NCutH, report
    >>> X = load_iris().data
    >>> page = report.html(NCutH(n_clusters=3).fit(X), X, title="Iris")
    >>> page[:15], "<title>Iris</title>" in page
    ('<!doctype html>', True)
    """
    rows = gathered(model, X, labels)
    summary = summarize(model, rows, feature_names=feature_names, title=title, preparation=preparation, command=command)
    return render(summary)
