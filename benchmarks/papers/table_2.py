"""Hofmeyr (2020), Table 2 and the means of Figure 2: NMI and ARI of iMDH and other methods for large data.

    python -m benchmarks.papers.table_2 DATA --out results --seeds 3 --limit 120

Writes table_2.csv, .md and .json. iMDH and IncrementalMDH choose k automatically; those with _k are given the number of
classes. All have ravine's settings, also where the algorithm is the paper's: two passes, depth 7, bandwidth σ t^(-1/6),
α = 0.25 σ, C = 1. The paper has one pass, depth 8, σ t^(-0.2), 0.1 σ, 10. The regrets on a data set span [0, 1] over
ravine's first four columns and the paper's together. SPDC and dePDDP are ravine's own forms of the two baselines; both
choose k automatically. The paper's isolet has only the first 6238 rows of the file. The paper's scores are means of 20
runs.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import methods, report, runner, stored
from benchmarks.papers import compare
from benchmarks.papers.compare import Table
from benchmarks.report import Comparison

NAME = "table_2"
METHODS = {
    "iMDH": methods.incremental_paper,
    "iMDH_k": methods.incremental_paper_k,
    "IncrementalMDH": methods.incremental,
    "IncrementalMDH_k": methods.incremental_k,
}
BASELINES = {"SPDC": methods.spdc, "dePDDP": methods.pddp_antimode}
BESIDE = {method: method for method in (*METHODS, *BASELINES)} | {
    "IncrementalMDH": "iMDH",
    "IncrementalMDH_k": "iMDH_k",
}
ROWS = {"isolet": 6238}
COLUMNS = ("iMDH", "iMDH_k", "BICO", "k-means", "SPDC", "dePDDP")
TABLES = [
    Table(
        "Table 2",
        "nmi",
        COLUMNS,
        {
            "waveform21": (0.425, 0.386, 0.367, 0.365, 0.357, 0.411),
            "phoneme": (0.142, 0.138, 0.125, 0.174, 0.144, 0.150),
            "page_blocks": (0.184, 0.078, 0.187, 0.163, 0.209, 0.240),
            "optdigits": (0.655, 0.647, 0.196, 0.638, 0.048, 0.000),
            "isolet": (0.678, 0.700, 0.671, 0.704, 0.426, 0.402),
            "satimage": (0.591, 0.593, 0.504, 0.612, 0.565, 0.606),
            "twonorm": (0.755, 0.844, 0.837, 0.850, 0.835, 0.842),
            "mushroom": (0.440, 0.236, 0.082, 0.118, 0.392, 0.311),
            "pendigits": (0.700, 0.675, 0.644, 0.686, 0.612, 0.626),
            "nursery": (0.077, 0.050, 0.051, 0.085, 0.000, 0.289),
            "magic": (0.102, 0.002, 0.134, 0.002, 0.003, 0.000),
            "adult": (0.092, 0.070, 0.044, 0.074, 0.088, 0.109),
            "shuttle": (0.457, 0.466, 0.026, 0.429, 0.360, 0.396),
            "mnist": (0.412, 0.433, 0.014, 0.422, 0.198, 0.249),
        },
    ),
    Table(
        "Table 2",
        "ari",
        COLUMNS,
        {
            "waveform21": (0.251, 0.280, 0.256, 0.254, 0.264, 0.300),
            "phoneme": (0.051, 0.139, 0.147, 0.141, 0.054, 0.097),
            "page_blocks": (0.057, 0.044, 0.198, 0.096, 0.275, 0.323),
            "optdigits": (0.523, 0.526, 0.066, 0.509, 0.008, 0.000),
            "isolet": (0.387, 0.450, 0.400, 0.468, 0.092, 0.069),
            "satimage": (0.475, 0.503, 0.411, 0.528, 0.445, 0.472),
            "twonorm": (0.755, 0.910, 0.906, 0.916, 0.898, 0.909),
            "mushroom": (0.245, 0.288, 0.036, 0.099, 0.121, 0.004),
            "pendigits": (0.551, 0.503, 0.488, 0.557, 0.419, 0.370),
            "nursery": (0.030, 0.037, 0.040, 0.066, 0.000, 0.005),
            "magic": (0.052, 0.006, 0.116, 0.006, 0.000, 0.000),
            "adult": (0.021, 0.021, 0.031, 0.030, -0.012, -0.045),
            "shuttle": (0.187, 0.354, 0.003, 0.225, 0.319, 0.333),
            "mnist": (0.263, 0.307, 0.000, 0.307, 0.030, 0.028),
        },
    ),
]


def comparisons(stem: Path) -> list[Comparison]:
    results = stored.read_table(stem)
    return [compare.comparison(results, table, BESIDE) for table in TABLES]


def page(stem: Path) -> str:
    """Both tables, each with the mean normalized regret."""
    results = stored.read_table(stem)
    parts = [
        report.score_lines(
            table.name,
            compare.with_published(results, table, list(METHODS)),
            normalize=True,
            note=comparison.lower(),
        )
        for table, comparison in zip(TABLES, comparisons(stem), strict=True)
    ]
    known = results[results["method"].isin(METHODS)]
    parts += [report.time_table(known, list(METHODS)), report.unfinished(known)]
    baselines = {method: method for method in BASELINES}
    parts += [compare.markdown(results, table, baselines, digits=3) for table in TABLES]
    return stored.page("Large data sets (Table 2)", stem, parts)


if __name__ == "__main__":
    among = compare.data_sets(TABLES)
    runner.run(METHODS | BASELINES, name=NAME, description=__doc__, among=among, rows=ROWS, page=page)
