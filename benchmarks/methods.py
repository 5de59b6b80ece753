"""The estimators under measurement, one factory each, so that a changed constructor is changed here only."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, BisectingKMeans, KMeans, SpectralClustering
from sklearn.metrics import pairwise_distances, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph

import ravine

N_STARTS = 10
"""Starts of KMeans and of a Gaussian mixture with k given."""

MAX_CLUSTERS, N_STARTS_PER_K = 30, 3
"""The largest k that is tried where an index chooses it, and the starts of KMeans for each k."""

N_NEIGHBORS = 15
"""Neighbors of a row in the graph that Leiden divides."""

Covariance = Literal["full", "diag"]


def pddp_mean(n_clusters: int, seed: int) -> ravine.PDDP:
    """PDDP as Boley (1998) has it: the cut goes through the mean."""
    return ravine.PDDP(n_clusters=n_clusters, criterion="mean")


def pddp_density(n_clusters: int, seed: int) -> ravine.PDDP:
    """dePDDP (Tasoulis et al. 2010): the lowest antimode is cut, the leaf where it is lowest first."""
    return ravine.PDDP(n_clusters=n_clusters, criterion="density")


def pddp_balanced(n_clusters: int, seed: int) -> ravine.PDDP:
    """The largest leaf is next: on one Gaussian cloud this grows a complete tree."""
    return ravine.PDDP(n_clusters=n_clusters, criterion="mean", split_order="size")


def pddp_evidence(n_clusters: int, seed: int) -> ravine.PDDP:
    """With k chosen automatically: the valley test decides."""
    return ravine.PDDP(random_state=seed)


def pddp_antimode(n_clusters: int, seed: int) -> ravine.PDDP:
    """With k chosen automatically: every antimode is cut, as published."""
    return ravine.PDDP(selection="antimode")


def ncuth(n_clusters: int, seed: int) -> ravine.NCutH:
    """NCutH (Hofmeyr 2016, ch. 4), with the labels of its cuts, as published."""
    return ravine.NCutH(n_clusters=n_clusters, assign_labels="tree")


def ncuth_default(n_clusters: int, seed: int) -> ravine.NCutH:
    """NCutH with ravine's defaults: a mixture says where the clusters end."""
    return ravine.NCutH(n_clusters=n_clusters)


def ncuth_margin(n_clusters: int, seed: int) -> ravine.NCutH:
    """NCutH₀: cuts of large margin."""
    return ravine.NCutH(n_clusters=n_clusters, margin=True, assign_labels="tree")


def mdh(n_clusters: int, seed: int) -> ravine.MDH:
    """MDP² (Hofmeyr 2016, ch. 2) with ravine's defaults for the search, and the labels of its cuts, as published."""
    return ravine.MDH(n_clusters=n_clusters, assign_labels="tree")


def mdh_default(n_clusters: int, seed: int) -> ravine.MDH:
    """MDH with ravine's defaults: a mixture says where the clusters end."""
    return ravine.MDH(n_clusters=n_clusters)


def mdh_margin(n_clusters: int, seed: int) -> ravine.MDH:
    """MDP²₀: cuts of large margin."""
    return ravine.MDH(n_clusters=n_clusters, margin=True, assign_labels="tree")


def mdh_thesis(n_clusters: int, seed: int) -> ravine.MDH:
    """MDP² as the thesis has it: two starts, α grows in steps of 0.1, the largest leaf is next."""
    alphas = tuple(step / 10 for step in range(10))
    return ravine.MDH(n_clusters=n_clusters, init=2, alphas=alphas, split_order="size", assign_labels="tree")


def incremental_paper(n_clusters: int, seed: int) -> ravine.IncrementalMDH:
    """The algorithm of iMDH (Hofmeyr 2020) with k chosen automatically: the elbow decides."""
    return ravine.IncrementalMDH(algorithm="online", random_state=seed)


def incremental_paper_k(n_clusters: int, seed: int) -> ravine.IncrementalMDH:
    """The algorithm of iMDH_k: the same with k given."""
    return ravine.IncrementalMDH(n_clusters=n_clusters, algorithm="online", random_state=seed)


def incremental(n_clusters: int, seed: int) -> ravine.IncrementalMDH:
    """With k chosen automatically: the valley test decides, or the elbow where it confirms no cut."""
    return ravine.IncrementalMDH(random_state=seed)


def incremental_k(n_clusters: int, seed: int) -> ravine.IncrementalMDH:
    """Refined cuts with k given."""
    return ravine.IncrementalMDH(n_clusters=n_clusters, random_state=seed)


def ncuth_evidence(n_clusters: int, seed: int) -> ravine.NCutH:
    """With k chosen automatically: the valley test decides, or the elbow where it confirms no cut of clustered rows."""
    return ravine.NCutH(random_state=seed)


def mdh_evidence(n_clusters: int, seed: int) -> ravine.MDH:
    """With k chosen automatically: the valley test decides, or the elbow where it confirms no cut of clustered rows."""
    return ravine.MDH(random_state=seed)


