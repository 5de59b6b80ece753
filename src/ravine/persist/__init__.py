"""Save models to files. Loading a file never runs code from it.

`_archive` and `_values` are the container: a file of JSON and arrays, which knows nothing of models. `_models` puts
models into it.
"""

from ravine.persist._models import Saved, load, read, save

__all__ = ["Saved", "load", "read", "save"]
