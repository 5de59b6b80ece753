"""Panahi, Dubhashi, Johansson and Bhattacharyya (2017), §5, Figures 1 and 2: two Gaussians in the plane.

    python -m benchmarks.papers.sum_of_norms --out results
    python -m benchmarks.papers.sum_of_norms --draws 1 --sizes 100 200    # in a minute

Figure 1 is the adjusted Rand index against λ for 200 rows, with clusters by fusion and by one threshold for both
solvers. Figure 2 is the time against the number of rows, compared with a cone solver (clarabel, at its own tolerance of
1e-8); λ is the smallest on a path of 50 values at which there are two groups. The paper prints neither its variances,
nor its λ, nor its threshold. Writes sum_of_norms.md and .json, and for each figure a CSV and a PNG.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from benchmarks import report, stored
from ravine import SumOfNorms
from ravine.datasets import make_two_gaussians

Floats = NDArray[np.float64]

NAME = "sum_of_norms"
ROWS, SIGMAS, THRESHOLD = 200, (0.05, 0.1, 0.15, 0.2, 0.25, 0.3), 0.2
LAMBDAS = np.geomspace(0.2, 2.0, 25)
"""Times the number of rows; the means of the Gaussians meet at √2."""

SOLVERS: tuple[Literal["dual", "stochastic"], ...] = ("dual", "stochastic")
COLORS = {"dual": "#1f5fa8", "stochastic": "#c4541a", "cone": "#555555"}
TOL, SPREAD, N_LAMBDAS = 1e-4, 0.1, 50
"""For Figure 2: relative gap, σ, and values of λ on the path."""

SIZES = [100, 200, 400, 800, 1600, 3200, 6400]
FIGURE_2 = ["rows", "lam", *(f"{s}_{of}" for s in SOLVERS for of in ("s", "objective", "gap", "clusters"))]
OVER = ("dual_over_cone", "stochastic_over_cone", "stochastic_over_dual")
"""Relative differences of the objectives, which their stored digits do not show."""

FIGURE_2 += ["cone_s", "cone_objective", *OVER]
LAST_CONE, LONG = 20.0, 5.0
"""Seconds after which no larger problem goes to the cone solver, and over which a call is timed once."""


def figure_1(n_draws: int) -> pd.DataFrame:
    """Means over the draws, for each σ, λ, solver and way to read clusters off the centroids."""
    records = []
    for sigma in SIGMAS:
        draws = [make_two_gaussians(ROWS, variance=sigma**2, random_state=seed) for seed in range(n_draws)]
        for lam in LAMBDAS / ROWS:
            for solver in SOLVERS:
                for labels, threshold in {"fusion": None, "threshold": THRESHOLD}.items():
                    model = SumOfNorms(lam=lam, weights="uniform", solver=solver, tol=TOL, threshold=threshold)
                    found = [
                        (adjusted_rand_score(y, model.fit(X).labels_), model.n_clusters_, model.gap_) for X, y in draws
                    ]
                    ari, n_clusters, gap = np.mean(found, axis=0)
                    records.append((sigma, lam, solver, labels, ari, n_clusters, gap))
        print(f"figure 1, σ = {sigma}", flush=True)
    return pd.DataFrame(records, columns=["sigma", "lam", "solver", "labels", "ari", "n_clusters", "gap"])


def draw_figure_1(results: pd.DataFrame, path: Path) -> None:
    plt = importlib.import_module("matplotlib.pyplot")
    figure, axes = plt.subplots(2, 3, figsize=(10, 5.6), sharex=True, sharey=True, layout="constrained")
    styles = {"fusion": "-", "threshold": "--"}
    for ax, (sigma, part) in zip(axes.flat, results.groupby("sigma"), strict=True):
        for (solver, labels), line in part.groupby(["solver", "labels"]):
            name = f"{solver}, {labels}"
            ax.plot(line.lam * ROWS, line.ari, styles[labels], color=COLORS[solver], label=name, linewidth=1.6)
        ax.set(xscale="log", ylim=(-0.05, 1.05), title=f"σ = {sigma:g}")
        ax.set_xticks([0.2, 0.5, 1.0, 2.0], ["0.2", "0.5", "1", "2"])
        ax.minorticks_off()
        ax.grid(alpha=0.25)
    figure.supxlabel("λ times the number of rows")
    figure.supylabel("adjusted Rand index")
    handles, names = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def ranges(results: pd.DataFrame) -> str:
    """For each σ the number of λ with an index over 0.9, and the best index."""
    ways = [(solver, labels) for solver in SOLVERS for labels in ("fusion", "threshold")]
    lines = []
    for sigma, part in results.groupby("sigma"):
        index = [part.ari[(part.solver == solver) & (part.labels == labels)] for solver, labels in ways]
        lines.append([f"{sigma:g}", *(f"{(ari > 0.9).sum()} ({ari.max():.3f})" for ari in index)])
    return report.grid(["σ", *map(", ".join, ways)], lines, text=0)


def import_clarabel() -> Any:
    try:
        return importlib.import_module("clarabel")
    except ImportError:
        sys.exit("the cone solver of Figure 2 is the package clarabel: pip install clarabel, or use --no-cone")


def cone_objective(X: Floats, lam: float) -> float:
    """Least objective, by an interior-point method.

    Variables are the centroids u and a length t for each pair: t ≥ ‖uᵢ - uₖ‖ is a cone, and the objective is
    ‖u‖² / 2 - x'u + λ Σ t, up to a constant.
    """
    clarabel = import_clarabel()
    n, d = X.shape
    a, b = np.triu_indices(n, 1)
    pair = np.arange(len(a))
    square = sparse.block_diag([sparse.eye_array(n * d), sparse.csc_array((len(a), len(a)))], format="csc")
    linear = np.append(-X.ravel(), np.full(len(a), lam))
    row, column, value = [pair * (d + 1)], [n * d + pair], [-np.ones(len(a))]
    for j in range(d):
        for end, sign in ((a, -1.0), (b, 1.0)):
            row.append(pair * (d + 1) + 1 + j)
            column.append(end * d + j)
            value.append(np.full(len(a), sign))
    shape = (len(a) * (d + 1), n * d + len(a))
    constraints = sparse.csc_array((np.concatenate(value), (np.concatenate(row), np.concatenate(column))), shape)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.SecondOrderConeT(d + 1)] * len(a)
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(square), linear, sparse.csc_matrix(constraints), np.zeros(shape[0]), cones, settings
    )
    return float(solver.solve().obj_val + 0.5 * (X**2).sum())


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the best of three calls, or of one that is long, and what it gave."""
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
        if best > LONG:
            break
    return best, result


