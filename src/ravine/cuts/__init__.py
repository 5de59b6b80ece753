"""Search for one cut of some rows: a direction, and the position along it where the data is thin."""

from ravine.cuts._cut import Cut
from ravine.cuts._surface import Surface

__all__ = ["Cut", "Surface"]
