"""The function w of SupportVectorClustering on two moons, and along a line through both."""

import matplotlib.pyplot as plt
import numpy as np

from ravine import SupportVectorClustering, plot
from ravine.datasets import make_moons
from ravine.plot._common import COLORS, FAINT, LINE

X, _ = make_moons(400, noise=0.06, random_state=0)
model = SupportVectorClustering().fit(X)
figure, (plane, line) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained", width_ratios=[1.25, 1])
plot.support(model, vectors=False, equilibria=False, ax=plane)
height = 0.3
plane.axhline(height, color=COLORS[3], linewidth=1.2, linestyle="--")
plane.set(title="", xlabel="", ylabel="", xticks=[], yticks=[], xlim=(-1.5, 2.5), ylim=(-1.2, 1.6))
plane.spines[:].set_visible(False)

x = np.linspace(-1.5, 2.5, 600)
w = model.decision_function(np.column_stack([x, np.full(600, height)])) + model.offset_
line.plot(x, w, color=COLORS[3], label="w along the dashed line")
line.axhline(model.level_, color=FAINT, linestyle=":", linewidth=2.4, label="level of the clusters (level_)")
line.axhline(model.offset_, color=LINE, linewidth=1, label="boundary for outliers (offset_)")
line.set(ylabel="w", xlabel="x0", ylim=(0, None))
line.spines[["top", "right"]].set_visible(False)
line.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=9, borderaxespad=0)
