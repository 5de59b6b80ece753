"""Draw a stream in the plane at three times, and its number of clusters: a cut is removed when its valley fills."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_boundaries, draw_rows, plain

from ravine import HSDC
from ravine.plot._common import COLORS, FAINT

CHANGE, END = 4_000, 7_900
rng = np.random.default_rng(0)
before = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
after = np.array([[0.0, 0.0], [4.5, 0.0], [0.0, 9.0]])
kind = rng.integers(3, size=END)
X = np.where(np.arange(END)[:, None] < CHANGE, before[kind], after[kind]) + rng.normal(size=(END, 2))

figure = plt.figure(figsize=(8, 5), layout="constrained")
panels = figure.subplot_mosaic([["a", "b", "c"], ["line"] * 3], height_ratios=[1.7, 1])
model, seen, rows, numbers = HSDC(), 0, [], []
for name, stop, title in (
    ("a", 40, "40 rows: no cut yet"),
    ("b", 3_900, "3,900 rows: two cuts"),
    ("c", END, "7,900 rows: one cluster has moved"),
):
    for start in range(seen, stop, 20):
        model.partial_fit(X[start : start + 20])
        rows.append(start + 20)
        numbers.append(model.n_clusters_)
    seen, recent = stop, X[max(stop - 500, 0) : stop]
    draw_rows(panels[name], recent, model.cluster_ids_[model.predict(recent)])
    panels[name].set(xlim=(-4, 13), ylim=(-4, 13), aspect="equal")
    if model.n_clusters_ > 1:
        draw_boundaries(panels[name], model.predict)
    plain(panels[name], title)

ax = panels["line"]
ax.step(rows, numbers, where="post", color=COLORS[0])
for event in model.drift_events_:
    ax.axvline(event["row"], color=COLORS[1], linewidth=1.2)
    ax.annotate(f" {event['kind']} at row {event['row']:,}", (event["row"], 0.6), color="#b34a00")
ax.axvline(CHANGE, color=FAINT, linestyle=":", linewidth=1.4)
ax.annotate("the cluster moves ", (CHANGE, 3.4), ha="right", color="#555555")
ax.set(xlabel="row", ylabel="clusters", yticks=[1, 2, 3], ylim=(0.4, 3.9), xlim=(0, END))
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.spines[["top", "right"]].set_visible(False)
