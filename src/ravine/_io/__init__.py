"""Read tables from files of many formats, in batches with pyarrow, and convert them to matrices of numbers."""

from ravine._io._columns import Block, Columns, MissingRule, TableColumns, choose_columns, measure_columns, read_blocks
from ravine._io._encoded import EncodedColumns, fit_encoder, read_raw, take_rows
from ravine._io._errors import DataError, UsageError
from ravine._io._kinds import COMPRESSIONS, check_first_line, check_is_table, split_first_line
from ravine._io._labels import BesideChangedError, LabelWriter, label_kind
from ravine._io._open import find_files, open_tables
from ravine._io._table import Table, TextFormat, all_names, check_known

__all__ = [
    "COMPRESSIONS",
    "BesideChangedError",
    "Block",
    "Columns",
    "DataError",
    "EncodedColumns",
    "LabelWriter",
    "MissingRule",
    "Table",
    "TableColumns",
    "TextFormat",
    "UsageError",
    "all_names",
    "check_first_line",
    "check_is_table",
    "check_known",
    "choose_columns",
    "find_files",
    "fit_encoder",
    "label_kind",
    "measure_columns",
    "open_tables",
    "read_blocks",
    "read_raw",
    "split_first_line",
    "take_rows",
]
