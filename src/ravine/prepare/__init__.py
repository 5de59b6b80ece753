"""Turn a table with ids, dates, amounts, categories and gaps into rows for a clusterer."""

from typing import TYPE_CHECKING

from ravine._lazy import lazy_names
from ravine.prepare._column import Column

if TYPE_CHECKING:
    from ravine.prepare._encoder import TableEncoder

__all__ = ["Column", "TableEncoder"]

__getattr__ = lazy_names(__name__, {"TableEncoder": "_encoder"})
