"""
A stream that drifts
====================

:class:`ravine.HSDC` learns every row once and keeps none. It is told neither a number of clusters nor a
window. When the population changes it says at which row, and which clusters are gone; all other clusters keep
their ids.
"""

# %%
# Four machines report six readings each, in a random order. After 20,000 rows the third machine slides to
# another state, which lies between those of the first and the second, within 500 rows. After 40,000 a fifth
# machine is switched on.

import numpy as np

rng = np.random.default_rng(3)
n_rows = 60_000
centers = 5 * rng.normal(size=(5, 6))
machine = rng.integers(4, size=n_rows)
machine[40_000:] = rng.integers(5, size=20_000)
X = centers[machine] + rng.normal(size=(n_rows, 6))
moved = (centers[0] + centers[1]) / 2 - centers[2]
progress = np.clip((np.arange(n_rows) - 20_000) / 500, 0, 1)
X[machine == 2] += (progress[:, None] * moved)[machine == 2]

# %%
# Rows are learned in batches of 200, and each batch is labeled before it is learned. ``labels_`` are numbers
# from 0 in the present tree; ``cluster_ids_`` are the ids that stay.

from ravine import HSDC

model = HSDC()
ids = np.full(n_rows, -1)
for start in range(0, n_rows, 200):
    batch = slice(start, start + 200)
    if start:
        ids[batch] = model.cluster_ids_[model.predict(X[batch])]
    model.partial_fit(X[batch])
print(f"{model.n_samples_seen_:,} rows learned, {model.n_clusters_} clusters now: {model.cluster_ids_}")

# %%
# The events. At a drift, ``p0`` is the rate at which rows had fallen close to the cut, ``p1`` the rate at
# which they would without a valley. A cut that later rows never confirm is taken back, too; the kind of that
# event is ``withdrawal``, and it is no drift. Here there is none.

for event in model.events_:
    if event["kind"] == "split":
        print(f"row {event['row']:6,}  split  {event['node']} becomes {event['clusters']}")
    else:
        rates = f"p0 = {event['p0']:.3f}, p1 = {event['p1']:.2f}"
        print(f"row {event['row']:6,}  {event['kind']}  {event['clusters']} are gone, {rates}")

# %%
# Each point is a thousand rows of the stream: the id that five or more rows of a machine were given before
# they were learned. Machines 0 and 1 lie beyond cuts that hold, so their clusters keep their ids through both
# changes. Machine 3 has not moved either, but it lay beside machine 2: when the cut between them falls, both
# are learned anew. Other draws of these streams end with up to three clusters more than there are machines, since a
# cluster that gets no more rows stays, and a leaf is tested again and again.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(9, 4), layout="constrained")
colors, markers = ["#4477aa", "#ee7733", "#228833", "#aa3377", "#aa9911"], "o^sDP"
for number in range(5):
    batch = np.flatnonzero((machine == number) & (ids >= 0)) // 1_000
    pairs, count = np.unique([batch, ids[(machine == number) & (ids >= 0)]], axis=1, return_counts=True)
    row, cluster = pairs[:, count >= 5]
    ax.scatter(
        1_000 * row + 500,
        cluster + 0.16 * (number - 2),
        s=14,
        c=colors[number],
        marker=markers[number],
        label=f"machine {number}",
    )
for change in (20_000, 40_000):
    ax.axvline(change, color="#222222", linestyle=(0, (3, 2)), linewidth=1)
for event in model.drift_events_:
    ax.axvline(event["row"], color="#cc3311", linewidth=1)
ax.set(xlabel="row", ylabel="id of the cluster", yticks=np.unique(ids[ids >= 0]))
ax.set_title("dashed: the population changes; red: drift is found")
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.legend(loc="upper left", frameon=False)
ax.spines[["top", "right"]].set_visible(False)
