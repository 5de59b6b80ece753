"""Log every estimator with mlflow, load it in two ways, and compare what it predicts.

    python -m benchmarks.clients.mlflow --out results

Models are logged to a SQLite database in an empty folder, without a network. Each is logged three times: with the
defaults of mlflow alone, which saves by skops and refuses every type outside scikit-learn; with the list
`ravine.persist.trusted_types()`; and with cloudpickle. The requirements are given, because mlflow takes long to find
them. What was logged is loaded as a model of scikit-learn and as a `pyfunc`.

Writes mlflow.csv, mlflow.md and mlflow.json.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ravine
from benchmarks import report, stored
from ravine.datasets import make_blobs
from ravine.persist import trusted_types

NAME = "mlflow"
PACKAGES = ("mlflow", "skops", "cloudpickle")
ROWS = make_blobs(300, centers=[[0, 0, 0], [12, 0, 0], [0, 12, 5]], random_state=0)[0]


def models() -> dict[str, Any]:
    """A model of every estimator, and a pipeline."""
    classes = [getattr(ravine, name) for name in ravine.__all__]
    found = {each.__name__: each() for each in classes if hasattr(each, "fit") and hasattr(each, "get_params")}
    found["NCutH(outliers='label')"] = ravine.NCutH(outliers="label")
    found["StandardScaler, NCutH"] = make_pipeline(StandardScaler(), ravine.NCutH())
    return found


def fitted(model: Any) -> Any:
    """Fit a model; a classifier gets a label for every tenth row."""
    if not is_classifier(model):
        return model.fit(ROWS)
    few = np.where(np.arange(len(ROWS)) % 10 == 0, (ROWS[:, 0] > 6).astype(int), -1)
    return model.fit(ROWS, few)


def size_of(uri: str) -> float:
    """KiB of the file of a logged model."""
    from mlflow.artifacts import download_artifacts

    folder = Path(download_artifacts(uri))
    return sum(path.stat().st_size for path in folder.glob("model.*")) / 1024


def logged(model: Any, expected: NDArray[Any], **options: Any) -> dict[str, Any]:
    """Whether a model can be logged, and whether the two loaded ones predict as it does."""
    import mlflow

    try:
        about = mlflow.sklearn.log_model(model, name="model", pip_requirements=["ravine"], **options)
    except mlflow.exceptions.MlflowException as error:
        return {"status": str(error).rpartition("Root error: ")[2]}
    same = mlflow.sklearn.load_model(about.model_uri).predict(ROWS)
    function = mlflow.pyfunc.load_model(about.model_uri).predict(ROWS)
    return {
        "status": "ok",
        "kib": size_of(about.model_uri),
        "sklearn": bool(np.array_equal(same, expected)),
        "pyfunc": bool(np.array_equal(function, expected)),
    }


def lines() -> pd.DataFrame:
    """All lines: three for each model."""
    import mlflow

    ways: Mapping[str, dict[str, Any]] = {
        "defaults alone": {},
        "list of types": {"skops_trusted_types": trusted_types()},
        "cloudpickle": {"serialization_format": "cloudpickle"},
    }
    found = []
    for name, model in models().items():
        expected = fitted(model).predict(ROWS)
        for way, options in ways.items():
            with mlflow.start_run():
                found.append({"model": name, "way": way, **logged(model, expected, **options)})
        print(name, flush=True)
    return pd.DataFrame(found)


def page(stem: Path) -> str:
    table = stored.read_table(stem)
    alone, listed, pickled = (
        table[table["way"] == way].set_index("model") for way in ("defaults alone", "list of types", "cloudpickle")
    )
    words = {True: "equal", False: "**differ**"}
    shown = pd.DataFrame(
        {
            "model": listed.index,
            "types outside scikit-learn": alone["status"].str.extract(r"\[(.*)\]")[0].str.replace("'", "`"),
            "sklearn": listed["sklearn"].map(words),
            "pyfunc": listed["pyfunc"].map(words),
            "sklearn, cloudpickle": pickled["sklearn"].map(words),
            "pyfunc, cloudpickle": pickled["pyfunc"].map(words),
            "KiB": listed["kib"],
            "KiB, cloudpickle": pickled["kib"],
        }
    )
    formats = {name: "{:,.0f}" if name.startswith("KiB") else "{}" for name in shown.columns}
    n_refused = int((alone["status"] != "ok").sum())
    parts = [
        report.section(
            "Predictions of logged models",
            f"{len(listed)} models. `sklearn` and `pyfunc` compare the labels of {len(ROWS)} rows after "
            "`mlflow.sklearn.load_model` and `mlflow.pyfunc.load_model`: first with the list of types, then with "
            f"cloudpickle. Without the list, mlflow refuses {n_refused} of {len(alone)} and names the types "
            "that it does not trust.",
            report.formatted(shown, formats, text=6),
        )
    ]
    return stored.page("Models of ravine in mlflow", stem, parts)


def main() -> None:
    """Measure, print and write."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem, here = args.out.resolve() / NAME, Path.cwd()
    import mlflow

    logging.getLogger("mlflow").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        mlflow.create_experiment("ravine", artifact_location=Path(folder, "artifacts").as_uri())
        mlflow.set_experiment("ravine")
        table = lines()
        os.chdir(here)
    stored.record(stem, stored.run_details(sys.argv[1:], PACKAGES), anew=True)
    table.to_csv(stem.with_suffix(".csv"), index=False, float_format="%.6g", lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
