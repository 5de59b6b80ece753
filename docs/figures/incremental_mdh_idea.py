"""The cuts of IncrementalMDH after 100, 300 and 5,000 rows of a stream."""

import matplotlib.pyplot as plt
from _drawing import draw_boundaries, draw_in_a_square

from ravine import IncrementalMDH
from ravine.datasets import make_blobs

X, _ = make_blobs(5000, centers=[[0, 0], [6, 0], [0, 7], [7, 7], [14, 3], [13, 10]], random_state=0)
model, seen = IncrementalMDH(), 0
fig, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
for ax, n_rows in zip(axes, (100, 300, 5000), strict=True):
    model.partial_fit(X[seen:n_rows])
    seen = n_rows
    draw_in_a_square(ax, X[:n_rows], model.predict(X[:n_rows]), size=9 if n_rows < 1000 else 3)
    ax.set(xlim=(-4, 18), ylim=(-6, 16), title=f"after {n_rows:,} rows: {model.n_clusters_} clusters")
    draw_boundaries(ax, model.predict)
