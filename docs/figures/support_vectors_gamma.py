"""Two moons with a kernel that is too wide, with the chosen one, and with one that is too narrow."""

import matplotlib.pyplot as plt
from _drawing import plain

from ravine import SupportVectorClustering, plot
from ravine.datasets import make_moons

X, _ = make_moons(400, noise=0.06, random_state=0)
chosen = SupportVectorClustering().fit(X)
figure, axes = plt.subplots(1, 3, figsize=(8, 2.6), layout="constrained")
for ax, factor, name in zip(axes, (1 / 16, 1, 16), ("γ / 16", "chosen γ", "16 γ"), strict=True):
    model = chosen if factor == 1 else SupportVectorClustering(gamma=factor * chosen.gamma_).fit(X)
    plot.support(model, X, vectors=False, equilibria=False, ax=ax)
    ax.set(xlabel="", ylabel="", xlim=(-1.7, 2.7), ylim=(-1.3, 1.8))
    plain(ax, f"{name}: {model.n_clusters_} clusters")
