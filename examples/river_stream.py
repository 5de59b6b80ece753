"""
In River, one row at a time
===========================

River is a library for learning from streams: a row is a dictionary, and a model has ``learn_one`` and
``predict_one``. :class:`ravine.river.RiverClusterer` lets every method with ``partial_fit`` take part in
that, here :class:`ravine.HSDC`, beside River's own ``CluStream``.
"""

# %%
# Readings of a heat pump in three modes, in percent of what it was built for. After 2,500 rows the mode with
# the largest flow sinks: the pump has lost pressure.

import numpy as np

rng = np.random.default_rng(6)
names = ["flow", "pressure", "outside", "power"]
modes = np.array([[50.0, 30.0, 20.0, 10.0], [80.0, 60.0, 20.0, 60.0], [10.0, 30.0, 60.0, 5.0]])
mode = rng.choice(3, 5_000, p=[0.4, 0.3, 0.3])
X = modes[mode] + 4 * rng.normal(size=(5_000, 4))
X[2_500:][mode[2_500:] == 1] -= [22.0, 10.0, 0.0, 18.0]
rows = [dict(zip(names, row, strict=True)) for row in X.round(1).tolist()]
print(rows[0])

# %%
# A row is predicted before it is learned. ``predict_one`` gives the id of a cluster, which stays as long as
# the cluster lives; it is 0 before anything is known.

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
# Rows may also come in frames, with the same result: that is much faster, since the tree is not taken out
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
# River's own ``CluStream``, told that there are three clusters, and after River's scaler, without which it
# does worse. It takes no frames. It may number its clusters anew as it goes, so the scores are means over
# blocks of 200 rows, within which that does little harm.

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
    means = [np.mean([adjusted_rand_score(mode[b], found[b]) for b in blocks]) for found in (ids, other_ids)]
    print(f"ARI {name} the change: HSDC {means[0]:.3f}, CluStream {means[1]:.3f}")

# %%
# One of the readings over time; the color is the id that a row was given before it was learned. ``CluStream``
# follows the mode that moves without a gap, and does not say that it moved; its numbers change places now and
# then. ``HSDC`` says at which row the clusters were no longer what it had learned. It learns the two that met
# anew, and the third keeps its id.

import matplotlib.pyplot as plt

fig, axes = plt.subplots(2, 1, figsize=(8, 5), layout="constrained", sharex=True)
for ax, found, title in zip(
    axes, (ids, other_ids), ("HSDC, not told the number", "CluStream, told three"), strict=True
):
    known, place = np.unique(found, return_inverse=True)
    ax.scatter(np.arange(5_000), X[:, 0], c=place % 10, cmap="tab10", vmin=0, vmax=9, s=3, linewidth=0)
    ax.set(title=title, ylabel="flow")
    ax.spines[["top", "right"]].set_visible(False)
_ = axes[1].set_xlabel("row")
