"""Prequential evaluation of several models on the same stream, which is read once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ravine._sklearn import validate_params
from ravine.evaluation._evaluate import LEARNERS, OPTIONS, Evaluation, Run, batches, check_options, pieces


@dataclass(frozen=True)
class Comparison:
    """Result of `compare`.

    The parameter is also available as an attribute.

    Parameters
    ----------
    evaluations : dict of str to Evaluation
        Evaluation of each model, by its name.

    See Also
    --------
    compare : Returns a `Comparison`.
    ravine.plot.stream : Draws a `Comparison`.

    Examples
    --------
    >>> from ravine import HSDC, StreamClusterer
    >>> from ravine.datasets import make_blobs
    >>> from ravine.evaluation import compare
    >>> X, y = make_blobs(1000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> found = compare({"StreamClusterer": StreamClusterer(), "HSDC": HSDC()}, X, y)
    >>> found.evaluations["HSDC"].records[0]["n_clusters"]
    3
    >>> [(record["model"], record["row"]) for record in found.records][::3]
    [('StreamClusterer', 200), ('StreamClusterer', 800), ('HSDC', 600)]
    """

    evaluations: dict[str, Evaluation]

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records of all models, one model after the other, with the name of the model as ``"model"``."""
        return [{"model": name, **record} for name, found in self.evaluations.items() for record in found.records]

    def mean(self) -> dict[str, dict[str, float]]:
        """Return the means of each model, as `Evaluation.mean` does; ``pandas.DataFrame(means).T`` is a table of them.

        Returns
        -------
        means : dict
            Means by name, for the name of each model.
        """
        return {name: found.mean() for name, found in self.evaluations.items()}


@validate_params({"models": [Mapping], **OPTIONS}, prefer_skip_nested_validation=True)
def compare(
    models: Mapping[str, Any],
    X: Any,
    y: Any = None,
    *,
    segment: int = 100,
    every: int = 200,
    metrics: Sequence[str] = ("purity", "v_measure", "nmi"),
) -> Comparison:
    """Let several models learn the same stream, and score them on the same segments, as `evaluate` does.

    The stream is read once. The models take turns, so their learning times are comparable on a busy machine too.

    Parameters
    ----------
    models : dict of str to model
        Models by the names under which they are shown: estimators with ``partial_fit`` and ``predict``, of ravine or
        of scikit-learn, and clusterers or pipelines of River.
    X : array-like or sparse matrix of shape (n_samples, n_features), or iterable of pairs
        Rows in the order of time. For a stream that does not fit in memory, an iterable of batches of any size; each
        batch is a tuple of rows and their classes, or of rows and None.
    y : array-like of shape (n_samples,), optional
        Class of each row, if `X` is a matrix. Without classes there are no scores.
    segment : int, default=100
        Number of rows in a segment.
    every : int, default=200
        Number of rows from the start of a segment to the start of the next.
    metrics : sequence of str, default=("purity", "v_measure", "nmi")
        Scores to compute, see `evaluate`.

    Returns
    -------
    Comparison
        Evaluation of each model.

    See Also
    --------
    evaluate : Scores one model.
    ravine.plot.stream : Draws the result.

    Examples
    --------
    `MiniBatchKMeans` gets the number of clusters. The other model finds it.

    >>> from ravine import StreamClusterer
    >>> from ravine.datasets import make_blobs
    >>> from ravine.evaluation import compare
    >>> from sklearn.cluster import MiniBatchKMeans
    >>> X, y = make_blobs(2000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> models = {"StreamClusterer": StreamClusterer(), "k-means": MiniBatchKMeans(3, random_state=0)}
    >>> found = compare(models, X, y, metrics=["ari"])
    >>> for name, means in found.mean().items():
    ...     print(name, round(means["ari"], 2))
    StreamClusterer 1.0
    k-means 1.0
    """
    check_options(segment, every, metrics)
    _check_models(models)
    runs = {name: Run(model, segment, every, metrics) for name, model in models.items()}
    for start, piece in pieces(batches(X, y), segment, every):
        for name, run in runs.items():
            try:
                run.take(start, *piece)
            except Exception as error:
                error.add_note(f"raised by the model {name!r}")
                raise
    return Comparison({name: run.result() for name, run in runs.items()})


def _check_models(models: Mapping[str, Any]) -> None:
    if not models:
        raise ValueError("there are no models to compare: pass a dict of models by name")
    first_names: dict[int, str] = {}
    for name, model in models.items():
        if not isinstance(name, str):
            raise TypeError(f"the name {name!r} of a model is a {type(name).__name__}: pass a string")
        if not any(constraint.is_satisfied_by(model) for constraint in LEARNERS):
            raise TypeError(
                f"the model {name!r} is a {type(model).__name__} without partial_fit and predict: pass a model that "
                "learns from a stream, or a clusterer of River"
            )
        if id(model) in first_names:
            raise ValueError(
                f"{first_names[id(model)]!r} and {name!r} are the same object, which would learn every row twice: "
                "pass a clone"
            )
        first_names[id(model)] = name
