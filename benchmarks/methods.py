"""The estimators under measurement, one factory each, so that a changed constructor is changed here only."""

from __future__ import annotations

from typing import Any

from sklearn.cluster import HDBSCAN, BisectingKMeans, KMeans

import ravine


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
    return KMeans(n_clusters, n_init=10, random_state=seed)


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