def spdc(n_clusters: int, seed: int) -> ravine.SPDC:
    """The streaming form of dePDDP; one pass, with k chosen automatically."""
    return ravine.SPDC()


def kmeans(n_clusters: int, seed: int) -> KMeans:
    return KMeans(n_clusters, n_init=N_STARTS, random_state=seed)


def bisecting_kmeans(n_clusters: int, seed: int) -> BisectingKMeans:
    return BisectingKMeans(n_clusters, random_state=seed)


class PercentHDBSCAN(HDBSCAN):
    """HDBSCAN with a hundredth of the rows as its minimum cluster size; the default of 5 finds far more."""

    def fit(self, X: Any, y: object = None) -> PercentHDBSCAN:
        self.min_cluster_size = max(5, len(X) // 100)
        super().fit(X)
        return self


def hdbscan(n_clusters: int, seed: int) -> HDBSCAN:
    """With k chosen automatically; noise counts as one more cluster."""
    return PercentHDBSCAN(copy=True)


def ward(n_clusters: int, seed: int) -> AgglomerativeClustering:
    return AgglomerativeClustering(n_clusters, linkage="ward")


def spectral(n_clusters: int, seed: int) -> SpectralClustering:
    """Spectral clustering of the graph of nearest neighbors."""
    return SpectralClustering(n_clusters, affinity="nearest_neighbors", random_state=seed)


def mixture_full(n_clusters: int, seed: int) -> GaussianMixture:
    return GaussianMixture(n_clusters, covariance_type="full", n_init=N_STARTS, random_state=seed)


def mixture_diagonal(n_clusters: int, seed: int) -> GaussianMixture:
    return GaussianMixture(n_clusters, covariance_type="diag", n_init=N_STARTS, random_state=seed)


class SilhouetteKMeans(ClusterMixin, BaseEstimator):
    """KMeans with the k of the largest mean silhouette."""

    def __init__(self, random_state: int) -> None:
        self.random_state = random_state

    def fit(self, X: NDArray[np.float64], y: object = None) -> SilhouetteKMeans:
        distances = pairwise_distances(X)
        self.labels_ = max(
            (self._labels(X, k) for k in range(2, min(MAX_CLUSTERS, len(X) - 1) + 1)),
            key=lambda labels: silhouette_score(distances, labels, metric="precomputed"),
        )
        return self

    def _labels(self, X: NDArray[np.float64], k: int) -> NDArray[np.int32]:
        return KMeans(k, n_init=N_STARTS_PER_K, random_state=self.random_state).fit_predict(X)


def kmeans_silhouette(n_clusters: int, seed: int) -> SilhouetteKMeans:
    return SilhouetteKMeans(seed)


class BICGaussianMixture(ClusterMixin, BaseEstimator):
    """A Gaussian mixture with the k of the smallest BIC."""

    def __init__(self, covariance_type: Covariance, random_state: int) -> None:
        self.covariance_type, self.random_state = covariance_type, random_state

    def fit(self, X: NDArray[np.float64], y: object = None) -> BICGaussianMixture:
        mixtures = (self._mixture(k).fit(X) for k in range(1, min(MAX_CLUSTERS, len(X)) + 1))
        self.labels_ = min(mixtures, key=lambda mixture: mixture.bic(X)).predict(X)
        return self

    def _mixture(self, k: int) -> GaussianMixture:
        return GaussianMixture(k, covariance_type=self.covariance_type, random_state=self.random_state)


def mixture_full_bic(n_clusters: int, seed: int) -> BICGaussianMixture:
    return BICGaussianMixture("full", seed)


def mixture_diagonal_bic(n_clusters: int, seed: int) -> BICGaussianMixture:
    return BICGaussianMixture("diag", seed)


class Leiden(ClusterMixin, BaseEstimator):
    """Communities of the graph of nearest neighbors (Traag, Waltman and van Eck 2019), at resolution 1.

    Rows are joined where one is among the nearest of the other. Moves are repeated until none improves the partition.
    """

    def __init__(self, random_state: int) -> None:
        self.random_state = random_state

    def fit(self, X: NDArray[np.float64], y: object = None) -> Leiden:
        import igraph  # an optional package: the other methods run without it
        import leidenalg

        neighbors = kneighbors_graph(X, min(N_NEIGHBORS, len(X) - 1)).tocoo()
        edges = np.unique(np.sort(np.column_stack([neighbors.row, neighbors.col])), axis=0)
        partition = leidenalg.find_partition(
            igraph.Graph(len(X), edges.tolist()),
            leidenalg.RBConfigurationVertexPartition,
            resolution_parameter=1.0,
            n_iterations=-1,
            seed=self.random_state,
        )
        self.labels_ = np.array(partition.membership)
        return self


def leiden(n_clusters: int, seed: int) -> Leiden:
    return Leiden(seed)
