"""Two clear rings that are found, two blurred rings that are not, and a square without clusters."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_rows, plain
from sklearn.datasets import make_circles

from ravine import SumOfNorms

clear, _ = make_circles(500, noise=0.05, factor=0.5, random_state=0)
blurred, _ = make_circles(1000, noise=0.08, factor=0.5, random_state=0)
square = np.random.default_rng(0).uniform(size=(500, 2))
figure, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
for ax, X in zip(axes, (clear, blurred, square), strict=True):
    model = SumOfNorms().fit(X)
    draw_rows(ax, X, model.labels_, size=10)
    ax.set_box_aspect(1)
    plain(ax, f"{model.n_clusters_} cluster{'s' * (model.n_clusters_ > 1)}, strength {model.strength_:.2f}")
