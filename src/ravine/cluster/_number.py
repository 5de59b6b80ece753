"""Base class of the tree methods that choose the number of clusters by evidence, or by the elbow if there is none."""

from ravine._matrix import Floats, Matrix, with_weight
from ravine._reservoir import content_rows
from ravine._warnings import warn_user
from ravine.cluster._base import TreeClusterer, one_blas_thread
from ravine.cluster._fitted import FittedEvidenceTree
from ravine.tree._elbow_test import MOST_ROWS, elbow_p_value

SEED = 0
"""Seed of the samples of rows that a fit uses beside those of its own method."""


class EvidenceTreeClusterer(FittedEvidenceTree, TreeClusterer):
    """Base class of the tree methods whose number of clusters held-out rows confirm, as far as they can."""

    def _may_use_elbow(self, X: Matrix, weights: Floats, seed: int) -> bool:
        """Return whether rows are more clustered than rows without clusters, and warn if they are."""
        rows, total = content_rows(*with_weight(X, weights), MOST_ROWS, SEED, self.n_jobs)
        with one_blas_thread():
            p_value = elbow_p_value(rows, total, seed, self.n_jobs)
        if p_value > self.significance / 2:
            return False
        warn_user(
            "held-out rows confirmed no single cut, but the rows are more clustered than rows without clusters: the "
            "number of clusters comes from the elbow of the sum of squares; selection='evidence' gives one cluster "
            "instead"
        )
        return True
