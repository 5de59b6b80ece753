"""
Clustering a Dask array
=======================

Data in many chunks, on disk or on several machines, does not have to be loaded into one memory.
:class:`ravine.NCutH` accepts a Dask array in the same call as a NumPy array. The chunks stay where they are,
and each pass over them returns a few small arrays.
"""

# %%
# The array has 280,000 rows in eight chunks. A chunk is generated when it is needed; nothing is computed yet.

import dask.array as da
import numpy as np

centers = 3 * np.random.default_rng(0).normal(size=(6, 8))


def chunk(block_info=None):
    """Generate the rows of one chunk, always the same ones."""
    rng = np.random.default_rng(block_info[None]["chunk-location"][0])
    return centers[rng.integers(6, size=35_000)] + rng.normal(size=(35_000, 8))


X = da.map_blocks(chunk, chunks=((35_000,) * 8, (8,)), dtype=float, meta=np.empty((0, 0)))
print(X)

# %%
# Without a Dask cluster, threads of this process compute the chunks in every pass. If there is a current
# ``distributed.Client``, its workers do the passes.

from time import perf_counter

from ravine import NCutH

NCutH(2).fit(X[:10_000])  # compiles, or loads the compiled code
start = perf_counter()
model = NCutH(6).fit(X)
print(f"in chunks: {perf_counter() - start:.1f} s")
print(model.labels_)

# %%
# ``labels_``, ``predict`` and ``transform`` are lazy and have the chunks of ``X``. Here only one chunk is
# computed.

print("rows of each cluster in the first chunk:", np.bincount(model.labels_.blocks[0].compute()))

# %%
# For comparison, the same rows in memory:

rows = X.compute()
start = perf_counter()
in_memory = NCutH(6).fit(rows)
print(f"in memory: {perf_counter() - start:.1f} s")
print("same labels:", np.array_equal(model.predict(rows), in_memory.labels_))
difference = abs(model.tree_.normal - in_memory.tree_.normal).max()
print(f"same tree: {np.array_equal(model.tree_.left, in_memory.tree_.left)}, its normals within {difference:.0e}")

# %%
# A fit in memory is faster, as long as the data fits. Here every pass has to generate the chunks again; a
# cluster would keep them (``X.persist()``). The two trees agree except in the last digits, where sums over
# chunks differ from sums over all rows. The plot shows the first cut with the rows of one chunk:

import matplotlib.pyplot as plt

from ravine import plot

first = X.blocks[0].compute()
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
plot.density(model, first, ax=left)
plot.node(model, first, ax=right)
_ = fig.suptitle("one chunk of eight")
