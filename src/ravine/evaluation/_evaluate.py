"""Prequential evaluation: the rows of a stream are predicted before they are learned, and scored in segments.

Hofmeyr, Pavlidis and Eckley, §6, use segments of 100 rows, one every 200 rows. A segment is predicted by the model at
the first row of the segment, so the scores do not depend on the batches of the stream.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_array

from ravine._sklearn import HasMethods, Interval, is_fitted, num_samples, safe_indexing, validate_params
from ravine.evaluation._event_counts import column_of, count_events, events_since
from ravine.evaluation._row_by_row import RowByRow
from ravine.metrics import contingency_scores

SCORES = ("purity", "v_measure", "nmi", "ari", "homogeneity", "completeness")

Labels = NDArray[Any]
Batch = tuple[Any, Labels | None]


@dataclass(frozen=True)
class Evaluation:
    """Result of `evaluate`.

    The parameters are also available as attributes.

    Parameters
    ----------
    records : list of dict
        One record for each scored segment, all with the same keys, ready for ``pandas.DataFrame``. ``"row"`` is the
        number of the first row of the segment. The requested scores are present if the classes are known.
        ``"n_clusters"`` is NaN if the model does not have it. Columns such as ``"n_splits"``, ``"n_drifts"``
        and ``"n_moved"`` count the events of the model before the segment, by kind, if it reports events. ``"seconds"``
        is the learning time from this segment to the next, and ``"rows_per_second"`` is the learning speed.
    events : list of dict
        Events of the model in the order of time: ``"row"``, as the model counts its rows, and ``"kind"``, for
        instance ``"split"`` or ``"drift"``.

    See Also
    --------
    evaluate : Returns an `Evaluation`.
    ravine.plot.stream : Draws an `Evaluation`.

    Examples
    --------
    >>> from ravine import HSDC
    >>> from ravine.datasets import make_blobs
    >>> from ravine.evaluation import evaluate
    >>> X, y = make_blobs(1000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> found = evaluate(HSDC(), X, y, segment=50, every=250)
    >>> [(record["row"], record["n_clusters"]) for record in found.records]
    [(250, 3), (500, 3), (750, 3)]
    >>> [event["kind"] for event in found.events]
    ['split', 'split']
    """

    records: list[dict[str, Any]]
    events: list[dict[str, Any]]

    def mean(self) -> dict[str, float]:
        """Return the mean scores and number of clusters over the segments, and the overall speed.

        Returns
        -------
        means : dict
            Means by name; empty if no segment was scored.
        """
        if not self.records:
            return {}
        names = [name for name in self.records[0] if name in SCORES or name == "n_clusters"]
        means = {name: float(np.mean([record[name] for record in self.records])) for name in names}
        speed, seconds = zip(*((r["rows_per_second"], r["seconds"]) for r in self.records), strict=True)
        return {**means, "rows_per_second": float(np.average(speed, weights=seconds))}


LEARNERS = [HasMethods(["partial_fit", "predict"]), HasMethods(["learn_one", "predict_one"])]
"""Constraint of a model that can be evaluated: of scikit-learn, or of River."""

OPTIONS: dict[str, Any] = {
    "segment": [Interval(Integral, 1, None, closed="left")],
    "every": [Interval(Integral, 1, None, closed="left")],
    "metrics": ["array-like"],
}
"""Constraints of the parameters that `evaluate` and `compare` share."""


@validate_params({"model": LEARNERS, **OPTIONS}, prefer_skip_nested_validation=True)
def evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    segment: int = 100,
    every: int = 200,
    metrics: Sequence[str] = ("purity", "v_measure", "nmi"),
) -> Evaluation:
    """Let a model learn a stream, and score it on segments that it has not learned yet.

    Segments start at rows 0, `every`, 2 `every`, …. Each segment is predicted as a whole and then learned. The rows
    between two segments are only learned. The first segment is not scored, unless the model has learned before. The
    last segment is not scored if the stream ends within it. If `partial_fit` does not depend on the batches, as in the
    models of ravine, the scores do not depend on them either.

    Parameters
    ----------
    model : estimator with ``partial_fit`` and ``predict``, or clusterer of River
        Model that learns the stream. If it has learned before, it continues from there. A clusterer or a pipeline of
        River, with ``learn_one`` and ``predict_one``, gets each row as a dictionary; its first segment is never scored.
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
        Scores to compute; also available are "ari", "homogeneity" and "completeness". "nmi" uses the arithmetic mean,
        as in scikit-learn, and is therefore equal to the V-measure.

    Returns
    -------
    Evaluation
        Scores of the segments, and the events of the model.

    See Also
    --------
    compare : Scores several models on the same stream.
    ravine.plot.stream : Draws the result.
    ravine.datasets.make_overhaul_stream : A stream that changes.

    Examples
    --------
    >>> from ravine import IncrementalMDH
    >>> from ravine.datasets import make_blobs
    >>> from ravine.evaluation import evaluate
    >>> X, y = make_blobs(1000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> found = evaluate(IncrementalMDH(), X, y)
    >>> [record["row"] for record in found.records]
    [200, 400, 600, 800]
    >>> round(found.mean()["purity"], 2)
    1.0
    """
    check_options(segment, every, metrics)
    run = Run(model, segment, every, metrics)
    for start, piece in pieces(batches(X, y), segment, every):
        run.take(start, *piece)
    return run.result()


def check_options(segment: int, every: int, metrics: Sequence[str]) -> None:
    """Raise ValueError for options that scikit-learn's constraints accept and that make no sense."""
    if isinstance(segment, bool) or isinstance(every, bool):
        raise ValueError(f"segment={segment!r} and every={every!r} must be integers, not bools")
    if every < segment:
        raise ValueError(f"every={every} is less than segment={segment}, so segments would overlap: raise every")
    unknown = [name for name in metrics if name not in SCORES]
    if unknown:
        raise ValueError(f"metrics contains {unknown[0]!r}: choose from {', '.join(SCORES)}")


class Run:
    """The evaluation of one model, which takes the pieces of a stream one after the other."""

    def __init__(self, model: Any, segment: int, every: int, metrics: Sequence[str]) -> None:
        if isinstance(model, type):
            raise TypeError(f"model is the class {model.__name__}: pass an instance, {model.__name__}()")
        self.model = model if hasattr(model, "partial_fit") else RowByRow(model)
        self.name = type(model).__name__
        self.segment, self.every, self.metrics = segment, every, metrics
        self.past = count_events(self.model)
        self.learner = _Learner(self.model)
        self.records: list[dict[str, Any]] = []
        self.held: list[Batch] = []  # the rows of a segment that is not complete yet, and their labels
        self.labels: list[Labels] = []

    def take(self, start: int, rows: Any, classes: Labels | None) -> None:
        """Take rows that are all within a segment or all between two, given the number of the first one."""
        phase = start % self.every
        if phase >= self.segment:
            self.learner.learn([(rows, classes)])
            return
        self.held.append((rows, classes))
        if is_fitted(self.model):
            self.labels.append(_predicted(self.model, rows, self.name))
        elif self.learner.has_learned:
            raise ValueError(
                f"{self.name} has learned {start - phase} rows but does not look fitted, so no segment can "
                "be scored: give it an attribute that ends with an underscore, or __sklearn_is_fitted__"
            )
        if phase + num_samples(rows) == self.segment:
            if self.labels:
                found = np.concatenate(self.labels)
                self.records.append(_record(start - phase, self.model, self.held, found, self.metrics, self.past))
                self.learner.stretches.append(_Stretch())
            self.learner.learn(self.held)
            self.held, self.labels = [], []

    def result(self) -> Evaluation:
        """End the stream."""
        self.learner.learn(self.held)
        if not self.learner.has_learned:
            raise ValueError("the stream has no rows: X is empty, or a generator that was already consumed")
        for record, stretch in zip(self.records, self.learner.stretches[1:], strict=True):
            record |= {"seconds": stretch.seconds, "rows_per_second": stretch.n_rows / stretch.seconds}
        events = events_since(self.model, self.past)
        return Evaluation(self.records, [{"row": int(e["row"]), "kind": e["kind"]} for e in events])


@dataclass
class _Stretch:
    """Number of rows from one segment to the next, and the time to learn them."""

    n_rows: int = 0
    seconds: float = 0.0


class _Learner:
    """A model whose learning is timed in stretches; the first stretch ends at the start of the first scored segment."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.stretches = [_Stretch()]
        self.has_learned = False

    def learn(self, held: list[Batch]) -> None:
        for rows, _ in held:
            began = perf_counter()
            self.model.partial_fit(rows)
            self.stretches[-1].seconds += perf_counter() - began
            self.stretches[-1].n_rows += num_samples(rows)
            self.has_learned = True


def _predicted(model: Any, rows: Any, name: str) -> Labels:
    labels = np.asarray(model.predict(rows))
    if labels.shape != (num_samples(rows),):
        raise ValueError(
            f"{name}.predict returned an array of shape {labels.shape} for {num_samples(rows)} rows: "
            "it must return one cluster for each row"
        )
    return labels


def batches(X: Any, y: Any) -> Iterator[Batch]:
    """Yield the checked batches of the stream; a matrix is one batch."""
    if not hasattr(X, "shape") and y is not None:
        raise ValueError("y needs a matrix X: for a stream of batches, pass pairs of rows and their classes as X")
    if not hasattr(X, "shape") and not isinstance(X, Iterable):
        raise TypeError(f"X is a {type(X).__name__}: pass a matrix, or an iterable of pairs of rows and classes")
    labeled, width = None, None
    for number, (rows, classes) in enumerate([(X, y)] if hasattr(X, "shape") else _pairs(X)):
        if num_samples(rows) == 0:
            continue
        now = _width(rows, number)
        if width not in (None, now):
            raise ValueError(f"batch {number} (counted from 0) has {now} columns, but earlier batches have {width}")
        width = now
        if labeled not in (None, classes is not None):
            raise ValueError("some batches have classes and some have none: pass classes for all batches or for none")
        labeled = classes is not None
        yield rows, _check_classes(classes, num_samples(rows)) if labeled else None


def _pairs(stream: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    for pair in stream:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                "a batch of the stream is not a tuple of rows and classes (or None): pass in-memory data as an array"
            )
        yield pair


def _width(rows: Any, number: int) -> int:
    """Return the number of columns of a batch."""
    try:
        shape = rows.shape if hasattr(rows, "shape") else np.shape(rows)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"the rows of batch {number} (counted from 0) have different lengths") from error
    if len(shape) != 2:
        raise ValueError(
            f"batch {number} (counted from 0) has shape {tuple(shape)}: pass a two-dimensional array of rows"
        )
    return int(shape[1])


def _check_classes(classes: Any, n_rows: int) -> Labels:
    as_given = np.asarray(classes)
    finite = as_given.dtype != object  # missing values among objects have their own message below
    checked: Labels = check_array(as_given, dtype=None, ensure_2d=False, input_name="y", ensure_all_finite=finite)
    if checked.shape != (n_rows,):
        raise ValueError(f"y has shape {checked.shape} for {n_rows} rows: pass one class for each row, in row order")
    if checked.dtype == object:
        missing = next((i for i, name in enumerate(checked) if _is_missing(name)), None)
        if missing is not None:
            raise ValueError(
                f"y contains {checked[missing]} at row {missing} of its batch: drop rows without a class, or give them "
                "a class of their own"
            )
        try:
            np.unique(checked)
        except TypeError as error:
            raise ValueError("y has classes of types that cannot be sorted together: pass strings") from error
    return checked


def _is_missing(name: Any) -> bool:
    """Return whether a class is None, NaN or NA."""
    try:
        return name is None or bool(name != name)  # only NaN differs from itself
    except TypeError:  # the comparison of NA with NA has no truth value
        return True


def pieces(stream: Iterable[Batch], segment: int, every: int) -> Iterator[tuple[int, Batch]]:
    """Cut the batches where segments start and end; yield each piece with the number of its first row."""
    start = 0
    for rows, classes in stream:
        done, n_rows = 0, num_samples(rows)
        while done < n_rows:
            phase = start % every
            length = min((segment if phase < segment else every) - phase, n_rows - done)
            part = slice(done, done + length)
            yield start, (safe_indexing(rows, part), None if classes is None else classes[part])
            start, done = start + length, done + length


def _record(
    row: int, model: Any, held: list[Batch], labels: Labels, metrics: Sequence[str], past: dict[str, int]
) -> dict[str, Any]:
    known = [classes for _, classes in held if classes is not None]
    scores = contingency_scores(contingency_matrix(labels, np.concatenate(known))) if known else {}
    so_far = count_events(model)
    return {
        "row": row,
        **{name: scores["nmi" if name == "v_measure" else name] for name in metrics if known},
        "n_clusters": getattr(model, "n_clusters_", np.nan),
        **{column_of(kind): number - past.get(kind, 0) for kind, number in so_far.items()},
    }
