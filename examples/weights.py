"""
Rows with weights
=================

A row of weight 3 is three equal rows. A table that is counted rather than listed (so many customers with
these answers, so many events in this bin) need not be written out.
"""

# %%
# 2,000 places, each with a number of visits: written out they are a table of some ten thousand rows.

import numpy as np

from ravine.datasets import make_blobs

rng = np.random.default_rng(0)
centers = [[0, 0], [9, 1], [2, 8], [12, 9], [-7, 5]]
places, y = make_blobs(2_000, centers=centers, cluster_std=1.3, random_state=0)
visits = rng.geometric(0.2, size=2_000)
listed = np.repeat(places, visits, axis=0)
print(f"{len(listed):,} rows, {len(places):,} distinct, the commonest {visits.max()} times")

# %%
# Told the number of clusters, the methods give the same tree for both. Normals differ as much as a search
# that ends at a small slope leaves open, and by rounding only where there is no search.

from ravine import MDH, PDDP, NCutH

for model in (NCutH(5), MDH(5), PDDP(5, criterion="mean")):
    from_list = model.fit(listed).tree_
    from_weights = model.fit(places, sample_weight=visits).tree_
    same = np.array_equal(from_list.predict(listed), from_weights.predict(listed))
    off = abs(from_list.normal - from_weights.normal).max()
    size = from_weights.count[from_weights.leaves].astype(int)
    print(f"{type(model).__name__:5s} same labels: {same}, normals within {off:.0e}, rows {size}")

# %%
# There is one difference, and it is meant. Where nobody tells the number, a test on held-out rows decides. A
# weight makes a row heavier, but it stays one observation. Copies are taken for so many observations that
# happen to agree, and then every gap between them is a valley. Here are forty rows without any clusters,
# fifty times each:

few = rng.normal(size=(40, 2))
as_copies = NCutH().fit(np.repeat(few, 50, axis=0))
as_weights = NCutH().fit(few, sample_weight=np.full(40, 50))
print(f"as copies: {as_copies.n_clusters_} clusters; as weights: {as_weights.n_clusters_} cluster")

# %%
# On the left are the places with their clusters; the area of a point is its number of visits. On the right is
# what the copies of the forty rows were taken for. If a table may hold copies, count them first.

import matplotlib.pyplot as plt

model = NCutH(5).fit(places, sample_weight=visits)
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
colors = np.array(["#4477aa", "#ee7733", "#228833", "#aa3377", "#33bbee", "#aa9911", "#774411"])
shown = ((model, places, visits, "2,000 places, weights"), (as_copies, few, 50, "40 rows, 50 copies of each"))
for ax, (fitted, rows, weight, title) in zip(axes, shown, strict=True):
    x, y = np.meshgrid(*(np.linspace(column.min() - 0.5, column.max() + 0.5, 300) for column in rows.T))
    region = fitted.predict(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    ax.scatter(*rows.T, s=np.multiply(weight, 1.5), c=colors[fitted.predict(rows) % 7], alpha=0.6, linewidth=0)
    ax.contour(x, y, region, levels=np.arange(fitted.n_clusters_) + 0.5, colors="#222222", linewidths=0.6)
    ax.set_title(f"{title}: {fitted.n_clusters_} clusters")
    ax.set_axis_off()
