"""Rings with enough rows and with too few, and three clusters of which two are merged."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_rows, plain

from ravine import SupportVectorClustering
from ravine.datasets import make_rings

rng = np.random.default_rng(0)
dense, _ = make_rings(1000, sizes="length", noise=0.1, random_state=1)
thin, _ = make_rings(600, sizes="length", noise=0.08, random_state=0)
centers = np.array([[0, 0], [8, 0], [4, 7]])
unequal = rng.normal(size=(560, 2)) + centers[np.repeat([0, 1, 2], [400, 120, 40])]
found = SupportVectorClustering().fit(unequal)

figure, axes = plt.subplots(2, 2, figsize=(7.2, 6.2), layout="constrained")
for ax, X, model, title in (
    (axes[0, 0], dense, SupportVectorClustering().fit(dense), "works: 1,000 rows"),
    (axes[0, 1], thin, SupportVectorClustering().fit(thin), "fails: 600 rows, thinner"),
    (axes[1, 0], unequal, found, "fails: 400, 120, 40 rows"),
    (axes[1, 1], unequal, found.cut_to(3), "same fit, cut_to(3)"),
):
    draw_rows(ax, X, model.labels_, size=10)
    ax.set_box_aspect(1)
    plain(ax, f"{title}: {model.n_clusters_} clusters")
