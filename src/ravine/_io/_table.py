"""Read the files of a table in batches with pyarrow: CSV, TSV, JSON lines, Parquet, Arrow and NumPy arrays.

The first block of a file determines the types of its columns. Whole numbers are read as floating-point numbers, so that
a fraction further down does not fail.
"""

import codecs
import io
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from ravine._io._errors import DataError, OddCellError, UsageError
from ravine._io._json import ShallowLines
from ravine._io._kinds import COMPRESSIONS, LONGEST_HEADER, check_first_line, split_first_line

BATCH_ROWS, BATCH_CELLS = 1 << 16, 1 << 21
"""Number of rows in a batch, and largest number of cells if there are many columns."""

HEAD_BYTES = 1 << 16
"""Number of bytes read at a time to find the end of the first line."""

BLOCK_LINES, LARGEST_BLOCK = 64, 1 << 26
"""Smallest number of lines that pyarrow reads at a time, and largest number of bytes."""

DELIMITERS = (",", "\t", ";", "|")

MISSING = ["", "?", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None"]
"""Texts that mean a missing value in a text file."""

REMEDIES = {
    "UTF8": "give the encoding of the text with --encoding, for instance latin-1",
    "Expected": "correct that line, or give the right --delimiter",
    "conversion error": "correct that value, or leave out the column with --drop",
    "changed from": "each line must be one JSON object, and each field must have values of one type",
    "Invalid value": "each line must be one JSON object",
    "straddling": "a line is too long: check that each line is one row of a table",
}
"""What to do about error messages of pyarrow."""

ODD_CELL = r"In CSV column #(\d+): Row #(\d+): CSV conversion error to [^:]+: invalid value '(.*)'"
"""What pyarrow says about a cell that does not have the type of its column: numbers of the column and the line."""

LARGEST_WHOLE = 1 << 53
"""Largest integer below which every integer has an exact floating-point value."""

OnBytes = Callable[[int], None]


@dataclass(frozen=True)
class TextFormat:
    """Format of a text file.

    Attributes
    ----------
    delimiter : str, optional
        Character between two fields. Default: whichever of , ; | and tab is most frequent in the first line.
    decimal : str
    header : bool, optional
        Whether the first line contains column names. Default: yes, unless it contains only numbers.
    encoding : str
    """

    delimiter: str | None = None
    decimal: str = "."
    header: bool | None = None
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        known = "use for instance utf-8, utf-16, latin-1 or cp1252"
        try:
            "a".encode(self.encoding)
        except LookupError as error:
            is_known = "not a text encoding" in str(error)
            what = (
                f"--encoding {self.encoding} is not a text encoding"
                if is_known
                else (f"there is no encoding {self.encoding!r}")
            )
            raise UsageError(f"{what}; {known}") from None
        except ValueError:
            raise UsageError(f"--encoding {self.encoding!r} cannot be used; {known}") from None


class Table(ABC):
    """A file with rows and named columns.

    Parameters
    ----------
    path : Path
    name : str, optional
        Name of the file in messages. Default: its path.
    """

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.path = path
        self.name = str(path) if name is None else name
        self.is_raw = False
        self.turned: set[str] = set()
        self._warn: Callable[[str], None] = lambda text: None

    def read_raw(self, warn: Callable[[str], None]) -> None:
        """From now on, read columns as they are found, for a `TableEncoder`.

        Large integers are not rejected, and columns that the file lacks are gaps. If a cell does not have the type of
        the cells above it, `warn` is called, and the column is read as text from there on; `turned` has its name.
        """
        self.is_raw = True
        self._warn = warn

    def type_of(self, column: str) -> pa.DataType | None:
        """Return the type in which a column is read, None if the file lacks it."""
        place = self.schema.get_field_index(column)
        return None if place < 0 else self.schema.types[place]

    def read_as_text(self, column: str) -> bool:
        """From now on, read a column as text; return whether it was read as something else before."""
        return False

    def zero_padded(self) -> list[str]:
        """Return the columns of whole numbers that are written with zeros in front: 00123."""
        return []

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        with self._complaining():
            schema = self._read_schema()
        twice = sorted(name for name, count in Counter(schema.names).items() if count > 1)
        if twice:
            raise DataError(f"{self.name}: the column name {twice[0]!r} occurs twice: give each column its own name")
        return schema

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if the file records it."""
        return None

    def batches(self, columns: Sequence[str], on_bytes: OnBytes | None = None) -> Iterator[pa.RecordBatch]:
        """Iterate over batches of these columns. `on_bytes` is called with the number of bytes read."""
        names = self.schema.names
        known = set(names)
        lacking = [name for name in columns if name not in known]
        if lacking and not self.is_raw:
            raise DataError(f"{self.name}: {no_column(lacking)}; the columns are {listed(names)}")
        there = [name for name in columns if name in known]
        rows = max(min(BATCH_ROWS, BATCH_CELLS // max(len(columns), 1)), 1)
        n_given, progress = 0, None if on_bytes is None else _Progress(on_bytes)
        while True:
            try:
                with self._complaining():
                    for batch in _after(n_given, self._read(there or names[:1], progress)):
                        n_given += batch.num_rows
                        if not self.is_raw:
                            self._check_whole_numbers(batch)
                        for start in range(0, batch.num_rows, rows):
                            yield _with_gaps(batch.slice(start, rows), columns if lacking else None)
                return
            except OddCellError as error:
                self._turn(error)
                if progress is not None:
                    progress.start_again()

    def _turn(self, error: OddCellError) -> None:
        """Read the column of an odd cell as text from now on. Raises the error if that does not help."""
        before = _kind_of_cells(self.type_of(error.column))
        if not self.is_raw or not self.read_as_text(error.column):
            raise error
        self.turned.add(error.column)
        self._warn(
            f"{self.name}: column {error.column!r} begins with {before}, but has {error.value!r} in row {error.row:,} "
            "(counted from 0): the column is read as text, and cells that cannot be read are gaps"
        )

    @cached_property
    def _whole(self) -> set[str]:
        """Columns of integers that may be too large for exact floating-point values."""
        return {f.name for f in self.schema if pa.types.is_int64(f.type) or pa.types.is_uint64(f.type)}

    def _check_whole_numbers(self, batch: pa.RecordBatch) -> None:
        """Raise DataError if an integer would be rounded, because it may be an identifier."""
        for column, values in zip(batch.schema.names, batch.columns, strict=True):
            if column not in self._whole or not len(values):
                continue
            ends = pc.min_max(values).as_py()
            if ends["min"] is None or max(-ends["min"], ends["max"]) <= LARGEST_WHOLE:
                continue
            largest = int(ends["max"] if ends["max"] > LARGEST_WHOLE else ends["min"])
            if pa.types.is_integer(values.type):
                back = values.cast(pa.float64(), safe=False).cast(pa.decimal128(38, 0))
                rounded = values.filter(pc.not_equal(back, values.cast(pa.decimal128(38, 0))))
                if not len(rounded):
                    continue
                largest = rounded[0].as_py()
            raise DataError(
                f"{self.name}: column {column!r} has whole numbers beyond 2^53, like {largest}, which would be "
                f"rounded: if they are identifiers, leave them out with --drop {column}; if they are measurements, "
                "store them as floating-point numbers or in a larger unit"
            )

    @abstractmethod
    def _read_schema(self) -> pa.Schema: ...

    @abstractmethod
    def _read(self, columns: list[str], on_bytes: OnBytes | None) -> Iterator[pa.RecordBatch]: ...

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        """Turn errors of pyarrow into one line that names the file."""
        try:
            yield
        except (DataError, UsageError):
            raise
        except UnicodeDecodeError as error:
            raise DataError(f"{self.name}: {_not_text(error)}") from None
        except (pa.ArrowException, ValueError, EOFError) as error:
            raise DataError(f"{self.name}: {self._plain(str(error))}") from None
        except OSError as error:
            if error.errno is not None:  # an error of the operating system, not of the content
                raise
            raise DataError(f"{self.name}: {self._plain(str(error))}") from None

    def _plain(self, message: str) -> str:
        """A message of pyarrow in one line, with advice if there is any."""
        line = message.strip().split("\n")[0].removesuffix(".")[:200]
        if "Empty" in line:
            return "the file is empty"
        return next((f"{line}: {remedy}" for sign, remedy in REMEDIES.items() if sign in line), line)


class Text(Table):
    """A text file."""

    def __init__(self, path: Path, text: TextFormat, name: str | None = None) -> None:
        super().__init__(path, name)
        self.text = text

    @contextmanager
    def _opened(self, on_bytes: OnBytes | None = None) -> Iterator[Any]:
        with open(self.path, "rb") as raw:
            counted = raw if on_bytes is None else _Counted(raw, on_bytes)
            stream = pa.PythonFile(counted, mode="r")
            suffix = self.path.suffix
            compression = {".gz": "gzip"}.get(suffix, suffix[1:]) if suffix in COMPRESSIONS else None
            yield pa.CompressedInputStream(stream, compression) if compression else stream

    _on_bad_letters: ClassVar[str] = "strict"

    @property
    def _encoding(self) -> str:
        return "utf-8-sig" if self.text.encoding.lower() in ("utf-8", "utf8") else self.text.encoding

    @cached_property
    def _first_line(self) -> str:
        """The first non-empty line."""
        decoder = codecs.getincrementaldecoder(self._encoding)(self._on_bad_letters)
        text = ""
        with self._opened() as stream:
            while "\n" not in text.lstrip() and len(text) <= LONGEST_HEADER:
                part = stream.read(HEAD_BYTES)
                text += decoder.decode(part, final=not part)
                if not part:
                    break
        if not text.strip():
            raise DataError(f"{self.name}: the file is empty")
        line = next(line for line in io.StringIO(text) if line.strip())
        self._named(check_first_line, line)
        return line

    def _named(self, call: Callable[..., Any], *args: Any) -> Any:
        """Call a function, and add the name of the file to its errors."""
        try:
            return call(*args)
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from None

    @cached_property
    def _block_size(self) -> int:
        """Number of bytes read at a time. Several lines must fit, otherwise pyarrow is slow with many columns."""
        return min(max(1 << 20, BLOCK_LINES * len(self._first_line)), LARGEST_BLOCK)

    def read_raw(self, warn: Callable[[str], None]) -> None:
        """Also keep the types of the first block, and read columns as text that are empty there."""
        super().read_raw(warn)
        self._types = {f.name: pa.string() if pa.types.is_null(f.type) else f.type for f in self.schema}

    def type_of(self, column: str) -> pa.DataType | None:
        """Return the type in which a column is read, None if the file lacks it."""
        return self._types.get(column)

    @cached_property
    def _types(self) -> dict[str, pa.DataType]:
        """Types of the columns. Numbers are float64, and so is a column that is empty in the first block."""
        numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
        return {f.name: pa.float64() if any(is_kind(f.type) for is_kind in numbers) else f.type for f in self.schema}


class Csv(Text):
    """Delimited text, with or without a header."""

    def read_as_text(self, column: str) -> bool:
        """From now on, read a column as text; return whether it was read as something else before."""
        is_new = column in self._types and not pa.types.is_string(self._types[column])
        if is_new:
            self._types[column] = pa.string()
        return is_new

    def zero_padded(self) -> list[str]:
        """Return the columns of whole numbers that are written with zeros in front, in the first block: 00123."""
        whole = {f.name: pa.string() for f in self.schema if pa.types.is_integer(f.type)}
        if not whole:
            return []
        with self._complaining(), self._opened() as stream, pa.csv.open_csv(stream, **self._options(whole)) as reader:
            block = next(iter(reader), None)
        if block is None:
            return []
        has_zeros = (pc.any(pc.match_substring_regex(cells, r"^\s*[-+]?0\d")).as_py() for cells in block.columns)
        return [name for name, has in zip(block.schema.names, has_zeros, strict=True) if has]

    def _plain(self, message: str) -> str:
        line = re.sub(r"^CSV parse error: ", "", message).replace("Row #", "line ")
        number = re.match(r"In CSV column #(\d+): ", line)
        if number:
            line = f"column {self.schema.names[int(number[1])]!r}, {line[number.end() :]}"
        return super()._plain(line)

    @cached_property
    def _start(self) -> tuple[str, bool, list[str]]:
        """Delimiter, whether there is a header, and the fields of the first line."""
        line = self._first_line
        delimiter = self.text.delimiter or max(DELIMITERS, key=line.count)
        fields = self._named(split_first_line, line, delimiter)
        header = not all(map(self._is_number, fields)) if self.text.header is None else self.text.header
        return delimiter, header, fields

    def _is_number(self, field: str) -> bool:
        try:
            float(field.strip().replace(self.text.decimal, "."))
        except ValueError:
            return field.strip() in MISSING
        return True

    def _options(self, types: dict[str, pa.DataType] | None) -> dict[str, Any]:
        """Return the options of pyarrow, for some columns with their types, or for all."""
        delimiter, header, fields = self._start
        names = None if header else [f"x{j}" for j in range(len(fields))]
        return {
            "read_options": pa.csv.ReadOptions(
                use_threads=False, column_names=names, encoding=self.text.encoding, block_size=self._block_size
            ),
            "parse_options": pa.csv.ParseOptions(delimiter=delimiter),
            "convert_options": pa.csv.ConvertOptions(
                column_types=types,
                include_columns=None if types is None else list(types),
                null_values=MISSING,
                strings_can_be_null=True,
                decimal_point=self.text.decimal,
            ),
        }

    def _read_schema(self) -> pa.Schema:
        with self._opened() as stream, pa.csv.open_csv(stream, **self._options(None)) as reader:
            return reader.schema

    def _read(self, columns: list[str], on_bytes: OnBytes | None) -> Iterator[pa.RecordBatch]:
        options = self._options({name: self._types[name] for name in columns})
        try:
            with self._opened(on_bytes) as stream, pa.csv.open_csv(stream, **options) as reader:
                yield from reader
        except pa.ArrowInvalid as error:
            odd = re.match(ODD_CELL, str(error), re.DOTALL)
            if odd is None:
                raise
            row = int(odd[2]) - 1 - self._start[1]  # lines count from 1, and the first one may be the header
            column = self.schema.names[int(odd[1])]
            raise OddCellError(f"{self.name}: {self._plain(str(error))}", column, row, odd[3]) from None


class JsonLines(Text):
    """One JSON object in each line."""

    _encoding = "utf-8-sig"  # JSON has no other encoding, whatever the user gives
    _on_bad_letters = "replace"

    @contextmanager
    def _opened(self, on_bytes: OnBytes | None = None) -> Iterator[Any]:
        with super()._opened(on_bytes) as stream:
            yield pa.PythonFile(ShallowLines(stream, self.name), mode="r")

    @property
    def _read_options(self) -> Any:
        return pa.json.ReadOptions(block_size=self._block_size)

    def _read_schema(self) -> pa.Schema:
        with self._opened() as stream:
            return pa.json.open_json(stream, read_options=self._read_options).schema

    def _read(self, columns: list[str], on_bytes: OnBytes | None) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([(name, self._types[name]) for name in columns])
        options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        with self._opened(on_bytes) as stream:
            for batch in pa.json.open_json(stream, read_options=self._read_options, parse_options=options):
                yield batch.select(columns)


class Parquet(Table):
    """A Parquet file."""

    def _open(self) -> Any:
        # With pre-buffering, all columns that were read would stay in memory until the file is closed.
        return pa.parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=1 << 20)

    def _read_schema(self) -> pa.Schema:
        with self._open() as file:
            return file.schema_arrow

    @property
    def n_rows(self) -> int | None:
        """Number of rows, from the file's footer."""
        with self._complaining(), self._open() as file:
            return int(file.metadata.num_rows)

    def _read(self, columns: list[str], on_bytes: OnBytes | None) -> Iterator[pa.RecordBatch]:
        with self._open() as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=columns, use_threads=False):
                yield batch.select(columns)


