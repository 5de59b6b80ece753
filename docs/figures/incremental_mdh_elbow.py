"""The sums of squares that the elbow uses, for data with and without clusters."""

import matplotlib.pyplot as plt
import numpy as np

from ravine import IncrementalMDH, plot
from ravine.datasets import make_blobs

blobs, _ = make_blobs(2000, centers=[[0, 0], [6, 0], [0, 7], [7, 7], [14, 3], [13, 10]], random_state=0)
square = np.random.default_rng(0).uniform(size=(2000, 2))
fig, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for ax, X, title in zip(axes, (blobs, square), ("six clusters", "one cluster, a uniform square"), strict=True):
    plot.elbow(IncrementalMDH(selection="elbow").fit(X), ax=ax)
    ax.set(title=title, xlim=(0, 24.5))
