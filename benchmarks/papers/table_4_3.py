"""Hofmeyr (2016), Table 4.3: V-measure of dePDDP told the number of classes, beside the published column.

    python -m benchmarks.papers.table_4_3 DATA --out results

Writes table_4_3.csv, .md and .json. The paper's isolet has the first 6238 rows of the file only.
"""

from __future__ import annotations

import pandas as pd

from benchmarks import methods, report, runner

METHOD = "dePDDP"
PUBLISHED = {
    "breast_cancer": 0.7799,
    "ionosphere": 0.0982,
    "optdigits": 0.2852,
    "pendigits": 0.5915,
    "voting": 0.3925,
    "image_segmentation": 0.3515,
    "satimage": 0.6105,
    "synthetic_control": 0.7775,
    "dermatology": 0.8739,
    "isolet": 0.4234,
}
ROWS = {"isolet": 6238}


def compare(results: pd.DataFrame) -> str:
    """Ours, the paper's and the difference, as Markdown."""
    ours = report.pivot(results, "v", [METHOD])[METHOD]
    table = pd.DataFrame({"paper": PUBLISHED}).join(ours.rename("ours"), how="inner")
    table["difference"] = table["ours"] - table["paper"]
    both = table.dropna()
    table.loc[f"mean of {len(both)}"] = both.mean()
    lines = [f"| {name} | {row.ours:.4f} | {row.paper:.4f} | {row.difference:+.4f} |" for name, row in table.iterrows()]
    return "\n".join(["| data set | ours | paper | difference |", "| --- | ---: | ---: | ---: |", *lines])


if __name__ == "__main__":
    runner.run(
        {METHOD: methods.pddp_density},
        name="table_4_3",
        description=__doc__,
        scores=[],
        among=PUBLISHED,
        rows=ROWS,
        appendix=compare,
    )
