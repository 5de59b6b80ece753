"""Convex clustering: centroids that attract each other and fuse, the path over λ, and bounds that prove the result."""

from ravine._convex._attraction import nearest_center, nearest_neighbor
from ravine._convex._certificate import CERTIFICATE, Certificate
from ravine._convex._clusters import Clusters, choose_on_path, find_clusters, is_confirmed, one_cluster, path_to
from ravine._convex._edges import gaussian_weights
from ravine._convex._groups import mass_of
from ravine._convex._lambda_choice import (
    LambdaChoice,
    Stretch,
    choose,
    clusters_that_matter,
    labels_in,
    least_size,
    stretches,
)
from ravine._convex._path import PATH, FusionTree, fusions_of_rows
from ravine._convex._points import Points, is_in_order
from ravine._convex._scaled import ScaledProblem, Settings
from ravine._convex._solver_choice import choose_solver, default_max_iter

__all__ = [
    "CERTIFICATE",
    "PATH",
    "Certificate",
    "Clusters",
    "FusionTree",
    "LambdaChoice",
    "Points",
    "ScaledProblem",
    "Settings",
    "Stretch",
    "choose",
    "choose_on_path",
    "choose_solver",
    "clusters_that_matter",
    "default_max_iter",
    "find_clusters",
    "fusions_of_rows",
    "gaussian_weights",
    "is_confirmed",
    "is_in_order",
    "labels_in",
    "least_size",
    "mass_of",
    "nearest_center",
    "nearest_neighbor",
    "one_cluster",
    "path_to",
    "stretches",
]
