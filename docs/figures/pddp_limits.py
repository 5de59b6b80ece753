"""PDDP on clusters that the principal components separate, and on clusters that they do not."""

import matplotlib.pyplot as plt
from _drawing import draw_clusters
from _rows import ridges

from ravine import MDH, PDDP
from ravine.datasets import make_blobs

blobs, _ = make_blobs(1000, centers=[[0, 0], [7, 1], [1, 8], [9, 9], [15, 4]], random_state=0)
long, _ = ridges()
models = [
    ("works: PDDP()", blobs, PDDP().fit(blobs)),
    ("fails: PDDP()", long, PDDP().fit(long)),
    ("same rows: MDH()", long, MDH().fit(long)),
]
fig, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
for ax, (title, X, model) in zip(axes, models, strict=True):
    draw_clusters(ax, X, model, f"{title}, {model.n_clusters_} clusters")
