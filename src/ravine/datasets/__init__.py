"""Generators of the synthetic data sets of the papers, each of which returns rows `X` and classes `y`, and of tables.

The streams, whose rows are in the order of time, are those of Hofmeyr, Pavlidis and Eckley, §6.1. `make_two_gaussians`
is from Panahi et al., §5, and `make_rings` from Pham, Le and Dang, §5.1. The latter also use `make_moons` and
`make_blobs` of scikit-learn, which are re-exported unchanged.

`make_messy_table` is not from a paper. It draws a table with known segments as it comes from a shop: with identifiers,
dates, categories, numbers written as text, gaps and typing errors.
"""

from sklearn.datasets import make_blobs, make_moons

from ravine.datasets._shapes import make_rings, make_two_gaussians
from ravine.datasets._streams import (
    make_gaussian_stream,
    make_merging_stream,
    make_overhaul_stream,
    make_splitting_stream,
)
from ravine.datasets._tables import MessyTable, make_messy_table, random_messy_table

__all__ = [
    "MessyTable",
    "make_blobs",
    "make_gaussian_stream",
    "make_merging_stream",
    "make_messy_table",
    "make_moons",
    "make_overhaul_stream",
    "make_rings",
    "make_splitting_stream",
    "make_two_gaussians",
    "random_messy_table",
]
