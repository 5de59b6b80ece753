"""Convex clustering: centroids that are drawn together and fuse, the path over λ, and bounds that prove the result."""

from ravine.fusion._certificate import Certificate
from ravine.fusion._choice import Choice, choose, clusters_that_matter, least_size
from ravine.fusion._convex import ConvexProblem, Settings
from ravine.fusion._edges import gaussian_weights
from ravine.fusion._path import FusionTree
from ravine.fusion._points import Points

__all__ = [
    "Certificate",
    "Choice",
    "ConvexProblem",
    "FusionTree",
    "Points",
    "Settings",
    "choose",
    "clusters_that_matter",
    "gaussian_weights",
    "least_size",
]
