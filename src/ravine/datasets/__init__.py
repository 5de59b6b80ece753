"""Seeded generators of the data that the papers cluster; each returns rows `X` and classes `y`.

Streams, whose row order is time, come from Hofmeyr, Pavlidis and Eckley, §6.1; `make_two_gaussians` from Panahi et al.,
§5; `make_rings` from Pham, Le and Dang, §5.1. The latter also use scikit-learn's `make_moons` and `make_blobs`, which
are passed on unchanged.
"""

from sklearn.datasets import make_blobs, make_moons

from ravine.datasets._shapes import make_rings, make_two_gaussians
from ravine.datasets._streams import (
    make_gaussian_stream,
    make_merging_stream,
    make_overhaul_stream,
    make_splitting_stream,
)

__all__ = [
    "make_blobs",
    "make_gaussian_stream",
    "make_merging_stream",
    "make_moons",
    "make_overhaul_stream",
    "make_rings",
    "make_splitting_stream",
    "make_two_gaussians",
]
