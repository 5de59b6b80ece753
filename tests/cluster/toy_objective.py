"""The widest relative gap: the exercise of docs/maintainers/objective.md, an objective and an estimator."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtr

from ravine.cluster._pursuit import PursuitClusterer
from ravine.cuts._pursuit import pursued_cut


@dataclass(frozen=True)
class GapOnALine:
    """Mass N near the cut, by a Gaussian kernel, in shares of the smoothed masses L and R of its sides: N/L + N/R.

    With z = x / sd(x) and u_i = (t - z_i) / h: N = sum w_i exp(-u_i^2 / 2), L = sum w_i Phi(u_i), R = sum w_i - L.
    The value is the least one at fixed places t, counted in standard deviations, so its gradient by z is that at t.
    """

    least: float = 1.0  # weight on either side
    width, tolerance = 0.25, 1e-6  # h, in standard deviations; end of the search

    def __call__(self, values, weights):
        total, places = weights.sum(), np.linspace(-4, 4, 121)
        spread = np.sqrt(weights @ values**2 / total)
        left = weights @ (values[:, None] < places * spread)
        allowed = (left >= self.least) & (total - left >= self.least)
        if spread == 0 or not allowed.any():
            return np.inf, 0.0, lambda: np.zeros_like(values)
        z, places = values / spread, places[allowed]
        u = (places - z[:, None]) / self.width
        near, left = weights @ np.exp(-(u**2) / 2), weights @ ndtr(u)
        ratio = near * total / (left * (total - left))
        k = np.argmin(ratio)

        def derivatives():
            near_i = weights * np.exp(-(u[:, k] ** 2) / 2) / self.width  # -dL/dz_i, times the root of 2 pi
            change = 1 / (total - left[k]) - 1 / left[k]  # d log(1 / LR) / dL
            by_z = ratio[k] * near_i * (u[:, k] / near[k] - change / np.sqrt(2 * np.pi))
            return (by_z - weights * (by_z.sum() + z * (by_z @ z)) / total) / spread  # by the mean and the sd as well

        return ratio[k], places[k] * spread, derivatives


class WidestGap(PursuitClusterer):
    """Divisive clustering by the hyperplanes with the least mass near them, relative to the mass of their sides."""

    def __init__(self, n_clusters=None, *, init="pca", significance=0.05, min_cluster_size="auto", max_depth=None,
                 random_state=0, n_jobs=-1):  # fmt: skip
        self.n_clusters, self.init, self.significance = n_clusters, init, significance
        self.min_cluster_size, self.max_depth = min_cluster_size, max_depth
        self.random_state, self.n_jobs = random_state, n_jobs

    def _cut_finder(self, min_cluster_size, total):
        return partial(pursued_cut, objective=GapOnALine(min_cluster_size))

    def _order(self):
        return "value"
