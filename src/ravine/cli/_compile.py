"""`ravine compile`: compile all kernels once, so that no later process has to; for images and installers.

Kernels are compiled for the types of their arguments, so the command fits every estimator to a small table, in float64
and float32 and as a sparse matrix.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from ravine import _kernels
from ravine._io import UsageError
from ravine._kernels._watch import on_compilation
from ravine.cli._screen import Screen
from ravine.cluster import (
    HSDC,
    MDH,
    PDDP,
    SPDC,
    IncrementalMDH,
    NCutH,
    SpectralPursuit,
    StreamClusterer,
    SumOfNorms,
    SupportVectorClustering,
)
from ravine.semi_supervised import MDHClassifier, SpectralPursuitClassifier

MODELS: Sequence[Callable[[], Any]] = (
    PDDP,
    lambda: PDDP(3, criterion="mean"),
    MDH,
    lambda: MDH(3),
    lambda: MDH(3, margin=True),
    NCutH,
    lambda: NCutH(3),
    IncrementalMDH,
    lambda: IncrementalMDH(3),
    lambda: SpectralPursuit(n_microclusters=50),
    lambda: SpectralPursuit(3, n_microclusters=50),
    lambda: SumOfNorms(n_lambdas=5),
    lambda: SumOfNorms(3, n_lambdas=5),
    SupportVectorClustering,
    lambda: SupportVectorClustering(3),
    HSDC,
    SPDC,
    StreamClusterer,
    MDHClassifier,
    SpectralPursuitClassifier,
)
"""What is fitted: each estimator as it is and with a number of clusters, and where a method has kernels of its own."""

N_ROWS, N_COLUMNS, N_GROUPS = 1000, 10, 4
"""Size of the table, and number of groups in it: enough for every step of a usual fit."""

SLOW = (SumOfNorms, SupportVectorClustering)
N_ROWS_SLOW = 200
"""Number of rows for these methods, whose fit takes longer than their compilation."""


def compile_all(screen: Screen) -> None:
    """Fit every estimator, and say how many kernels were compiled and where they are."""
    folders = cache_folders()
    if not folders:
        raise UsageError(
            "no folder for compiled kernels is writable, so each process compiles again: set the environment variable "
            "NUMBA_CACHE_DIR to a folder that is writable now and readable later"
        )
    start, names = time.perf_counter(), list[str]()
    fits = list(all_fits())

    def on_kernel(name: str | None) -> None:
        if name is not None:
            names.append(name)

    with screen.progress("compiling", len(fits), "fits") as meter, on_compilation(on_kernel):
        for fit in fits:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about the table, which is of no interest
                fit()
            meter.step(1)
            meter.count(1)
    seconds = time.perf_counter() - start
    if names:
        screen.say(f"Compiled {len(names)} kernel{'s' * (len(names) > 1)} in {seconds:.0f} s.")
    else:
        screen.say("All kernels were compiled before.")
    for folder in folders:
        screen.say(f"They are in {folder}")
    screen.result({"n_kernels": len(names), "seconds": round(seconds, 1), "folders": [str(path) for path in folders]})


def all_fits() -> Iterator[Callable[[], None]]:
    """Yield functions, each of which fits an estimator to a table and asks it for what later calls ask for."""
    X, y = small_table()
    tables: list[Any] = [X, X.astype(np.float32), sparse.csr_matrix(X), sparse.csr_matrix(X.astype(np.float32))]
    for make in MODELS:
        takes_sparse = make().__sklearn_tags__().input_tags.sparse
        for table in tables:
            if takes_sparse or not sparse.issparse(table):
                yield partial(fit_and_use, make(), table, y)


def small_table() -> tuple[Any, Any]:
    """Return rows in a few groups, and the classes of some of them."""
    rng = np.random.default_rng(0)
    group = np.arange(N_ROWS) % N_GROUPS
    y = np.where(np.arange(N_ROWS) < N_ROWS // 10, group % 2, -1)
    return rng.normal(size=(N_ROWS, N_COLUMNS)) + 4.0 * group[:, np.newaxis], y


def fit_and_use(model: Any, X: Any, y: Any) -> None:
    """Fit a model, predict, and transform and learn in batches where it can."""
    if isinstance(model, SLOW):
        X = X[:N_ROWS_SLOW]
    model.fit(X, y) if is_classifier(model) else model.fit(X)
    model.predict(X)
    if hasattr(model, "transform"):
        model.transform(X)
    if hasattr(model, "predict_proba"):
        model.predict_proba(X)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X[np.argsort(np.arange(X.shape[0]) % N_GROUPS, kind="stable")])  # one group after another


def cache_folders() -> list[Path]:
    """Return where compiled kernels are cached; nothing if no folder is writable."""
    modules = [import_module(f"ravine._kernels.{name}") for name in _kernels.__all__]
    kernels = [member for module in modules for member in vars(module).values() if hasattr(member, "py_func")]
    places = {kernel.stats.cache_path for kernel in kernels}  # None or empty for kernels that are not cached
    return sorted(Path(place) for place in places if place)
