"""
Clustering a sparse matrix
==========================

The hyperplane methods accept a SciPy CSR matrix and never make it dense. A cut needs only the projected values
of the rows, and their cost is proportional to the number of stored entries.
"""

# %%
# The data are 50,000 shopping baskets with 20,000 products, from six groups of customers. A basket has about 30
# products, most of them from the shelf that its group prefers.

import numpy as np
from scipy import sparse

rng = np.random.default_rng(0)
n_baskets, n_products = 50_000, 20_000
group = rng.choice(6, n_baskets, p=[0.3, 0.25, 0.2, 0.12, 0.08, 0.05])
row = np.repeat(np.arange(n_baskets), rng.poisson(30, n_baskets) + 1)
own = 3_000 * group[row] + rng.zipf(1.3, len(row)) % 3_000  # some products of a shelf are far more frequent than others
product = np.where(rng.random(len(row)) < 0.7, own, rng.integers(n_products, size=len(row)))
baskets = sparse.csr_matrix((np.ones(len(row)), (row, product)), shape=(n_baskets, n_products))
baskets.data = np.log1p(baskets.data)

size = baskets.data.nbytes + baskets.indices.nbytes + baskets.indptr.nbytes
print(f"{baskets.nnz:,} entries: {size / 1e6:.0f} MB, and {8 * n_baskets * n_products / 1e6:,.0f} MB as a dense matrix")

# %%
# ``tracemalloc`` measures the memory that NumPy and Python allocate during each fit.

import tracemalloc
from time import perf_counter

from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from ravine import PDDP, NCutH

models = [NCutH(6), PDDP(6), PDDP(6, criterion="mean"), KMeans(6, n_init=3, random_state=0)]
for model in models:
    model.fit(baskets[:500])  # compiles, or loads the compiled code
    tracemalloc.start()
    start = perf_counter()
    model.fit(baskets)
    seconds, (_, peak) = perf_counter() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    score = adjusted_rand_score(group, model.labels_)
    print(f"{model!s:46s} ARI {score:.2f}, {seconds:5.2f} s, {peak / 1e6:3.0f} MB peak")

# %%
# The methods that cut at a valley find all six groups. ``PDDP`` with the classic cut at the mean and ``KMeans``
# divide a large group and leave small ones together.
#
# The left plot shows 600 baskets in the order of their clusters; each entry is a point. The right plot shows all
# baskets along the normal of the first cut.

import matplotlib.pyplot as plt

from ravine import plot

model = models[0]
shown = rng.choice(n_baskets, 600, replace=False)
shown = shown[np.argsort(model.labels_[shown], kind="stable")]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", width_ratios=(3, 2))
left.spy(baskets[shown], markersize=0.6, aspect="auto", color="#4477aa")
for edge in np.flatnonzero(np.diff(model.labels_[shown])):
    left.axhline(edge + 0.5, color="#ee7733", linewidth=1)
left.set(xlabel="product", ylabel="basket", title="600 baskets, by cluster")
left.xaxis.tick_bottom()
plot.density(model, baskets, node=0, ax=right)
_ = right.set_title(f"the first cut, {n_baskets:,} baskets")
