"""Save models to files. Loading a file never runs code from it.

`_archive` and `_values` are the container: a file of JSON and arrays, which knows nothing of models. `_models` puts
models into it.
"""

from typing import TYPE_CHECKING

from ravine._lazy import lazy_names
from ravine.persist._header import Saved
from ravine.persist._trusted import trusted_types

if TYPE_CHECKING:
    from ravine.persist._models import load, read, save

__all__ = ["Saved", "load", "read", "save", "trusted_types"]

__getattr__ = lazy_names(__name__, dict.fromkeys(("load", "read", "save"), "_models"))