class Arrow(Table):
    """An Arrow file or stream."""

    @contextmanager
    def _open(self) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with pa.memory_map(str(self.path)) as source:
            if source.read(6) == b"ARROW1":
                reader = pa.ipc.open_file(source)
                yield reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                source.seek(0)
                stream = pa.ipc.open_stream(source)
                yield stream.schema, stream

    def _read_schema(self) -> pa.Schema:
        with self._open() as (schema, _):
            return schema

    def _read(self, columns: list[str], on_bytes: OnBytes | None) -> Iterator[pa.RecordBatch]:
        with self._open() as (_, batches):
            for batch in batches:
                yield batch.select(columns)


class Npy(Table):
    """An array of NumPy."""

    @cached_property
    def _array(self) -> Any:
        array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        if array.ndim == 1:
            array = array[:, np.newaxis]
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise DataError(
                f"{self.name}: the array has type {array.dtype} and {array.ndim} dimensions: save a two-dimensional "
                "array of numbers"
            )
        return array

    def _read_schema(self) -> pa.Schema:
        dtype = pa.from_numpy_dtype(self._array.dtype)
        return pa.schema([(f"x{j}", dtype) for j in range(self._array.shape[1])])

    @property
    def n_rows(self) -> int | None:
        """Number of rows, from the array's shape."""
        with self._complaining():
            return len(self._array)

    def _read(self, columns: list[str], on_bytes: OnBytes | None) -> Iterator[pa.RecordBatch]:
        numbers = [int(name[1:]) for name in columns]
        step = max(BATCH_CELLS // max(len(columns), 1), 1)
        for start in range(0, len(self._array), step):
            rows = np.asarray(self._array[start : start + step])
            yield pa.RecordBatch.from_arrays([pa.array(np.ascontiguousarray(rows[:, j])) for j in numbers], columns)


def _after(n_rows: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Leave out the first rows."""
    for batch in batches:
        skipped = min(n_rows, batch.num_rows)
        n_rows -= skipped
        if not skipped or skipped < batch.num_rows:
            yield batch.slice(skipped)


def _with_gaps(batch: pa.RecordBatch, columns: Sequence[str] | None) -> pa.RecordBatch:
    """Return a batch of these columns; those that it lacks are gaps."""
    if columns is None:
        return batch
    known = dict(zip(batch.schema.names, batch.columns, strict=True))
    return pa.RecordBatch.from_arrays([known.get(name, pa.nulls(batch.num_rows)) for name in columns], list(columns))


def _kind_of_cells(kind: pa.DataType | None) -> str:
    """Return what cells of a type are, in a word."""
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "dates"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "numbers"
    return f"cells of type {kind}"


class _Progress:
    """Report bytes that are read for the first time."""

    def __init__(self, on_bytes: OnBytes) -> None:
        self._on_bytes = on_bytes
        self._n_read = self._n_reported = 0

    def __call__(self, n_bytes: int) -> None:
        self._n_read += n_bytes
        if self._n_read > self._n_reported:
            self._on_bytes(self._n_read - self._n_reported)
            self._n_reported = self._n_read

    def start_again(self) -> None:
        """The file is read again from its start."""
        self._n_read = 0


class _Counted(io.RawIOBase):
    """A file that reports how many bytes were read."""

    def __init__(self, raw: Any, on_bytes: OnBytes) -> None:
        self._raw = raw
        self._on_bytes = on_bytes

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._raw.read(size)
        self._on_bytes(len(data))
        return data


def listed(names: Sequence[str], most: int = 8) -> str:
    """List the first names, and the number of further names."""
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def no_column(names: Sequence[str]) -> str:
    """Say that some columns are not there."""
    return f"there {'is no column' if len(names) == 1 else 'are no columns'} {listed([repr(n) for n in names])}"


def all_names(tables: Sequence[Table]) -> list[str]:
    """Return the names of the columns of all tables, in the order of their first appearance."""
    return list(dict.fromkeys(name for table in tables for name in table.schema.names))


def check_known(tables: Sequence[Table], names: Sequence[str], known: Sequence[str]) -> None:
    """Raise UsageError that names all columns that are not known."""
    unknown = [name for name in dict.fromkeys(names) if name not in set(known)]
    if unknown:
        raise UsageError(f"{tables[0].name}: {no_column(unknown)}; choose from {listed(known)}")


def _not_text(error: UnicodeDecodeError) -> str:
    return f"the text is not {error.encoding}: give its encoding with --encoding, for instance latin-1"
