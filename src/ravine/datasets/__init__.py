"""Generators of the synthetic data sets of the papers; each returns rows `X` and classes `y`.

The streams, whose rows are in the order of time, are those of Hofmeyr, Pavlidis and Eckley, §6.1. `make_two_gaussians`
is from Panahi et al., §5, and `make_rings` from Pham, Le and Dang, §5.1. The latter also use `make_moons` and
`make_blobs` of scikit-learn, which are re-exported unchanged.
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
