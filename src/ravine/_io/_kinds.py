"""Detect the format of a file from its name and its first bytes, and reject files that are not tables.

The first line of a text is also checked before it is parsed.
"""

import csv
import re
from collections.abc import Mapping
from pathlib import Path

from ravine._io._errors import DataError

SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
}
COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")
MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"\x93NUMPY": "npy",
    b"{": "json",
}

LONGEST_HEADER = 1 << 20
"""Longest first line of a text, in characters."""

SHEET = "save it as .xlsx, or the sheet as CSV, in the program that wrote it"
UNPACK = "unpack it and give the files inside"
CONVERT = "convert it to CSV or Parquet, for instance with pandas"
NO_TABLE = "give a table, as CSV, JSON lines, Parquet, Arrow, .xlsx or .npy"

OTHERS: Mapping[tuple[str, ...], tuple[str, str]] = {
    (".xlsb", ".xls"): ("an Excel workbook of another format", SHEET),
    (".ods",): ("an OpenDocument spreadsheet", SHEET),
    (".numbers",): ("a Numbers spreadsheet", SHEET),
    (".zip", ".7z", ".rar", ".tar", ".tgz", ".xz"): ("an archive", UNPACK),
    (".pdf",): ("a PDF document", "export its table as CSV"),
    (".doc", ".docx", ".odt", ".rtf"): ("a text document", "export its table as CSV"),
    (".html", ".htm", ".xml"): ("an HTML or XML document", CONVERT),
    (".h5", ".hdf5", ".hdf", ".nc"): ("an HDF5 file", CONVERT),
    (".sqlite", ".sqlite3", ".db"): ("a database", "export its table as CSV"),
    (".sav", ".dta", ".sas7bdat", ".xpt"): ("a data file of a statistics program", CONVERT),
    (".rds", ".rdata", ".rda"): ("an R data file", "write the table in R, with write.csv or arrow::write_parquet"),
    (".mat",): ("a MATLAB file", CONVERT),
    (".orc", ".avro"): ("an ORC or Avro file", CONVERT),
    (".npz",): ("a NumPy archive", "save one array with numpy.save, as .npy"),
    (".pkl", ".pickle", ".joblib"): ("a pickle, which ravine does not load", CONVERT),
    (".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".webp"): ("an image", NO_TABLE),
    (".ravine",): ("a saved model", NO_TABLE),
}
"""Extensions of files that are not tables, what they are, and what to do."""

BY_SUFFIX = {suffix: moments for suffixes, moments in OTHERS.items() for suffix in suffixes}

WORKBOOK = re.compile(rb"PK\x03\x04.{26}(\[Content_Types\]|_rels/|xl/|docProps/)", re.DOTALL)
"""First bytes of an Excel workbook, and of other documents of Office."""

BY_START = [
    (rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis", BY_SUFFIX[".ods"]),
    (rb"PK\x03\x04.{26}header\.json", BY_SUFFIX[".ravine"]),
    (rb"PK\x03\x04|PK\x05\x06|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|\xfd7zXZ\x00", BY_SUFFIX[".zip"]),
    (rb"\x1f\x8b", ("compressed", "add the extension .gz to its name, for instance data.csv.gz")),
    (rb"BZh[1-9]1AY&SY", ("compressed", "add the extension .bz2 to its name, for instance data.csv.bz2")),
    (rb"\x28\xb5\x2f\xfd", ("compressed", "add the extension .zst to its name, for instance data.csv.zst")),
    (rb"\x04\x22\x4d\x18", ("compressed", "add the extension .lz4 to its name, for instance data.csv.lz4")),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ("an old Office file", SHEET)),
    (rb"%PDF-", BY_SUFFIX[".pdf"]),
    (rb"\s*<(!doctype|html|\?xml)", BY_SUFFIX[".html"]),
    (rb"\x89HDF\r\n\x1a\n", BY_SUFFIX[".h5"]),
    (rb"SQLite format 3\x00", BY_SUFFIX[".sqlite"]),
    (rb"MATLAB 5\.0 MAT-file", BY_SUFFIX[".mat"]),
    (rb"Obj\x01", BY_SUFFIX[".avro"]),
    (rb"\x80[\x02-\x05]", BY_SUFFIX[".pkl"]),
    (rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|II\*\x00|MM\x00\*", BY_SUFFIX[".png"]),
]
"""First bytes of files that are not tables, what they are, and what to do."""

HEAD = 512
"""Number of bytes at the start of a file that identify its format."""


def suffix_of(path: Path) -> str:
    """Return the extension of a name, without that of a compression."""
    name = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return name.suffix.lower()


def kind_of(path: Path, name: str) -> str:
    """Return the format: "csv", "json", "parquet", "arrow", "xlsx" or "npy". Raises DataError if it is not a table."""
    with open(path, "rb") as file:
        head = file.read(HEAD)
    check_is_table(path, name, head)
    return kind_by(path, head)


def kind_by(path: Path | None, head: bytes) -> str:
    """Return the format by the extension of the name, otherwise by the first bytes; a workbook may have any name."""
    if WORKBOOK.match(head):
        return "xlsx"
    known = None if path is None else SUFFIXES.get(suffix_of(path))
    return known or next((kind for magic, kind in MAGIC.items() if head.lstrip(b" \r\n\t").startswith(magic)), "csv")


def check_is_table(path: Path | None, name: str, head: bytes) -> None:
    """Raise DataError if the name or the first bytes show that the file is not a table."""
    by_start = None if WORKBOOK.match(head) or _may_be_binary(path) else _by_start(head)
    by_suffix = None if path is None else BY_SUFFIX.get(suffix_of(path))
    what, remedy = by_start or by_suffix or ("", "")
    if what:
        raise DataError(f"{name}: this is {what}, not a table that ravine can read: {remedy}")


def _may_be_binary(path: Path | None) -> bool:
    """Return whether the name says that the first bytes are not those of a text."""
    return path is not None and (path.suffix in COMPRESSIONS or SUFFIXES.get(suffix_of(path)) == "xlsx")


def _by_start(head: bytes) -> tuple[str, str] | None:
    return next((moments for start, moments in BY_START if re.match(start, head, re.DOTALL | re.IGNORECASE)), None)


def check_first_line(line: str) -> None:
    """Raise DataError if the first line shows that the text has no lines, or if it is far too long.

    The caller adds the name of the file to the message.
    """
    text = line.rstrip("\r\n")
    before, found, _ = text.partition("\r")
    if found and before.count('"') % 2 == 0:  # inside quotes it is part of a value
        raise DataError(
            "the lines end with CR only, as on old Macs: convert them to LF, e.g. with tr '\\r' '\\n' < old > new"
        )
    if len(text) > LONGEST_HEADER:
        raise DataError(
            f"the first line has more than {LONGEST_HEADER:,} characters: check that the file is a table; use Parquet, "
            "Arrow or .npy for a table with so many columns"
        )


def split_first_line(line: str, delimiter: str) -> list[str]:
    """Split the first line into fields. Raises DataError if a quote is not closed."""
    text = line.rstrip("\r\n")
    try:
        list(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error as error:
        if "end of data" in str(error):
            raise DataError(
                "the first line has a quote that is not closed: close or remove it; a column name cannot continue on "
                "the next line"
            ) from None
    return next(csv.reader([text], delimiter=delimiter))
