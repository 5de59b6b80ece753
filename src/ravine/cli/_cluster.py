"""`ravine cluster`: fit a model in memory, in batches or in passes over the files, and label the rows."""

import time
import warnings
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.pipeline import Pipeline

from ravine._io import Columns, UsageError
from ravine._io._table import listed
from ravine._matrix import Floats, column_moments
from ravine._outofcore import LocalChunks, chunked_root
from ravine.cli._config import write_config as save_config
from ravine.cli._data import Data, TableOptions, TooLargeError, open_data, stacked
from ravine.cli._labels import kind_of_labels, label_rows
from ravine.cli._places import check_files
from ravine.cli._results import show_clusters
from ravine.cli._screen import Meter, Screen
from ravine.cluster import MDH, PDDP, IncrementalMDH, NCutH, SpectralPursuit, SumOfNorms, SupportVectorClustering
from ravine.evaluation import Stability, stability
from ravine.persist import save
from ravine.report import write
from ravine.report._trust import is_confirmed

METHODS: dict[str, Any] = {
    "imdh": IncrementalMDH,
    "ncuth": NCutH,
    "mdh": MDH,
    "pddp": PDDP,
    "spectral": SpectralPursuit,
    "norms": SumOfNorms,
    "svc": SupportVectorClustering,
}

NOTHING_CONFIRMED = 3
"""Exit code of --confirmed-only if no cluster is confirmed."""

SCALED = "The columns were scaled to unit variance."
GAPS = {
    "mean": "Missing values, if any, were replaced by the means of their columns.",
    "drop": "Rows with missing values, if any, were left out.",
}

READ_AGAIN = 200_000
"""Up to this many rows, the table is read once more to describe the clusters in its columns, even without a report."""

AT_ONCE = 1 << 23
"""Up to this many numbers, the rows are loaded into memory even if the method could read them in batches."""


def cluster(
    where: Sequence[str],
    options: TableOptions,
    *,
    method: str,
    n_clusters: int | None,
    scale: bool,
    seed: int,
    in_passes: bool,
    confirmed_only: bool = False,
    n_resamples: int = 0,
    out: str | None,
    model_path: Path | None,
    report_path: Path | None,
    config: Path | None = None,
    write_config: Path | None = None,
    n_jobs: int,
    command: str,
    screen: Screen,
) -> int:
    """Fit a model, label the rows, and write the requested files; return the exit code."""
    start = time.perf_counter()
    kind_of_labels(out)
    outputs = {"out": out, "model": model_path, "report": report_path, "write_config": write_config}
    check_files("cluster", data=where, config=config, **outputs)
    with open_data(where, options, screen) as data:
        model = make_model(method, n_clusters, scale and options.plain, seed, n_jobs, confirmed_only)
        with screen.warnings_in_a_line():
            learn(model, data, scale and options.plain, in_passes)
        rows = label_rows(getattr(model, "tree_", model), data, out)
        stable = check_stability(model, data, n_resamples, scale and options.plain) if n_resamples else None
        if data.encoder is not None and (report_path is not None or rows.n_rows <= READ_AGAIN):
            rows = data.with_table(rows)
    preparation = prepared(data, scale and options.plain and method != "imdh")
    if model_path is not None:
        _save(model, model_path, data, preparation)
    if report_path is not None:
        told: dict[str, Any] = {"title": data.name, "preparation": preparation, "command": command, "stability": stable}
        write(model, rows, report_path, feature_names=data.columns.names, **told)
    if write_config is not None:
        given: dict[str, Any] = {"method": method, "clusters": n_clusters, "confirmed-only": confirmed_only or None}
        given |= {"stability": n_resamples or None, "in-passes": in_passes or None, "seed": seed or None}
        save_config(write_config, where, data, options, given | ({"scale": scale} if options.plain else {}))
    files = {"labels": out, "model": model_path, "report": report_path, "options": write_config}
    show_clusters(model, rows, method, time.perf_counter() - start, files, data, stable)
    return NOTHING_CONFIRMED if confirmed_only and not is_confirmed(model) else 0


