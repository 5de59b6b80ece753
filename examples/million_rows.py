"""
Clustering a million rows
=========================

:class:`ravine.IncrementalMDH` learns a tree of cuts from a stream in bounded memory, and chooses the number of
clusters automatically. This example compares it with ``MiniBatchKMeans``, the usual method for many rows,
which needs the number.
"""

# %%
# The data are twelve clusters in twenty columns. The largest has twenty times as many rows as the smallest.

import numpy as np

rng = np.random.default_rng(0)
centers = 2 * rng.normal(size=(12, 20))
share = np.geomspace(1, 20, 12)
y = rng.choice(12, 1_000_000, p=share / share.sum())
X = rng.standard_normal((1_000_000, 20), dtype=np.float32) + centers[y].astype(np.float32)
print(f"{X.shape[0]:,} rows, {X.shape[1]} columns, {X.nbytes / 1e6:.0f} MB")
print("rows of each cluster:", np.bincount(y))

# %%
# A first fit on a few rows compiles the code, or loads what an earlier run has compiled. The times below then
# do not include compilation.

from time import process_time

from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from ravine import IncrementalMDH

_ = IncrementalMDH().partial_fit(X[:5_000]).predict(X[:10])

# %%
# ``fit`` takes in-memory data: it draws 20,000 rows, grows the tree on them, and sends all rows down the tree.
# ``partial_fit`` learns a hundred batches one after the other, as if they came from files that do not fit into
# memory. Every row moves the cuts on its path. Each run uses one thread and includes the labels of all rows. The
# times are CPU seconds.


def fit_in_batches(model):
    """Learn a hundred batches."""
    for batch in np.array_split(X, 100):
        model.partial_fit(batch)
    return model


runs = {
    "IncrementalMDH, fit": lambda: IncrementalMDH(n_jobs=1).fit(X),
    "IncrementalMDH, partial_fit": lambda: fit_in_batches(IncrementalMDH(n_jobs=1)),
    "MiniBatchKMeans(12)": lambda: MiniBatchKMeans(12, batch_size=10_000, random_state=0).fit(X),
    "MiniBatchKMeans(10)": lambda: MiniBatchKMeans(10, batch_size=10_000, random_state=0).fit(X),
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
# The times are of the same order. Even with the right number, ``MiniBatchKMeans`` leaves small clusters together
# and divides the largest one instead, because that reduces the sum of squares more. Which clusters it leaves
# together depends on its random start. A cut at a valley does not depend on the sizes of its sides.
#
# Each row of the plot is a true cluster, the smallest on top, and each column is a cluster that was found. A
# column with two dark fields contains two true clusters. A row with two dark fields was divided.

import matplotlib.pyplot as plt
from sklearn.metrics.cluster import contingency_matrix

fig, axes = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained", sharey=True)
names = ["IncrementalMDH, partial_fit", "MiniBatchKMeans(12)", "MiniBatchKMeans(10)"]
for ax, name in zip(axes, names, strict=True):
    table = contingency_matrix(y, found[name])
    order = np.argsort(table.argmax(axis=0), kind="stable")  # by the true cluster that each contains most of
    image = ax.imshow(table[:, order] / table.sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ax.set_title(name, fontsize=10)
    ax.set(xlabel="cluster found", xticks=[], yticks=range(12))
axes[0].set_ylabel("true cluster")
axes[0].set_yticks(range(12), [f"{count:,}" for count in np.bincount(y)])
_ = fig.colorbar(image, ax=axes, label="share of the true cluster", shrink=0.8)
