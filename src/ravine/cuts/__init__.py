"""Find one cut of some rows: a direction, and the place on it where the data is thin."""

from ravine.cuts._cut import Cut

__all__ = ["Cut"]
