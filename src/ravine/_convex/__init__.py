"""Convex clustering: centroids that attract each other and fuse, the path over λ, and bounds that prove the result."""

from ravine._convex._certificate import Certificate
from ravine._convex._edges import gaussian_weights
from ravine._convex._lambda_choice import LambdaChoice, choose, clusters_that_matter, least_size
from ravine._convex._path import FusionTree
from ravine._convex._points import Points
from ravine._convex._scaled import ScaledProblem, Settings

__all__ = [
    "Certificate",
    "FusionTree",
    "LambdaChoice",
    "Points",
    "ScaledProblem",
    "Settings",
    "choose",
    "clusters_that_matter",
    "gaussian_weights",
    "least_size",
]
