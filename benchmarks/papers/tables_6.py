"""Hofmeyr (2016), Tables 6.1 to 6.4: purity and V-measure of MDP², NCutH and their large margins, with k given.

    python -m benchmarks.papers.tables_6 DATA --out results --limit 120

Writes tables_6.csv, .md and .json. MDP2 has ravine's defaults; "MDP2 thesis" has the settings of the thesis and is
compared with the same published column. The columns of the spectral methods are made from the rows of tables_3.csv,
means of ten runs. The paper's image segmentation has 2309 rows, ravine's all 2310.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from benchmarks import methods, report, runner, stored
from benchmarks.papers import compare, tables_3
from benchmarks.papers.compare import Table
from benchmarks.report import Comparison

NAME = "tables_6"
METHODS = {
    "MDP2": methods.mdh,
    "MDP2 thesis": methods.mdh_thesis,
    "MDP2_0": methods.mdh_margin,
    "NCutH": methods.ncuth,
    "NCutH_0": methods.ncuth_margin,
}
BESIDE = {method: method for method in METHODS} | {"MDP2 thesis": "MDP2"}
TABLES = [
    Table(
        "Table 6.1",
        "purity",
        ("MDP2", "NCutH"),
        {
            "breast_cancer": (0.9585, 0.9685),
            "ionosphere": (0.7123, 0.7123),
            "optdigits": (0.8011, 0.7871),
            "pendigits": (0.7517, 0.7798),
            "voting": (0.846, 0.846),
            "image_segmentation": (0.654, 0.6219),
            "satimage": (0.7639, 0.74),
            "synthetic_control": (0.7967, 0.6667),
            "dermatology": (0.8907, 0.9617),
        },
    ),
    Table(
        "Table 6.2",
        "v",
        ("MDP2", "NCutH"),
        {
            "breast_cancer": (0.7355, 0.787),
            "ionosphere": (0.1349, 0.1349),
            "optdigits": (0.7351, 0.7162),
            "pendigits": (0.7153, 0.7095),
            "voting": (0.4282, 0.4282),
            "image_segmentation": (0.6269, 0.5938),
            "satimage": (0.6288, 0.5963),
            "synthetic_control": (0.7715, 0.7965),
            "dermatology": (0.8209, 0.9356),
        },
    ),
    Table(
        "Table 6.3",
        "purity",
        ("MDP2_0", "NCutH_0"),
        {
            "breast_cancer": (0.9657, 0.9685),
            "ionosphere": (0.7094, 0.7123),
            "optdigits": (0.8491, 0.7969),
            "pendigits": (0.7721, 0.7798),
            "voting": (0.8368, 0.8437),
            "image_segmentation": (0.6423, 0.6379),
            "satimage": (0.7601, 0.7576),
            "synthetic_control": (0.8133, 0.8383),
            "dermatology": (0.9454, 0.8552),
        },
    ),
    Table(
        "Table 6.4",
        "v",
        ("MDP2_0", "NCutH_0"),
        {
            "breast_cancer": (0.7746, 0.7868),
            "ionosphere": (0.1299, 0.1349),
            "optdigits": (0.7689, 0.7465),
            "pendigits": (0.724, 0.7307),
            "voting": (0.4113, 0.4282),
            "image_segmentation": (0.606, 0.6381),
            "satimage": (0.6192, 0.6268),
            "synthetic_control": (0.8132, 0.7705),
            "dermatology": (0.9131, 0.8382),
        },
    ),
]
SPECTRAL = [
    Table(
        "Table 6.1, spectral",
        "purity",
        ("SCP2_o", "SCP2_c", "SCnP2_o", "SCnP2_c"),
        {
            "breast_cancer": (0.9685, 0.9700, 0.9700, 0.9728),
            "ionosphere": (0.7123, 0.7009, 0.7123, 0.7009),
            "optdigits": (0.8149, 0.8297, 0.8119, 0.7374),
            "pendigits": (0.7770, 0.7646, 0.7817, 0.7397),
            "voting": (0.8437, 0.8276, 0.8483, 0.8391),
            "image_segmentation": (0.6160, 0.6781, 0.6621, 0.7012),
            "satimage": (0.7495, 0.7338, 0.7541, 0.7385),
            "synthetic_control": (0.8367, 0.8300, 0.8650, 0.8533),
            "dermatology": (0.9400, 0.9016, 0.8579, 0.9126),
        },
    ),
    Table(
        "Table 6.2, spectral",
        "v",
        ("SCP2_o", "SCP2_c", "SCnP2_o", "SCnP2_c"),
        {
            "breast_cancer": (0.7855, 0.7983, 0.7939, 0.8121),
            "ionosphere": (0.1371, 0.1320, 0.1371, 0.1320),
            "optdigits": (0.7689, 0.7755, 0.7735, 0.7222),
            "pendigits": (0.7483, 0.7389, 0.7589, 0.7358),
            "voting": (0.4187, 0.3847, 0.4180, 0.4102),
            "image_segmentation": (0.6159, 0.6528, 0.6467, 0.6764),
            "satimage": (0.6090, 0.5911, 0.6149, 0.6008),
            "synthetic_control": (0.7721, 0.7728, 0.8070, 0.7956),
            "dermatology": (0.8925, 0.8266, 0.8518, 0.8633),
        },
    ),
    Table(
        "Table 6.3, spectral",
        "purity",
        ("LMSC_o", "LMSC"),
        {
            "breast_cancer": (0.9628, 0.9671),
            "ionosphere": (0.7066, 0.7123),
            "optdigits": (0.7389, 0.6879),
            "pendigits": (0.7986, 0.7118),
            "voting": (0.8391, 0.8391),
            "image_segmentation": (0.5951, 0.6480),
            "satimage": (0.7494, 0.7249),
            "synthetic_control": (0.8883, 0.8283),
            "dermatology": (0.8607, 0.8552),
        },
    ),
    Table(
        "Table 6.4, spectral",
        "v",
        ("LMSC_o", "LMSC"),
        {
            "breast_cancer": (0.7586, 0.7799),
            "ionosphere": (0.1230, 0.1349),
            "optdigits": (0.6988, 0.6233),
            "pendigits": (0.7639, 0.6625),
            "voting": (0.4338, 0.3778),
            "image_segmentation": (0.5988, 0.6332),
            "satimage": (0.6071, 0.5682),
            "synthetic_control": (0.8534, 0.7823),
            "dermatology": (0.8596, 0.8541),
        },
    ),
]


def comparisons(stem: Path) -> list[Comparison]:
    return [compare.comparison(*found) for found in _found(stem)]


def page(stem: Path) -> str:
    tables = [compare.markdown(*found) for found in _found(stem)]
    tables.append(report.time_table(stored.read_table(stem), list(METHODS)))
    return stored.page("All methods of the thesis (Tables 6.1 to 6.4)", stem, tables)


def _found(stem: Path) -> Iterator[tuple[pd.DataFrame, Table, dict[str, str]]]:
    """The rows, table and columns of each, in the order of the thesis."""
    results, spectral = stored.read_table(stem), stem.with_name(f"{tables_3.NAME}.csv")
    of_tables_3 = pd.read_csv(spectral) if spectral.exists() else results[:0]
    for table, same in zip(TABLES, SPECTRAL, strict=True):
        yield results, table, BESIDE
        if len(of_tables_3):
            yield of_tables_3, same, {method: method for method in same.columns}


if __name__ == "__main__":
    runner.run(METHODS, name=NAME, description=__doc__, among=compare.data_sets(TABLES), page=page)
