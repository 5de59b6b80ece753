"""Rows on which an export may go wrong."""

import numpy as np


def adversarial(tree, X, rng, n_rows=60):
    """Rows of the data, rows on and beside every cut, rows of 1e150, and rows rounded to float32."""
    some = X[rng.choice(len(X), min(n_rows, len(X)), replace=False)]
    on_cuts = [some - np.outer(some @ tree.normal[node] - tree.offset[node], tree.normal[node]) for node in tree.cuts]
    on_cuts = np.vstack([np.empty((0, X.shape[1])), *on_cuts])[: 2 * n_rows]
    huge = rng.choice([-1e150, 0.0, 1.0, 1e150], size=(n_rows, X.shape[1]))
    huge[0], huge[1] = 1e150, -1e150
    return np.vstack([some, on_cuts, np.nextafter(on_cuts, np.inf), huge, some.astype(np.float32).astype(np.float64)])
