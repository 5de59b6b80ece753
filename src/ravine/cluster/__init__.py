"""Clustering estimators with the interface of scikit-learn, one module for each method."""

from typing import TYPE_CHECKING

from ravine._lazy import lazy_names

if TYPE_CHECKING:
    from ravine._convex import Certificate, FusionTree
    from ravine.cluster._hsdc import HSDC
    from ravine.cluster._incremental import IncrementalMDH
    from ravine.cluster._mdh import MDH
    from ravine.cluster._ncuth import NCutH
    from ravine.cluster._pddp import PDDP
    from ravine.cluster._spdc import SPDC
    from ravine.cluster._spectral import SpectralPursuit
    from ravine.cluster._stream_clusterer import StreamClusterer
    from ravine.cluster._sum_of_norms import SumOfNorms
    from ravine.cluster._support_vectors import SupportVectorClustering

__all__ = [
    "HSDC",
    "MDH",
    "PDDP",
    "SPDC",
    "Certificate",
    "FusionTree",
    "IncrementalMDH",
    "NCutH",
    "SpectralPursuit",
    "StreamClusterer",
    "SumOfNorms",
    "SupportVectorClustering",
]

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("Certificate", "FusionTree"), "_sum_of_norms"),
        "HSDC": "_hsdc",
        "IncrementalMDH": "_incremental",
        "MDH": "_mdh",
        "NCutH": "_ncuth",
        "PDDP": "_pddp",
        "SPDC": "_spdc",
        "SpectralPursuit": "_spectral",
        "StreamClusterer": "_stream_clusterer",
        "SumOfNorms": "_sum_of_norms",
        "SupportVectorClustering": "_support_vectors",
    },
)
