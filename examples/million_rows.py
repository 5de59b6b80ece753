"""
A million rows
==============

:class:`ravine.IncrementalMDH` learns a tree of cuts from a stream in bounded memory, and decides itself how
many clusters there are. Here it stands beside ``MiniBatchKMeans``, the usual answer to many rows, which has
to be told.
"""

# %%
# Twelve clusters in twenty columns. The largest has twenty times the rows of the smallest.

import numpy as np

rng = np.random.default_rng(0)
centers = 2 * rng.normal(size=(12, 20))
share = np.geomspace(1, 20, 12)
y = rng.choice(12, 1_000_000, p=share / share.sum())
X = rng.standard_normal((1_000_000, 20), dtype=np.float32) + centers[y].astype(np.float32)
print(f"{X.shape[0]:,} rows, {X.shape[1]} columns, {X.nbytes / 1e6:.0f} MB")
print("rows of each cluster:", np.bincount(y))

# %%
# A first fit on a few rows compiles the code, or reads what an earlier run has compiled. After it the times
# are those of the work alone.

from time import process_time

from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from ravine import IncrementalMDH

_ = IncrementalMDH().partial_fit(X[:5_000]).predict(X[:10])

# %%
# ``fit`` has all rows at hand: it draws 20,000 of them, grows the tree on these, and sends all rows down the
# tree. ``partial_fit`` learns a hundred batches one after the other, as if they came from files that do not
# fit into memory; every row moves the cuts that it passes. Every run has one thread and includes the labels
# of all rows; times are seconds of that thread.


def fit_in_batches(model):
    """Learn a hundred batches."""
    for batch in np.array_split(X, 100):
        model.partial_fit(batch)
    return model


runs = {
    "IncrementalMDH, fit": lambda: IncrementalMDH(n_jobs=1).fit(X),
    "IncrementalMDH, partial_fit": lambda: fit_in_batches(IncrementalMDH(n_jobs=1)),
    "MiniBatchKMeans, told 12": lambda: MiniBatchKMeans(12, batch_size=10_000, random_state=0).fit(X),
    "MiniBatchKMeans, told 10": lambda: MiniBatchKMeans(10, batch_size=10_000, random_state=0).fit(X),
}
found = {}
for name, run in runs.items():
    with threadpool_limits(1):
        start = process_time()
        found[name] = run().predict(X)
        seconds = process_time() - start
    score = adjusted_rand_score(y, found[name])
    print(f"{name:27s} {found[name].max() + 1:3d} clusters {seconds:6.2f} s   ARI {score:.3f}")

# %%
# The times are of the same order. Told the right number, ``MiniBatchKMeans`` still leaves small clusters
# together and divides the largest one instead, since that costs the sum of squares less; what it leaves
# together depends on its random start. A cut at a valley does not ask how large its sides are.
#
# Each row of the picture is a true cluster, the smallest on top, each column a cluster that was found. A
# column with two dark fields has two clusters in it. A row with two dark fields was divided.

import matplotlib.pyplot as plt
from sklearn.metrics.cluster import contingency_matrix

fig, axes = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained", sharey=True)
names = ["IncrementalMDH, partial_fit", "MiniBatchKMeans, told 12", "MiniBatchKMeans, told 10"]
for ax, name in zip(axes, names, strict=True):
    table = contingency_matrix(y, found[name])
    order = np.argsort(table.argmax(axis=0), kind="stable")  # columns beside the true cluster that they hold most of
    image = ax.imshow(table[:, order] / table.sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ax.set_title(name, fontsize=10)
    ax.set(xlabel="cluster found", xticks=[], yticks=range(12))
axes[0].set_ylabel("true cluster")
axes[0].set_yticks(range(12), [f"{count:,}" for count in np.bincount(y)])
_ = fig.colorbar(image, ax=axes, label="share of the true cluster", shrink=0.8)
