"""NCutH with the number of clusters given: where balance helps, and where it does not."""

import matplotlib.pyplot as plt
from _drawing import draw_clusters
from _rows import large_and_small, ridges

from ravine import NCutH
from ravine.datasets import make_blobs

blobs, _ = make_blobs(900, centers=[[0, 0], [5, 0], [2, 5], [9, 5]], cluster_std=[1, 1, 1.2, 0.8], random_state=0)
unequal, _ = large_and_small()
long, _ = ridges()
panels = [
    ("works: four of similar size", blobs, 4),
    ("fails: 970 and 30 rows", unequal, 2),
    ("fails: long clusters", long, 2),
]
fig, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
for ax, (title, X, k) in zip(axes, panels, strict=True):
    draw_clusters(ax, X, NCutH(n_clusters=k).fit(X), f"{title}\nn_clusters={k}")
