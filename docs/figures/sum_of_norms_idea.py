"""Two moons: the paths on which centroids fuse, and the number of groups at each λ."""

import matplotlib.pyplot as plt

from ravine import SumOfNorms, plot
from ravine.datasets import make_moons

X, _ = make_moons(300, noise=0.07, random_state=0)
model = SumOfNorms().fit(X)
figure, (paths, counts) = plt.subplots(1, 2, figsize=(8, 3.7), layout="constrained", width_ratios=[1.15, 1])
plot.clusterpath(model, ax=paths)
paths.set(title="the paths of the centroids", xlabel="", ylabel="", xticks=[], yticks=[])
paths.get_legend().remove()
plot.fusions(model, ax=counts)
counts.set_title("")
counts.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=9, frameon=False, borderaxespad=0)
