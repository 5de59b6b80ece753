"""Turn a table with ids, dates, amounts, categories and gaps into rows for a clusterer."""

from ravine.prepare._column import Column
from ravine.prepare._encoder import TableEncoder

__all__ = ["Column", "TableEncoder"]
