"""Hofmeyr (2016), Tables 4.2 and 4.3: purity and V-measure of NCutH, NCutH₀ and dePDDP, all told the number of classes.

    python -m benchmarks.papers.tables_4_2_and_4_3 DATA --out results --limit 120

Writes tables_4_2_and_4_3.csv, .md and .json. The paper's isolet has the first 6238 rows of the file only; its image
segmentation has 2309 rows, ours all 2310.
"""

from __future__ import annotations

from benchmarks import methods
from benchmarks.papers import compare
from benchmarks.papers.compare import Table

METHODS = {
    "NCutH": methods.ncuth,
    "NCutH_0": methods.ncuth_margin,
    "dePDDP": methods.pddp_density,
}
ROWS = {"isolet": 6238}
TABLES = [
    Table(
        "Table 4.2",
        "purity",
        ("NCutH", "NCutH_0", "dePDDP"),
        {
            "breast_cancer": (0.9685, 0.9685, 0.9671),
            "ionosphere": (0.7123, 0.7123, 0.6895),
            "optdigits": (0.7871, 0.7969, 0.2643),
            "pendigits": (0.7798, 0.7683, 0.5673),
            "voting": (0.846, 0.8437, 0.8506),
            "image_segmentation": (0.6219, 0.6379, 0.2932),
            "satimage": (0.74, 0.7576, 0.7501),
            "synthetic_control": (0.6667, 0.8383, 0.68),
            "dermatology": (0.9617, 0.8552, 0.8552),
            "isolet": (0.5167, 0.5917, 0.2188),
        },
    ),
    Table(
        "Table 4.3",
        "v",
        ("NCutH", "NCutH_0", "dePDDP"),
        {
            "breast_cancer": (0.788, 0.7868, 0.7799),
            "ionosphere": (0.1349, 0.1349, 0.0982),
            "optdigits": (0.7162, 0.7465, 0.2852),
            "pendigits": (0.7095, 0.7307, 0.5915),
            "voting": (0.4282, 0.4239, 0.3925),
            "image_segmentation": (0.5938, 0.6381, 0.3515),
            "satimage": (0.5963, 0.6268, 0.6105),
            "synthetic_control": (0.7965, 0.7705, 0.7775),
            "dermatology": (0.9356, 0.8382, 0.8739),
            "isolet": (0.6534, 0.7036, 0.4234),
        },
    ),
]

if __name__ == "__main__":
    compare.run(METHODS, TABLES, name="tables_4_2_and_4_3", description=__doc__, rows=ROWS)
