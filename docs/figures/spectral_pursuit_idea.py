"""Two clusters that no hyperplane separates, on principal components and on the plane that SpectralPursuit finds."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_boundaries, draw_in_a_square
from _rows import arc_and_core
from scipy.spatial import KDTree

from ravine import SpectralPursuit

X, _ = arc_and_core()
model = SpectralPursuit(n_clusters=2, bandwidth_factor=0.5).fit(X)
surface = model.tree_.surface[0]


def side(plane):
    """Return whether the microcluster nearest to each position in the plane is on the right."""
    return ~surface.is_left[KDTree(surface.positions).query(plane)[1]]


fig, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
components = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:2]
draw_in_a_square(axes[0], X @ components.T, model.labels_)
axes[0].set_title("two principal components")
draw_in_a_square(axes[1], X @ surface.directions.T, model.labels_)
axes[1].set_title("the plane found")
draw_in_a_square(axes[2], surface.positions, np.where(surface.is_left, 0, 1), size=22)
axes[2].set_title("microclusters and the bent cut")
draw_boundaries(axes[1], side)
draw_boundaries(axes[2], side)