def figure_2(sizes: list[int], *, cone: bool) -> pd.DataFrame:
    """Seconds, objective and gap of each solver for growing numbers of rows."""
    records: list[dict[str, Any]] = []
    for n in sizes:
        X, _ = make_two_gaussians(n, variance=SPREAD**2, random_state=0)
        path = SumOfNorms(weights="uniform", solver="dual", n_lambdas=N_LAMBDAS, tol=TOL).fit(X)
        lam = float(path.merge_lambdas_[-2])
        record: dict[str, Any] = {"rows": n, "lam": lam}
        for solver in SOLVERS:
            model = SumOfNorms(lam=lam, weights="uniform", solver=solver, tol=TOL)
            record[f"{solver}_s"], _ = timed(partial(model.fit, X))
            record |= {f"{solver}_objective": model.objective_, f"{solver}_gap": model.gap_}
            record[f"{solver}_clusters"] = model.n_clusters_
        if cone:
            record["cone_s"], record["cone_objective"] = timed(partial(cone_objective, X, lam))
            cone = record["cone_s"] < LAST_CONE
        records.append(record)
        print(f"figure 2, {n} rows", flush=True)
    found = pd.DataFrame(records).reindex(columns=FIGURE_2)
    for name in OVER:
        ours, _, theirs = name.partition("_over_")
        found[name] = found[f"{ours}_objective"] / found[f"{theirs}_objective"] - 1
    return found


def draw_figure_2(results: pd.DataFrame, path: Path) -> None:
    plt = importlib.import_module("matplotlib.pyplot")
    figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for name, color in COLORS.items():
        line = results.dropna(subset=f"{name}_s")
        if len(line):
            label = "cone solver" if name == "cone" else name
            ax.plot(line.rows, line[f"{name}_s"], "o-", color=color, label=label, linewidth=1.6)
    ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds")
    ax.set_xticks(results.rows, [f"{n:,}" for n in results.rows])
    ax.minorticks_off()
    ax.grid(alpha=0.25)
    ax.legend(frameon=False)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def times(results: pd.DataFrame) -> str:
    """Figure 2, with objectives relative to that of the cone solver."""
    heads = ["rows", "λ", "dual, s", "stochastic, s", "cone, s", "dual, gap", "stochastic, gap"]
    heads += ["dual / cone - 1", "stochastic / cone - 1", "stochastic / dual - 1"]
    lines = []
    for row in results.itertuples():
        cells = [f"{row.rows:,}", f"{row.lam:.3g}", f"{row.dual_s:.3f}", f"{row.stochastic_s:.3f}", f"{row.cone_s:.2f}"]
        cells += [f"{row.dual_gap:.1e}", f"{row.stochastic_gap:.1e}", *(f"{getattr(row, name):.1e}" for name in OVER)]
        lines.append(["–" if cell == "nan" else cell for cell in cells])
    return report.grid(heads, lines, text=0)


def page(stem: Path) -> str:
    quality, speed = (stored.read_table(stem, f"figure_{number}") for number in (1, 2))
    first = (
        f"The number of λ, of {quality.lam.nunique()}, with a mean index over 0.9, and in brackets the best mean index."
    )
    second = f"Solved to a relative gap of {TOL:g}; the cone solver to 1e-8."
    parts = [
        report.section("Figure 1: adjusted Rand index", first, ranges(quality), _picture(stem, 1, "index against λ")),
        report.section("Figure 2: seconds", second, times(speed), _picture(stem, 2, "seconds against rows")),
    ]
    return stored.page("Two Gaussians in the plane (Figures 1 and 2)", stem, parts)


def _picture(stem: Path, number: int, what: str) -> str:
    return f"![Figure {number}: {what}]({stem.name}_figure_{number}.png)"


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    cli.add_argument("--draws", type=int, default=5, metavar="N", help="data sets for each σ of Figure 1 (5)")
    cli.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="ROWS", help="rows of Figure 2, growing")
    cli.add_argument("--cone", action=argparse.BooleanOptionalAction, default=True, help="run the cone solver (yes)")
    args = cli.parse_args()
    entry = stored.run_details(sys.argv[1:])
    if args.cone:
        entry["versions"]["clarabel"] = import_clarabel().__version__
    mpl.use("Agg")
    warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in the tables
    stem = args.out / NAME
    quality = figure_1(args.draws)
    speed = figure_2(args.sizes, cone=args.cone)
    stored.record(stem, entry, anew=True)
    for name, results, draw in (("1", quality, draw_figure_1), ("2", speed, draw_figure_2)):
        stored.write_table(stem, f"figure_{name}", results)
        draw(results, Path(f"{stem}_figure_{name}.png"))
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
