"""SpectralPursuit where clusters bend, and where one of them is small."""

import matplotlib.pyplot as plt
from _drawing import draw_clusters
from _rows import large_and_small
from sklearn.datasets import make_circles

from ravine import SpectralPursuit

rings, _ = make_circles(600, noise=0.05, factor=0.3, random_state=0)
unequal, _ = large_and_small(900, 100)
panels = [
    ("works: bandwidth_factor=0.3, n_clusters=2", rings, {"n_clusters": 2, "bandwidth_factor": 0.3}),
    ("fails: 900 rows and 100, told 2", unequal, {"n_clusters": 2}),
    ("the same rows, not told", unequal, {}),
]
fig, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
for ax, (title, X, options) in zip(axes, panels, strict=True):
    draw_clusters(ax, X, SpectralPursuit(**options).fit(X), title)
