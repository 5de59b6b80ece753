"""Simulate the quantiles of the dip of Gaussian samples, which HSDC compares with, and write them as JSON.

    python tools/dip_quantiles.py src/ravine/tree/dip_quantiles.json

A few minutes on one core. Sizes between those of the table are interpolated on logarithmic scales.
"""

import json
import sys
from pathlib import Path

import numpy as np
from diptest import dipstat

SIZES = [round(10 * 2 ** (i / 2)) for i in range(29)]
SIGNIFICANCE = [0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001]
ROWS_IN_ALL, MOST_DRAWS, SEED = 100_000_000, 100_000, 0


def main() -> None:
    """Draw, and write the table."""
    rng = np.random.default_rng(SEED)
    table = []
    for size in SIZES:
        n_draws = min(MOST_DRAWS, ROWS_IN_ALL // size)
        dips = [dipstat(np.sort(rng.normal(size=size)), sort_x=False) for _ in range(n_draws)]
        table.append([float(f"{q:.5g}") for q in np.quantile(dips, 1 - np.array(SIGNIFICANCE))])
        print(size, n_draws, table[-1], flush=True)
    record = {"n_rows": SIZES, "significance": SIGNIFICANCE, "dip": table}
    Path(sys.argv[1]).write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
