"""The report of a fitted model as a page or as a file."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ravine._files import written_whole
from ravine.report._data import gathered
from ravine.report._page import render
from ravine.report._summary import summarize

if TYPE_CHECKING:
    from ravine.evaluation import Stability


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
    stability: "Stability | None" = None,
) -> Path:
    """Write the report of a fitted model to a file.

    Parameters
    ----------
    model : fitted estimator, Pipeline or HyperplaneTree
        Any fitted model of ravine, a pipeline that ends with one, or a tree. For a model without a tree, the report
        shows its clusters or classes. The report of a pipeline is in the columns of `X` if its steps scale columns,
        choose them, fill gaps, or project rows (PCA, truncated SVD). Otherwise it is in the columns that the model
        sees. Its clusters are always those that the pipeline predicts.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or ReportData
        Rows to show: the rows of `fit`, or other rows with the same columns. For data that do not fit in memory, pass
        the batches to a `ReportAccumulator`, and pass the result of its ``rows()`` here.
    path : path-like
        Path of the file. An existing file is replaced.
    labels : sequence of length n_samples, optional
        Known classes of the rows. The report compares the clusters with them.
    feature_names : sequence of str, optional
        Names of the columns. Default: the names that the estimator saw in `fit`, or x0, x1 and so on.
    title : str, optional
        Title of the page.
    preparation : str, optional
        How the rows were prepared before the fit. The report shows this text next to the method. Default: the steps of
        a pipeline.
    command : str, optional
        Command that makes the report again. Default: the report shows lines of Python.
    stability : Stability, optional
        Result of `ravine.evaluation.stability` for the fitted model. The report shows how many clusters the refits
        found, and how well each cluster was found again.

    Returns
    -------
    path : Path
        Path of the file.

    See Also
    --------
    html : Return the same page as a string.
    ravine.evaluation.stability : Whether the clusters are found again in other samples of the rows.
    write_comparison : Compare several clusterings on one page.

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
        stability=stability,
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
    stability: "Stability | None" = None,
) -> str:
    """Return the report of a fitted model as an HTML page.

    Parameters
    ----------
    model : fitted estimator, Pipeline or HyperplaneTree
        Any fitted model of ravine, a pipeline that ends with one, or a tree, as in `write`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or ReportData
        Rows to show, as in `write`.
    labels : sequence of length n_samples, optional
        Known classes of the rows. The report compares the clusters with them.
    feature_names : sequence of str, optional
        Names of the columns. Default: the names that the estimator saw in `fit`, or x0, x1 and so on.
    title : str, optional
        Title of the page.
    preparation : str, optional
        How the rows were prepared before the fit. The report shows this text next to the method. Default: the steps of
        a pipeline.
    command : str, optional
        Command that makes the report again. Default: the report shows lines of Python.
    stability : Stability, optional
        Result of `ravine.evaluation.stability` for the fitted model. The report shows how many clusters the refits
        found, and how well each cluster was found again.

    Returns
    -------
    page : str
        A complete page that needs no network connection.

    See Also
    --------
    write : Write the report to a file.

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
    summary = summarize(
        model,
        rows,
        feature_names=feature_names,
        title=title,
        preparation=preparation,
        command=command,
        stability=stability,
    )
    return render(summary)
