"""Save models to files. Loading a file never runs code from it."""

from ravine.persist._models import Saved, load, read, save

__all__ = ["Saved", "load", "read", "save"]
