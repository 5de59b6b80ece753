"""Plots of fitted models, drawn with matplotlib.

A tree stores no rows. Functions that draw rows take them as an argument: the rows of `fit`, or other rows with the same
columns.
"""

try:
    import matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError("plots need matplotlib: pip install 'ravine[plot]'") from error

from ravine.plot._clusterpath import clusterpath, fusions
from ravine.plot._clusters import distances, silhouette
from ravine.plot._map import tree
from ravine.plot._node import density, node
from ravine.plot._panels import panels
from ravine.plot._sequence import elbow, path
from ravine.plot._stability import stability
from ravine.plot._stream import stream
from ravine.plot._support import support
from ravine.plot._timeline import timeline

__all__ = [
    "clusterpath",
    "density",
    "distances",
    "elbow",
    "fusions",
    "node",
    "panels",
    "path",
    "silhouette",
    "stability",
    "stream",
    "support",
    "timeline",
    "tree",
]