def check_stability(model: Any, data: Data, n_resamples: int, scale: bool) -> Stability:
    """Fit the model again to samples of the rows, prepared as in the fit, and compare with its clusters."""
    X = data.matrix("reading")[0]
    is_scaled = scale and not isinstance(model, IncrementalMDH)  # which scales by itself
    refitted = ScaledRefit(model).take(model) if is_scaled else model
    with data.screen.progress("fitting again", n_resamples, "samples") as meter, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the fit were shown

        def on_resample(n_done: int) -> None:
            meter.step(1)
            meter.count(1)

        return stability(refitted, X, n_resamples=n_resamples, on_resample=on_resample)


class ScaledRefit(ClusterMixin, BaseEstimator):
    """A model that scales its rows to unit variance, and whose tree is in the original units.

    Parameters
    ----------
    model : estimator
        Model that `fit` copies.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def take(self, fitted: Any) -> "ScaledRefit":
        """Take over a model that is fitted already."""
        self.fitted_ = fitted
        return self

    def fit(self, X: Floats, y: None = None) -> "ScaledRefit":
        """Fit a copy of the model to scaled rows."""
        fitted, scaled = clone(self.model), X.copy()
        center, deviation = scale_in_place(scaled, fitted.n_jobs)
        fitted.fit(scaled)._unscale(center, deviation)
        return self.take(fitted)

    def predict(self, X: Floats) -> Any:
        """Return the clusters of rows in original units."""
        return self.fitted_.predict(X)


def _save(model: Any, path: Path, data: Data, preparation: str | None) -> None:
    """Save the model, with the encoder of its table if there is one."""
    resume = isinstance(model, SumOfNorms)  # it needs its rows to predict
    if isinstance(data.columns, Columns):
        save(model, path, resume=resume, notes={"columns": data.columns.to_dict(), "preparation": preparation})
    else:
        steps = [("table", data.encoder), ("clusters", model)]
        save(Pipeline(steps), path, resume=resume, notes={"preparation": preparation})


def prepared(data: Data, scaled: bool) -> str | None:
    """Describe for the report how the table was prepared before the fit."""
    if data.encoder is not None:
        return None  # the report has a section about the columns
    kept = {*data.columns.used, data.label}
    left_out = [name for name in data.tables[0].schema.names if name not in kept]
    said = [SCALED] if scaled else []
    said += [GAPS[data.columns.missing]] if data.columns.missing in GAPS else []
    said += [f"Columns left out: {listed(left_out)}."] if left_out else []
    return " ".join(said) or None


def make_model(
    method: str, n_clusters: int | None, scale: bool, seed: int, n_jobs: int, confirmed_only: bool = False
) -> Any:
    """Create an estimator from its short name."""
    estimator = METHODS[method]
    known = estimator._get_param_names()
    options: dict[str, Any] = {"random_state": seed, "n_jobs": n_jobs}
    if method == "imdh":
        options["standardize"] = scale
    if confirmed_only:
        if "selection" not in known:
            takers = [name for name, other in METHODS.items() if "selection" in other._get_param_names()]
            raise UsageError(f"--confirmed-only does not go with --method {method}: choose from {', '.join(takers)}")
        if n_clusters is not None:
            raise UsageError("--confirmed-only chooses the number of clusters: leave out --clusters")
        options["selection"] = "evidence"
    if n_clusters is not None and "n_clusters" not in known:
        raise UsageError(f"--method {method} chooses the number of clusters itself: leave out --clusters")
    if n_clusters is not None:
        options["n_clusters"] = n_clusters
    return estimator(**{name: value for name, value in options.items() if name in known})


def learn(model: Any, data: Data, scale: bool, in_passes: bool = False) -> None:
    """Fit the model: in memory, in batches if the method supports them, or in passes if memory is too small."""
    if isinstance(model, IncrementalMDH):
        _learn_in_batches(model, data)
    elif not hasattr(model, "_unscale"):
        if scale:
            raise UsageError(f"{type(model).__name__} cannot return to the units of the table: add --no-scale")
        fit(model, data.matrix("reading")[0], data.screen)
    else:
        try:
            X = None if in_passes else data.matrix("reading")[0]
        except TooLargeError:
            X = None
        if X is None:
            _fit_in_passes(model, data, scale)
        else:
            fit_scaled(model, X, scale, data.screen)
    if data.encoder is None:  # encoded rows come without names, also in `predict`
        model._set_feature_names(data.columns.names)


def _fit_in_passes(model: Any, data: Data, scale: bool) -> None:
    """Fit out of core: the files are read again in every pass."""
    n_columns, center, deviation = len(data.columns.names), None, None
    if scale:
        with data.screen.progress("measuring the columns", None):
            root = chunked_root(LocalChunks(lambda: ((X, None) for X in data.arrays()), n_columns, n_jobs=model.n_jobs))
        center, deviation = root.moments.mean, _or_one(np.sqrt(root.squares / root.moments.count))

    def read() -> Iterator[tuple[Floats, None]]:
        for X in data.arrays():
            if center is not None and deviation is not None:
                _scale(X, center, deviation)
            yield X, None

    fit(model, LocalChunks(read, n_columns, n_jobs=model.n_jobs), data.screen)
    if center is not None and deviation is not None:
        model._unscale(center, deviation)


def _learn_in_batches(model: IncrementalMDH, data: Data) -> None:
    blocks, held, n_held = data.blocks("learning"), [], 0
    for block in blocks:
        held.append(block.X)
        n_held += block.X.size
        if n_held > AT_ONCE:
            break
    if n_held <= AT_ONCE:
        fit(model, stacked(held), data.screen)
        return
    for X in chain(held, (block.X for block in blocks)):
        if len(X):
            model.partial_fit(X)
    held.clear()
    with data.screen.progress("growing the tree", None, "cuts"):
        model.tree_  # noqa: B018 — the tree is grown on access


def fit_scaled(model: Any, X: Floats, scale: bool, screen: Screen) -> None:
    """Fit on the rows, which may be scaled in place. The tree is in the original units."""
    center, deviation = scale_in_place(X, model.n_jobs) if scale else (None, None)
    fit(model, X, screen)
    if center is not None and deviation is not None:
        model._unscale(center, deviation)


def scale_in_place(X: Floats, n_jobs: int) -> tuple[Floats, Floats]:
    """Scale every column to mean 0 and variance 1; return the means and the standard deviations."""
    count, center, square = column_moments(X, np.ones(len(X)), n_jobs)
    deviation = _or_one(np.sqrt(square / count))
    _scale(X, center, deviation)
    return center, deviation


def _scale(X: Floats, center: Floats, deviation: Floats) -> None:
    X -= center.astype(X.dtype)
    X /= deviation.astype(X.dtype)


def _or_one(deviation: Floats) -> Floats:
    return np.where(deviation > 0, deviation, 1.0)


def fit(model: Any, X: Any, screen: Screen) -> None:
    """Fit with a progress bar."""
    asked = getattr(model, "n_clusters", None)
    n_cuts = None if asked is None else asked - 1
    if not hasattr(model, "set_callbacks"):
        with screen.progress("fitting", None):
            model.fit(X)
        return
    with screen.progress("fitting", n_cuts, "cuts") as meter:
        model.set_callbacks(_CutCounter(meter)).fit(X)
    model.set_callbacks()


class _CutCounter:
    """A scikit-learn callback that reports every cut to a meter."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def setup(self, estimator: Any, context: Any) -> None:
        """No preparation is needed."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """No clean-up is needed."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """The search for a cut begins."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """A cut was made, or the fit has ended."""
        if context.task_name == "cut":
            self._meter.step(1)
            self._meter.count(1)
