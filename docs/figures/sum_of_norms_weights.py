"""Two moons clustered with neighbors as edges, and with all pairs as edges."""

import matplotlib.pyplot as plt
from _drawing import draw_rows, plain
from sklearn.metrics import adjusted_rand_score

from ravine import SumOfNorms
from ravine.datasets import make_moons

X, y = make_moons(300, noise=0.07, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(8, 2.9), layout="constrained")
for ax, weights in zip(axes, ("knn", "uniform"), strict=True):
    model = SumOfNorms(weights=weights, n_clusters=2).fit(X)
    draw_rows(ax, X, model.labels_, size=14)
    ax.scatter(*model.cluster_centers_.T, s=130, marker="+", color="#222222", linewidth=2)
    ax.set_aspect("equal")
    plain(ax, f'weights="{weights}": ARI {adjusted_rand_score(y, model.labels_):.2f}')
