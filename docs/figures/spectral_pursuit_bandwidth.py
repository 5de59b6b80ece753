"""The same rows with two bandwidths of the similarity, and with the largest margin."""

import matplotlib.pyplot as plt
from _drawing import draw_in_a_square
from _rows import arc_and_core

from ravine import SpectralPursuit

X, _ = arc_and_core()
settings = [
    ("bandwidth_factor=1", {}),
    ("bandwidth_factor=0.5", {"bandwidth_factor": 0.5}),
    ("margin=True", {"margin": True}),
]
fig, axes = plt.subplots(1, 3, figsize=(8, 2.7), layout="constrained")
for ax, (title, options) in zip(axes, settings, strict=True):
    draw_in_a_square(ax, X[:, :2], SpectralPursuit(n_clusters=2, **options).fit_predict(X))
    ax.set_title(title)
