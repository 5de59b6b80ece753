"""`ravine demo`: run `ravine cluster` on a data set that comes with scikit-learn."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from ravine._files import written_whole
from ravine._io import TextFormat
from ravine.cli._cluster import cluster
from ravine.cli._data import TableOptions
from ravine.cli._places import check_files
from ravine.cli._screen import Screen


def demo(folder: Path, screen: Screen) -> None:
    """Write the digits as CSV, cluster them, and write labels, model and report."""
    folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    names = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    data, labels, model, report = (
        folder / name for name in ("digits.csv", "labels.csv", "model.ravine", "report.html")
    )
    check_files("demo", data=data, out=labels, model=model, report=report)
    with written_whole(data) as place:
        table = np.column_stack([digits.data, digits.target])
        np.savetxt(place, table, fmt="%d", delimiter=",", header=",".join([*names, "digit"]), comments="")
    options = "--label digit --no-scale"
    command = f"ravine cluster {data} {options} --out {labels} --model {model} --report {report}"
    screen.say(f"$ {command}\n")
    cluster(
        [str(data)],
        TableOptions((), (), "digit", False, "error", TextFormat()),
        method="imdh",
        n_clusters=None,
        scale=False,
        in_passes=False,
        seed=0,
        out=str(labels),
        model_path=model,
        report_path=report,
        n_jobs=-1,
        command=command,
        screen=screen,
    )
    screen.say(f"Open {report} in a browser.")
