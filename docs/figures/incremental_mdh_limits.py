"""A cluster with 3 % of the rows that IncrementalMDH misses, and one cluster that the elbow cuts into pieces."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_clusters, draw_in_a_square

from ravine import MDH, IncrementalMDH

rng = np.random.default_rng(0)
rows = rng.normal(size=(2000, 10))
rows[1940:, 0] += 7
square = np.random.default_rng(0).uniform(size=(2000, 2))
elbow = IncrementalMDH(selection="elbow").fit(square)

fig, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
small = IncrementalMDH(selection="evidence").fit(rows)
draw_in_a_square(axes[0], rows[:, :2], small.labels_)
axes[0].set_title(f"fails: 1,940 and 60 rows,\n{small.n_clusters_} cluster")
other = MDH().fit(rows)
draw_in_a_square(axes[1], rows[:, :2], other.labels_)
axes[1].set_title(f"same rows with MDH(),\n{other.n_clusters_} clusters")
draw_clusters(axes[2], square, elbow, f"fails: a uniform square,\nselection='elbow', {elbow.n_clusters_} clusters")
