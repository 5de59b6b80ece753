"""Shapes against methods: what each finds, and how long it takes.

ravine's methods and HDBSCAN choose the number of clusters; the others get it as a parameter.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, Birch, KMeans, SpectralClustering
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from ravine import HSDC, MDH, PDDP, IncrementalMDH, NCutH, SpectralPursuit, SumOfNorms, SupportVectorClustering
from ravine.plot._common import COLORS

N = 600


def shapes():
    rng = np.random.default_rng(0)
    slanted = make_blobs(N, centers=[[-3, -3], [0, 0], [3, 3]], random_state=0, cluster_std=0.7)
    slanted = (slanted[0] @ np.array([[0.6, -0.6], [-0.4, 0.8]]), slanted[1])
    sizes = [50, 150, 400]
    unequal = make_blobs(sizes, centers=[[0, 4], [-4, 0], [4, 0]], cluster_std=[0.5, 1, 1.3], random_state=1)
    many = make_blobs(N, centers=[[i, j] for i in (0, 6, 12) for j in (0, 6, 12)], random_state=2)
    bars = rng.integers(2, size=N)
    parallel = np.column_stack([rng.uniform(-5, 5, N), 1.6 * bars + 0.25 * rng.normal(size=N)])
    return {
        "three clouds": make_blobs(N, centers=[[0, 0], [7, 1], [2, 8]], random_state=0),
        "sizes and widths": unequal,
        "nine clouds": many,
        "slanted": slanted,
        "parallel bars": (parallel, bars),
        "moons": make_moons(N, noise=0.06, random_state=0),
        "rings": make_circles(N, factor=0.4, noise=0.05, random_state=0),
        "nothing": (rng.uniform(size=(N, 2)), np.zeros(N, dtype=int)),
    }


def methods(k):
    return {
        "NCutH": NCutH(),
        "MDH": MDH(),
        "PDDP": PDDP(),
        "Incremental\nMDH": IncrementalMDH(),
        "HSDC": HSDC(),
        "Spectral\nPursuit": SpectralPursuit(),
        "SumOf\nNorms": SumOfNorms(),
        "Support\nVectors": SupportVectorClustering(),
        "HDBSCAN": HDBSCAN(min_cluster_size=15, copy=True),
        "KMeans\nk given": KMeans(k, n_init=10, random_state=0),
        "Birch\nk given": Birch(n_clusters=k, threshold=0.2),
        "Spectral\nk given": SpectralClustering(k, affinity="nearest_neighbors", random_state=0),
    }


data = shapes()
names = list(methods(1))
colors = ListedColormap(COLORS)
figure, axes = plt.subplots(len(data), len(names), figsize=(15, 1.35 * len(data)), layout="constrained")
for line, (shape, (X, y)) in zip(axes, data.items(), strict=True):
    X = StandardScaler().fit_transform(X)
    k = len(np.unique(y))
    for ax, (name, model) in zip(line, methods(k).items(), strict=True):
        with warnings.catch_warnings(action="ignore"):
            if shape == next(iter(data)):
                clone(model).fit(X)  # compiles at the first use
            begun = time.perf_counter()
            labels = model.fit(X).labels_
            took = time.perf_counter() - begun
        inside = labels >= 0
        ax.scatter(*X[inside].T, s=4, c=labels[inside] % len(COLORS), cmap=colors, vmin=-0.5, vmax=len(COLORS) - 0.5)
        ax.scatter(*X[~inside].T, s=3, c="#bbbbbb")
        score = adjusted_rand_score(y, labels)
        found = len(np.unique(labels[inside]))
        said = f"{found} found" if k == 1 else f"{round(score, 2) + 0.0:.2f}"
        ax.text(0.98, 0.02, f"{took:.2f} s", ha="right", va="bottom", size=8, transform=ax.transAxes)
        ax.text(0.02, 0.02, said, weight="bold", va="bottom", size=8, transform=ax.transAxes)
        ax.margins(0.08, 0.18)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(True)
        ax.spines[:].set_color("#cccccc")
        if ax in axes[0]:
            ax.set_title(name, size=10)
    line[0].set_ylabel(shape, size=10)
