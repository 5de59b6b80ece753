"""
Clustering a stream with River
==============================

River is a library for learning from streams. A row is a dictionary, and a model has ``learn_one`` and
``predict_one``. :class:`ravine.river.RiverClusterer` gives this interface to every method with ``partial_fit``.
This example uses :class:`ravine.HSDC` and compares it with River's own ``CluStream``.
"""

# %%
# The data are readings of a heat pump in three operating states, in percent of their design values. After 2,500
# rows the readings of the state with the largest flow fall: the pump has lost pressure.

import numpy as np

rng = np.random.default_rng(6)
names = ["flow", "pressure", "outside", "power"]
states = np.array([[50.0, 30.0, 20.0, 10.0], [80.0, 60.0, 20.0, 60.0], [10.0, 30.0, 60.0, 5.0]])
state = rng.choice(3, 5_000, p=[0.4, 0.3, 0.3])
X = states[state] + 4 * rng.normal(size=(5_000, 4))
X[2_500:][state[2_500:] == 1] -= [22.0, 10.0, 0.0, 18.0]
rows = [dict(zip(names, row, strict=True)) for row in X.round(1).tolist()]
print(rows[0])

# %%
# Each row is predicted before it is learned. ``predict_one`` returns the id of a cluster; a cluster keeps its id
# as long as it exists. Before the first row is learned, the id is 0.

from time import process_time

from river import cluster, preprocessing

from ravine import HSDC
from ravine.river import RiverClusterer

model = RiverClusterer(HSDC())
ids = []
start = process_time()
for row in rows[:500]:
    ids.append(model.predict_one(row))
    model.learn_one(row)
print(f"one row at a time: {500 / (process_time() - start):,.0f} rows a second")

# %%
# Rows can also come in data frames, with the same result. This is much faster, because the tree is not built
# after each row to predict the next one.

import pandas as pd

start = process_time()
for first in range(500, 5_000, 100):
    frame = pd.DataFrame(rows[first : first + 100])
    ids.extend(model.predict_many(frame))
    model.learn_many(frame)
print(f"in frames of 100:  {4_500 / (process_time() - start):,.0f} rows a second")

hsdc = model.model_
print(f"{hsdc.n_clusters_} clusters now: {hsdc.cluster_ids_}")
for event in hsdc.drift_events_:
    print(f"row {event['row']:,}: {event['kind']}, clusters {event['clusters']} are gone")

# %%
# River's own ``CluStream`` gets the number of clusters, three, and River's scaler, without which it does worse. It
# does not take frames. It may renumber its clusters along the stream. So the scores are means over blocks of 200
# rows, within which renumbering does little harm.

from sklearn.metrics import adjusted_rand_score

clustream = preprocessing.StandardScaler() | cluster.CluStream(n_macro_clusters=3, seed=0)
other_ids = []
start = process_time()
for row in rows:
    other_ids.append(clustream.predict_one(row) if len(other_ids) > 100 else 0)
    clustream.learn_one(row)
print(f"CluStream: {5_000 / (process_time() - start):,.0f} rows a second")

for name, first, last in (("before", 1_000, 2_400), ("after", 3_600, 5_000)):
    blocks = [slice(start, start + 200) for start in range(first, last, 200)]
    means = [np.mean([adjusted_rand_score(state[b], found[b]) for b in blocks]) for found in (ids, other_ids)]
    print(f"ARI {name} the change: HSDC {means[0]:.3f}, CluStream {means[1]:.3f}")

# %%
# The plot shows one of the readings over time. The color is the id that a row got before it was learned.
# ``CluStream`` follows the state that moves without interruption, but does not report that it moved. Its numbers
# switch now and then. ``HSDC`` reports the row at which the clusters no longer matched what it had learned. It
# relearns the two clusters that met, and the third keeps its id.

import matplotlib.pyplot as plt

fig, axes = plt.subplots(2, 1, figsize=(8, 5), layout="constrained", sharex=True)
titles = ("HSDC, number of clusters chosen automatically", "CluStream, three clusters given")
for ax, found, title in zip(axes, (ids, other_ids), titles, strict=True):
    _, code = np.unique(found, return_inverse=True)
    ax.scatter(np.arange(5_000), X[:, 0], c=code % 10, cmap="tab10", vmin=0, vmax=9, s=3, linewidth=0)
    ax.set(title=title, ylabel="flow")
    ax.spines[["top", "right"]].set_visible(False)
_ = axes[1].set_xlabel("row")
