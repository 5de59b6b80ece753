"""Passes over rows on a CUDA device. Only `ravine._outofcore._device` uses them, when there are rows on a device.

A position along a direction is the sum over the columns from left to right, in every kernel, so that fit and predict
agree to the last bit. All kernels take rows in the same way:

- `rows` lists the rows to read; if it is empty, these are the first `n` rows.
- Weights are ``w[i * w_step]``: with a step of 0, one weight is that of all rows.
- `edges` has the edges of each column and the distance to them that is far outside, see `ravine._scaling`; if it is
  empty, no cell is moved.
"""

from ravine._kernels.cuda._tile import THREADS, TILE
from ravine._kernels.cuda.along import add_lines, cell_extremes, look, positions, rows_at_distance
from ravine._kernels.cuda.division import SPAN, equals, fill, gather, gather_values, partition, sides
from ravine._kernels.cuda.draw import count_upper_bits, fingerprints, select, tell_copies_apart
from ravine._kernels.cuda.prediction import (
    label_outliers,
    leaves,
    likeliest,
    likeliest_of_planes,
    look_up,
    walk,
)
from ravine._kernels.cuda.sums import (
    SCATTER_SLICE,
    SCATTER_WIDTH,
    extent,
    moments,
    pull,
    rounded_scatter,
    scatter,
)

MOST_COLUMNS = TILE - 1
"""Largest number of columns."""

__all__ = [
    "MOST_COLUMNS",
    "SCATTER_SLICE",
    "SCATTER_WIDTH",
    "SPAN",
    "THREADS",
    "TILE",
    "add_lines",
    "cell_extremes",
    "count_upper_bits",
    "equals",
    "extent",
    "fill",
    "fingerprints",
    "gather",
    "gather_values",
    "label_outliers",
    "leaves",
    "likeliest",
    "likeliest_of_planes",
    "look",
    "look_up",
    "moments",
    "partition",
    "positions",
    "pull",
    "rounded_scatter",
    "rows_at_distance",
    "scatter",
    "select",
    "sides",
    "tell_copies_apart",
    "walk",
]
