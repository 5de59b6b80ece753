"""
A Dask array
============

Rows that lie in many pieces, on disk or on several machines, need not be brought together.
:class:`ravine.NCutH` takes a Dask array by the same call as a NumPy array: the pieces stay where they are,
and each step of the search brings back a few small arrays.
"""

# %%
# 280,000 rows in eight pieces, each of which is made when it is asked for. Nothing is computed yet.

import dask.array as da
import numpy as np

centers = 3 * np.random.default_rng(0).normal(size=(6, 8))


def piece(block_info=None):
    """Make the rows of one piece, always the same."""
    rng = np.random.default_rng(block_info[None]["chunk-location"][0])
    return centers[rng.integers(6, size=35_000)] + rng.normal(size=(35_000, 8))


X = da.map_blocks(piece, chunks=((35_000,) * 8, (8,)), dtype=float, meta=np.empty((0, 0)))
print(X)

# %%
# Without a cluster the pieces are computed in every pass, by threads of this process. With a current
# ``distributed.Client``, its workers would do the passes.

from time import perf_counter

from ravine import NCutH

NCutH(2).fit(X[:10_000])  # compiles, or reads what is compiled
start = perf_counter()
model = NCutH(6).fit(X)
print(f"in pieces: {perf_counter() - start:.1f} s")
print(model.labels_)

# %%
# ``labels_``, ``predict`` and ``transform`` are lazy, with the pieces of ``X``. Here only one piece is
# computed.

print("rows of each cluster in the first piece:", np.bincount(model.labels_.blocks[0].compute()))

# %%
# The same rows in memory.

rows = X.compute()
start = perf_counter()
in_memory = NCutH(6).fit(rows)
print(f"in memory: {perf_counter() - start:.1f} s")
print("same labels:", np.array_equal(model.predict(rows), in_memory.labels_))
difference = abs(model.tree_.normal - in_memory.tree_.normal).max()
print(f"same tree: {np.array_equal(model.tree_.left, in_memory.tree_.left)}, its normals within {difference:.0e}")

# %%
# In memory it is faster, of course, as long as there is memory: pieces that are made anew in every pass cost
# their making each time, and a cluster would keep them (``X.persist()``). The tree is the same up to the last
# digits, in which sums over pieces differ from sums over all rows. The first cut, drawn from one piece:

import matplotlib.pyplot as plt

from ravine import plot

first = X.blocks[0].compute()
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
plot.density(model, first, ax=left)
plot.node(model, first, ax=right)
_ = fig.suptitle("one piece of eight")
