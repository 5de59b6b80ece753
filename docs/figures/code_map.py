"""The layers of the code, as the import contract in pyproject.toml has them."""

import tomllib
from pathlib import Path

import matplotlib.pyplot as plt

import ravine

ROOT = Path(ravine.__file__).parents[2]
WHAT = {
    "cli": "command line",
    "report": "HTML report",
    "plot": "plots",
    "persist": "saved models",
    "export": "exported models",
    "_io": "tables in files",
    "evaluation": "scores on streams",
    "river": "River's interface",
    "gpu": "rows for a GPU",
    "integrations": "AnnData, BERTopic",
    "explain": "words, rules and SQL",
    "_explore": "a table in one call",
    "prepare": "tables as rows",
    "cluster": "estimators",
    "semi_supervised": "classifiers",
    "tree": "the tree; growth, pruning, evidence",
    "cuts": "objectives, search",
    "_convex": "convex clustering",
    "_svc": "support vectors",
    "_outofcore": "data on Dask, in files, on a GPU",
    "_reservoir": "samples of streams",
    "_neighbors": "graphs",
    "_checks": "input checks",
    "_lattice": "line weights",
    "_scaling": "robust scales",
    "_structureless": "no clusters",
    "_matrix": "dense and sparse rows",
    "_kernels": "Numba loops",
    "_blocks": "threads",
    "metrics": "scores",
    "datasets": "generators",
    "_files": "atomic writes",
    "_names": "displayed names",
    "_schema": "fields of saved models",
    "_ties": "tie-breaking",
    "_numbering": "numbers of groups",
    "_deprecation": "old names",
    "_read_only": "read models",
    "_pickles": "pickles of arrays",
    "_sklearn": "scikit-learn's names",
    "_lazy": "imports at first use",
    "_warnings": "warnings",
}


def layers():
    contract, *_ = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [[name.strip() for name in layer.replace(":", "|").split("|")] for layer in contract["layers"]]


def n_lines(name):
    place = ROOT / "src" / "ravine" / name
    files = place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


rows = layers()
assert {name for row in rows for name in row} == set(WHAT)
figure, axes = plt.subplots(figsize=(8.6, 0.62 * len(rows)))
for level, names in enumerate(rows):
    y, width = -level, 12.0 / len(names)
    for i, name in enumerate(names):
        axes.add_patch(plt.Rectangle((i * width + 0.06, y - 0.42), width - 0.12, 0.84, fc="#e8eef5", ec="#4477aa"))
        middle = (i + 0.5) * width
        axes.text(middle, y + 0.16, name, ha="center", va="center", weight="bold", size=9 if len(names) < 6 else 7)
        said = WHAT[name] if len(names) < 4 else WHAT[name].replace(" of ", "\nof ").replace("'s ", "'s\n")
        size = 8 if len(names) < 4 else 6.5
        lines = f" · {n_lines(name):,} lines" if len(names) < 4 else ""
        axes.text(
            middle, y - 0.17, said + lines, ha="center", va="center", size=size, color="#333333", linespacing=0.95
        )
axes.annotate("", (-0.25, -len(rows) + 0.8), (-0.25, 0.2), arrowprops={"arrowstyle": "->", "lw": 1.5})
axes.text(-0.4, -(len(rows) - 1) / 2, "imports only point down", rotation=90, ha="right", va="center", color="#333333")
axes.set(xlim=(-0.9, 12.1), ylim=(-len(rows) + 0.5, 0.55))
axes.axis("off")
