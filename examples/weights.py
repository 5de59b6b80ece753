"""
Using sample weights
====================

A row of weight 3 counts as three equal rows. So you can cluster a table of counts (the number of customers with
these answers, the number of events in this bin) without repeating its rows.
"""

# %%
# The data are 2,000 locations, each with a number of visits. With one row per visit they are a table of about ten
# thousand rows.

import numpy as np

from ravine.datasets import make_blobs

rng = np.random.default_rng(0)
centers = [[0, 0], [9, 1], [2, 8], [12, 9], [-7, 5]]
locations, y = make_blobs(2_000, centers=centers, cluster_std=1.3, random_state=0)
visits = rng.geometric(0.2, size=2_000)
repeated = np.repeat(locations, visits, axis=0)
print(f"{len(repeated):,} rows, {len(locations):,} distinct, the most frequent {visits.max()} times")

# %%
# With the number of clusters given, the methods find the same tree for both. The normals differ by the tolerance
# of the search, and by rounding only if a method has no search.

from ravine import MDH, PDDP, NCutH

for model in (NCutH(5), MDH(5), PDDP(5, criterion="mean")):
    from_repeats = model.fit(repeated).tree_
    from_weights = model.fit(locations, sample_weight=visits).tree_
    same = np.array_equal(from_repeats.predict(repeated), from_weights.predict(repeated))
    off = abs(from_repeats.normal - from_weights.normal).max()
    size = from_weights.count[from_weights.leaves].astype(int)
    print(f"{type(model).__name__:5s} same labels: {same}, normals within {off:.0e}, rows {size}")

# %%
# There is one difference, and it is intended. If the number is chosen automatically, a test on held-out rows
# decides. A weighted row remains one observation. Copies count as many observations that happen to agree, and
# then every space between them is a valley. Here are forty rows without any clusters, fifty times each:

few = rng.normal(size=(40, 2))
as_copies = NCutH().fit(np.repeat(few, 50, axis=0))
as_weights = NCutH().fit(few, sample_weight=np.full(40, 50))
print(f"as copies: {as_copies.n_clusters_} clusters; as weights: {as_weights.n_clusters_} cluster")

# %%
# The left plot shows the locations with their clusters; the area of a point is its number of visits. The right
# plot shows the clusters found in the copies of the forty rows. If a table may contain copies, count them and use
# the counts as weights.

import matplotlib.pyplot as plt

model = NCutH(5).fit(locations, sample_weight=visits)
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
colors = np.array(["#4477aa", "#ee7733", "#228833", "#aa3377", "#33bbee", "#aa9911", "#774411"])
shown = ((model, locations, visits, "2,000 locations, weights"), (as_copies, few, 50, "40 rows, 50 copies of each"))
for ax, (fitted, rows, weight, title) in zip(axes, shown, strict=True):
    x, y = np.meshgrid(*(np.linspace(column.min() - 0.5, column.max() + 0.5, 300) for column in rows.T))
    region = fitted.predict(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    ax.scatter(*rows.T, s=np.multiply(weight, 1.5), c=colors[fitted.predict(rows) % 7], alpha=0.6, linewidth=0)
    ax.contour(x, y, region, levels=np.arange(fitted.n_clusters_) + 0.5, colors="#222222", linewidths=0.6)
    ax.set_title(f"{title}: {fitted.n_clusters_} clusters")
    ax.set_axis_off()
