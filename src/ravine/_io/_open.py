"""Find the files of a table, and open each by its format."""

import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ravine._io._errors import UsageError
from ravine._io._kinds import SUFFIXES, kind_of, suffix_of
from ravine._io._table import Arrow, Csv, JsonLines, Npy, Parquet, Table, TextFormat, listed
from ravine._io._workbook import Workbook


@contextmanager
def open_tables(
    where: Sequence[str],
    text: TextFormat | None = None,
    *,
    sheet: str | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Iterator[list[Table]]:
    """Open the tables of files, folders and patterns; ``-`` is standard input.

    Standard input is copied to a temporary file, because it is read more than once.

    Parameters
    ----------
    where : sequence of str
    text : TextFormat, optional
        Format of text files.
    sheet : str, optional
        Sheet of the workbooks. Default: the first one with a table.
    note : callable
        Called with a message that says which of several sheets is read.
    """
    text = text or TextFormat()

    def opened(path: Path, name: str | None = None) -> Table:
        kind = kind_of(path, str(path) if name is None else name)
        return Workbook(path, sheet, text.header, note, name) if kind == "xlsx" else _open_table(path, kind, text, name)

    with tempfile.TemporaryDirectory(prefix="ravine-") as folder:
        tables: list[Table] = []
        for place in where:
            if place == "-":
                spool = Path(folder) / "stdin"
                with open(spool, "wb") as file:
                    shutil.copyfileobj(sys.stdin.buffer, file)
                tables.append(opened(spool, "standard input"))
            else:
                tables += map(opened, find_files(place))
        if sheet is not None and not any(isinstance(table, Workbook) for table in tables):
            raise UsageError(f"--sheet {sheet}: {listed([table.name for table in tables], 3)} is not a workbook")
        yield tables


def find_files(place: str) -> list[Path]:
    """Return the file, the files of a folder, or the files that match a pattern, sorted by name."""
    path = Path(place)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if suffix_of(file) in SUFFIXES and not is_hidden(file, path))
        if not files:
            raise UsageError(f"{place}: the folder contains no data files ({', '.join(SUFFIXES)})")
        return files
    if path.exists():
        return [path]
    files = [Path(name) for name in sorted(glob.glob(place, recursive=True)) if os.path.isfile(name)]
    if not files:
        raise UsageError(f"{place}: there is no such file")
    return files


def _open_table(path: Path, kind: str, text: TextFormat, name: str | None) -> Table:
    if suffix_of(path) in (".tsv", ".tab") and text.delimiter is None:
        text = TextFormat("\t", text.decimal, text.header, text.encoding)
    if kind == "csv":
        return Csv(path, text, name)
    if kind == "json":
        return JsonLines(path, text, name)
    if kind == "parquet":
        return Parquet(path, name)
    return Arrow(path, name) if kind == "arrow" else Npy(path, name)


def is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_", "~$")) for part in file.relative_to(folder).parts)
