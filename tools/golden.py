"""Whether two versions of the library give the same numbers, to the last bit, on one machine.

    python tools/golden.py write before.npz     # with the version to keep
    python tools/golden.py compare before.npz   # with the version to check

It fits every estimator on a few tables and streams and keeps labels, trees, transforms, events, the numbers of the
reports and what saved models predict. For a change that is to leave results as they are: a new name, a moved module.
Where a name is part of the change, `NAMES` has the old one and the new one, and `compare` reads a file with old names.
"""

import argparse
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine, make_moons

import ravine
from ravine import report
from ravine.datasets import make_gaussian_stream

NAMES: dict[str, dict[str, str]] = {
    "": {"evidence_": "p_values_", "bandwidth": "bandwidth_factor", "min_rows": "min_samples_split"},
    "PDDP": {"split": "criterion"},
    "NCutH": {"scale": "bandwidth_factor"},
    "SpectralPursuit": {"scale": "bandwidth_factor"},
    "SpectralPursuitClassifier": {"scale": "bandwidth_factor"},
    "SumOfNorms": {"scale": "gamma"},
    "IncrementalMDH": {"forget": "memory_length", "paper": "online"},
    "HSDC": {"most_forgotten": "max_forgetting"},
    "SupportVectorClustering": {"k": "n_projection_vectors", "paper": "segments"},
}
"""Parameters, values and attributes of an estimator, or of all: the name in the file, and the name now."""

TREE = ("normal", "offset", "left", "right", "rank", "count", "mean", "sum_sq", "value", "relative_depth", "p_value")
FITTED = (
    "labels_", "n_clusters_", "evidence_", "elbow_path_", "approximation_bound_", "outlier_", "dual_coef_", "lam_",
    "centroids_", "children_", "merge_lambdas_", "strength_", "slopes_", "pairs_", "transduction_", "cluster_ids_",
)  # fmt: skip


def tables() -> dict[str, Any]:
    """A few small tables: dense, sparse, single precision."""
    rng = np.random.default_rng(0)
    blobs = np.vstack([rng.normal(centre, 0.5, size=(80, 2)) for centre in ((0, 0), (5, 0), (2, 5))])
    digits = load_digits().data[:500]
    return {
        "blobs": blobs,
        "iris": load_iris().data,
        "wine": load_wine().data / load_wine().data.std(axis=0),
        "digits32": digits.astype(np.float32),
        "sparse": sparse.csr_matrix(digits),
        "moons": make_moons(300, noise=0.05, random_state=0)[0],
        "one": np.ones((20, 3)),
    }


CASES: list[tuple[str, dict[str, Any]]] = [
    ("PDDP", {}),
    ("PDDP", {"n_clusters": 4, "split": "mean"}),
    ("PDDP", {"n_clusters": 4, "bandwidth": 0.7}),
    ("PDDP", {"selection": "antimode"}),
    ("MDH", {}),
    ("MDH", {"n_clusters": 4}),
    ("MDH", {"n_clusters": 3, "bandwidth": 0.5, "margin": True}),
    ("NCutH", {}),
    ("NCutH", {"n_clusters": 4, "scale": 50.0}),
    ("NCutH", {"n_clusters": 3, "margin": True, "split_order": "size"}),
    ("SpectralPursuit", {"n_clusters": 3, "n_microclusters": 50}),
    ("SpectralPursuit", {"n_clusters": 3, "n_microclusters": 50, "laplacian": "standard", "projection": "correlated"}),
    ("SpectralPursuit", {"n_clusters": 3, "n_microclusters": 50, "scale": 0.5, "margin": True}),
    ("IncrementalMDH", {}),
    ("IncrementalMDH", {"n_clusters": 4, "forget": 500.0}),
    ("IncrementalMDH", {"algorithm": "paper"}),
    ("HSDC", {"min_rows": 40, "most_forgotten": 0.4}),
    ("HSDC", {"inherit": True}),
    ("SPDC", {"min_rows": 40, "bandwidth": 1.0}),
    ("SumOfNorms", {"n_lambdas": 40}),
    ("SumOfNorms", {"n_lambdas": 40, "n_clusters": 3, "scale": 1.0}),
    ("SumOfNorms", {"lam": 0.02}),
    ("SupportVectorClustering", {}),
    ("SupportVectorClustering", {"n_clusters": 3, "budget": 60, "maintenance": "random", "k": 3}),
    ("SupportVectorClustering", {"assignment": "paper", "gamma": 0.5, "C": 2.0}),
    ("MDHClassifier", {"bandwidth": 0.7}),
    ("SpectralPursuitClassifier", {"scale": 0.5}),
]


