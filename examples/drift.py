"""
Detecting drift in a stream
===========================

:class:`ravine.HSDC` learns from every row once and keeps none of them. It needs neither a number of clusters
nor a window. When the population changes, it reports the row and the clusters that are gone. All other
clusters keep their ids.
"""

# %%
# Four machines report six readings each, in random order. After 20,000 rows the third machine moves, within
# 500 rows, to a state between those of the first and the second. After 40,000 rows a fifth machine starts.

import numpy as np

rng = np.random.default_rng(3)
n_samples = 60_000
centers = 5 * rng.normal(size=(5, 6))
machine = rng.integers(4, size=n_samples)
machine[40_000:] = rng.integers(5, size=20_000)
X = centers[machine] + rng.normal(size=(n_samples, 6))
moved = (centers[0] + centers[1]) / 2 - centers[2]
progress = np.clip((np.arange(n_samples) - 20_000) / 500, 0, 1)
X[machine == 2] += (progress[:, None] * moved)[machine == 2]

# %%
# The model learns batches of 200 rows, and labels each batch before it learns it. ``predict`` numbers the
# clusters of the present tree from 0; ``cluster_ids_`` has ids that stay with a cluster.

from ravine import HSDC

model = HSDC()
ids = np.full(n_samples, -1)
for start in range(0, n_samples, 200):
    batch = slice(start, start + 200)
    if start:
        ids[batch] = model.cluster_ids_[model.predict(X[batch])]
    model.partial_fit(X[batch])
print(f"{model.n_samples_seen_:,} rows learned, {model.n_clusters_} clusters now: {model.cluster_ids_}")

# %%
# ``events_`` lists what happened. In a drift event, ``p0`` is the rate at which rows fell close to the cut
# before, and ``p1`` is the rate without a valley. If later rows never confirmed a cut, its removal is not a
# drift; the event then has the kind ``withdrawal``. Here there is none.

for event in model.events_:
    if event["kind"] == "split":
        print(f"row {event['row']:6,}  split  {event['node']} becomes {event['clusters']}")
    else:
        rates = f"p0 = {event['p0']:.3f}, p1 = {event['p1']:.2f}"
        print(f"row {event['row']:6,}  {event['kind']}  {event['clusters']} are gone, {rates}")

# %%
# Each marker stands for a thousand rows of the stream. It shows an id that at least five rows of a machine got
# before the model learned them. The cuts beside machines 0 and 1 stay, so their clusters keep their ids through
# both changes. Machine 3 has not moved either, but it was next to machine 2. When the cut between them is
# removed, both are learned again. Other draws of this stream end with up to three clusters more than there are
# machines, because a cluster that gets no more rows stays and because a leaf is tested after every row.

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
ax.set_title("dashed: the population changes; red: drift is reported")
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.legend(loc="upper left", frameon=False)
ax.spines[["top", "right"]].set_visible(False)
