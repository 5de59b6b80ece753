"""SpectralPursuit on rings, and on two clusters of which one is small."""

import matplotlib.pyplot as plt
from _drawing import draw_clusters
from _rows import large_and_small
from sklearn.datasets import make_circles

from ravine import SpectralPursuit

rings, _ = make_circles(600, noise=0.05, factor=0.3, random_state=0)
unequal, _ = large_and_small(900, 100)
panels = [
    ("works: n_clusters=2,\nbandwidth_factor=0.3", rings, {"n_clusters": 2, "bandwidth_factor": 0.3}),
    ("fails: 900 and 100 rows,\nn_clusters=2", unequal, {"n_clusters": 2}),
    ("same rows,\nn_clusters=None", unequal, {}),
]
fig, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
for ax, (title, X, options) in zip(axes, panels, strict=True):
    draw_clusters(ax, X, SpectralPursuit(**options).fit(X), title)
