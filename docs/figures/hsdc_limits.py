"""Draw scores on a stream whose classes are all replaced, and two parallel clusters that HSDC does not separate."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_boundaries, draw_rows, plain

from ravine import HSDC, SPDC, IncrementalMDH
from ravine.datasets import make_overhaul_stream
from ravine.evaluation import evaluate
from ravine.plot._common import COLORS, FAINT

figure = plt.figure(figsize=(8, 5.4), layout="constrained")
panels = figure.subplot_mosaic([["line", "line"], ["a", "b"]], height_ratios=[1.2, 1])

X, y = make_overhaul_stream(20_000, every=10_000, n_classes=20, n_features=100, random_state=0)
ax = panels["line"]
for model, color, dashes in ((HSDC(), COLORS[0], "-"), (SPDC(), COLORS[1], "--")):
    records = evaluate(model, X, y).records
    rows, score = ([record[name] for record in records] for name in ("row", "v_measure"))
    ax.plot(rows, score, color=color, linestyle=dashes, label=type(model).__name__)
ax.axvline(10_000, color=FAINT, linestyle=":")
ax.annotate("all classes are replaced", (10_000, 1.03), ha="center", color="#555555", annotation_clip=False)
ax.set(xlabel="row", ylabel="V-measure", ylim=(0, 1), xlim=(0, 20_000))
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, borderaxespad=0)

rng = np.random.default_rng(0)
side = rng.integers(2, size=4_000)
X = rng.normal(size=(4_000, 2)) * [6, 1] + np.column_stack([np.zeros(4_000), 8 * side])
for name, model in (("a", HSDC()), ("b", IncrementalMDH())):
    model.partial_fit(X)
    ax, shown = panels[name], X[:800]
    draw_rows(ax, shown, model.predict(shown))
    ax.set(ylim=(-5, 13))
    found = model.n_clusters_
    if found > 1:
        draw_boundaries(ax, model.predict)
    plain(ax, f"{type(model).__name__}: {found} cluster{'s' if found > 1 else ''}")