def renamed(estimator: str, name: Any) -> Any:
    """A name, or a value that is one, as it is called now."""
    names = NAMES[""] | NAMES.get(estimator, {})
    return names.get(name, name) if isinstance(name, str) else name


def made(name: str, options: dict[str, Any]) -> Any:
    """The estimator, with the names of now."""
    return getattr(ravine, name)(**{renamed(name, key): renamed(name, value) for key, value in options.items()})


def fitted(model: Any, X: Any) -> Any:
    """The model, fitted; a classifier gets labels for two fifths of the rows."""
    if hasattr(model, "predict_proba"):
        y = np.full(X.shape[0], -1)
        y[: X.shape[0] // 5], y[-(X.shape[0] // 5) :] = 0, 1
        return model.fit(X, y)
    return model.fit(X)


def numbers_of(model: Any, X: Any) -> Iterator[tuple[str, Any]]:
    """What the model has learned, by name."""
    for name in FITTED:
        value = getattr(model, renamed(type(model).__name__, name), None)
        if isinstance(value, np.ndarray | float | int):
            yield name, np.asarray(value)
    if hasattr(model, "tree_"):
        for name in TREE:
            yield f"tree.{name}", getattr(model.tree_, name)
        yield "transform", model.transform(X)
    for name in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, name):
            yield name, getattr(model, name)(X)


def page_numbers(model: Any, X: Any, folder: Path) -> Iterator[tuple[str, Any]]:
    """All numbers of the data that a report holds, in their order."""
    page = folder / "report.html"
    report.write(model, X, page)
    text = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    if text:
        yield "report", np.array(list(numbers_in(json.loads(text[1]))), dtype=np.float64)


def numbers_in(value: Any) -> Iterator[float]:
    """Every number in nested lists and dictionaries."""
    if isinstance(value, dict):
        for name in value:
            yield from numbers_in(value[name])
    elif isinstance(value, list):
        for item in value:
            yield from numbers_in(item)
    elif isinstance(value, int | float):
        yield float(value)


def saved_numbers(model: Any, X: Any, folder: Path) -> Iterator[tuple[str, Any]]:
    """What the model predicts after it was saved and loaded."""
    ravine.save(model, folder / "model")
    yield "loaded.predict", ravine.load(folder / "model").predict(X)


def in_batches(model: Any) -> Iterator[tuple[str, Any]]:
    """An online estimator on a stream that changes."""
    X, _ = make_gaussian_stream(3000, n_classes=4, n_features=5, random_state=0)
    X = np.concatenate([X, X[:2000] + 5.0])
    for start in range(0, len(X), 250):
        model.partial_fit(X[start : start + 250])
    yield from numbers_of(model, X)


def all_numbers() -> dict[str, Any]:
    """Every case on every table that it takes."""
    found: dict[str, Any] = {}

    def keep(place: str, numbers: Callable[[], Iterator[tuple[str, Any]]]) -> None:
        try:
            for name, value in numbers():
                found[f"{place}/{name}"] = np.asarray(value)
        except (ValueError, TypeError) as error:
            found[f"{place}/error"] = np.array(type(error).__name__)

    for number, (name, options) in enumerate(CASES):
        for table, X in tables().items():
            if sparse.issparse(X) and not made(name, options).__sklearn_tags__().input_tags.sparse:
                continue
            place = f"{number}-{name}/{table}"
            model = made(name, options)
            with tempfile.TemporaryDirectory() as folder:
                keep(place, lambda m=model, X=X: numbers_of(fitted(m, X), X))
                if table in ("blobs", "iris"):
                    keep(place, lambda m=model, X=X, f=folder: saved_numbers(m, X, Path(f)))
                if table in ("blobs", "iris") and not hasattr(model, "predict_proba"):
                    keep(place, lambda m=model, X=X, f=folder: page_numbers(m, X, Path(f)))
        online = made(name, options)
        if hasattr(online, "partial_fit"):
            keep(f"{number}-{name}/stream", lambda m=online: in_batches(m))
    return found


def main() -> int:
    """Write the numbers, or say which of them differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found = all_numbers()
    errors = sorted(name for name in found if name.endswith("/error"))
    print(f"{len(found)} arrays, {len(errors)} cases that were refused: {errors}")
    if args.task == "write":
        np.savez_compressed(args.file, **found)
        return 0
    with np.load(args.file) as before:
        names = set(before.files)
        in_one = names ^ set(found)
        in_both = names & set(found)
        differ = sorted(in_one | {name for name in in_both if not is_same(before[name], found[name])})
    print("\n".join(f"differs: {name}" for name in differ) or "all equal")
    return bool(differ)


def is_same(one: Any, other: Any) -> bool:
    """Whether two arrays are equal to the last bit; NaN equals NaN."""
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f" == other.dtype.kind)


if __name__ == "__main__":
    sys.exit(main())
