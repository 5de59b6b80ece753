"""What a file is, by the ending of its name and by its first bytes; what is no table is refused in words.

The first line of a text is looked at too, before a reader is let loose on it.
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
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
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
"""Letters of the longest first line of a text."""

SHEET = "save the sheet as CSV in the program that wrote it"
UNPACK = "unpack it, and give the files that are in it"
CONVERT = "convert it to CSV or Parquet, for instance with pandas"
NO_TABLE = "give a table, as CSV, JSON lines, Parquet, Arrow or .npy"

OTHERS: Mapping[tuple[str, ...], tuple[str, str]] = {
    (".xlsx", ".xlsm", ".xlsb", ".xls"): ("an Excel workbook", SHEET),
    (".ods",): ("an OpenDocument spreadsheet", SHEET),
    (".numbers",): ("a Numbers spreadsheet", SHEET),
    (".zip", ".7z", ".rar", ".tar", ".tgz", ".xz"): ("an archive", UNPACK),
    (".pdf",): ("a PDF document", "export its table as CSV"),
    (".doc", ".docx", ".odt", ".rtf"): ("a text document", "export its table as CSV"),
    (".html", ".htm", ".xml"): ("a page or a document of tags", CONVERT),
    (".h5", ".hdf5", ".hdf", ".nc"): ("an HDF5 file", CONVERT),
    (".sqlite", ".sqlite3", ".db"): ("a database", "export its table as CSV"),
    (".sav", ".dta", ".sas7bdat", ".xpt"): ("a file of a statistics program", CONVERT),
    (".rds", ".rdata", ".rda"): ("a file of R", "write the table in R, with write.csv or arrow::write_parquet"),
    (".mat",): ("a file of MATLAB", CONVERT),
    (".orc", ".avro"): ("an ORC or Avro file", CONVERT),
    (".npz",): ("an archive of NumPy", "save one array with numpy.save, as .npy"),
    (".pkl", ".pickle", ".joblib"): ("a pickle, which ravine does not load", CONVERT),
    (".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".webp"): ("a picture", NO_TABLE),
    (".ravine",): ("a saved model", NO_TABLE),
}
"""Endings of files that are no tables, what they are, and what to do."""

BY_SUFFIX = {suffix: moments for suffixes, moments in OTHERS.items() for suffix in suffixes}

BY_START = [
    (rb"PK\x03\x04.{26}(\[Content_Types\]|_rels/|xl/|docProps/)", BY_SUFFIX[".xlsx"]),
    (rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis", BY_SUFFIX[".ods"]),
    (rb"PK\x03\x04.{26}header\.json", BY_SUFFIX[".ravine"]),
    (rb"PK\x03\x04|PK\x05\x06|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|\xfd7zXZ\x00", BY_SUFFIX[".zip"]),
    (rb"\x1f\x8b", ("compressed", "let its name end with .gz, for instance data.csv.gz")),
    (rb"BZh[1-9]1AY&SY", ("compressed", "let its name end with .bz2, for instance data.csv.bz2")),
    (rb"\x28\xb5\x2f\xfd", ("compressed", "let its name end with .zst, for instance data.csv.zst")),
    (rb"\x04\x22\x4d\x18", ("compressed", "let its name end with .lz4, for instance data.csv.lz4")),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ("an old file of Office", SHEET)),
    (rb"%PDF-", BY_SUFFIX[".pdf"]),
    (rb"\s*<(!doctype|html|\?xml)", BY_SUFFIX[".html"]),
    (rb"\x89HDF\r\n\x1a\n", BY_SUFFIX[".h5"]),
    (rb"SQLite format 3\x00", BY_SUFFIX[".sqlite"]),
    (rb"MATLAB 5\.0 MAT-file", BY_SUFFIX[".mat"]),
    (rb"Obj\x01", BY_SUFFIX[".avro"]),
    (rb"\x80[\x02-\x05]", BY_SUFFIX[".pkl"]),
    (rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|II\*\x00|MM\x00\*", BY_SUFFIX[".png"]),
]
"""First bytes of files that are no tables, the same."""

HEAD = 512
"""Bytes at the start of a file by which it is known."""


def suffix_of(path: Path) -> str:
    """The ending of a name, that of a compression left out."""
    name = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return name.suffix.lower()


def kind_of(path: Path, name: str) -> str:
    """How a file is read: "csv", "json", "parquet", "arrow" or "npy"; DataError if it is no table."""
    with open(path, "rb") as file:
        head = file.read(HEAD)
    check_is_table(path, name, head)
    known = SUFFIXES.get(suffix_of(path))
    return known or next((kind for magic, kind in MAGIC.items() if head.lstrip(b" \r\n\t").startswith(magic)), "csv")


def check_is_table(path: Path | None, name: str, head: bytes) -> None:
    """DataError, which says what to do, if the name or the first bytes are those of something else."""
    by_start = None if path is not None and path.suffix in COMPRESSIONS else _by_start(head)
    by_suffix = None if path is None else BY_SUFFIX.get(suffix_of(path))
    what, remedy = by_start or by_suffix or ("", "")
    if what:
        raise DataError(f"{name}: this is {what}, not a table that ravine reads: {remedy}")


def _by_start(head: bytes) -> tuple[str, str] | None:
    return next((moments for start, moments in BY_START if re.match(start, head, re.DOTALL | re.IGNORECASE)), None)


def check_first_line(line: str) -> None:
    """DataError if the first line of a text shows that it is not made of lines, or if it is far too long.

    The name of the file is for the caller to add.
    """
    text = line.rstrip("\r\n")
    before, found, _ = text.partition("\r")
    if found and before.count('"') % 2 == 0:  # in quotes it is part of a value
        raise DataError(
            "the lines end with CR alone, as on old Macs: write LF instead, for instance by tr '\\r' '\\n' < old > new"
        )
    if len(text) > LONGEST_HEADER:
        raise DataError(
            f"the first line has more than {LONGEST_HEADER:,} letters: are these lines of a table? One with so "
            "many columns is read from Parquet, Arrow or .npy"
        )


def split_first_line(line: str, delimiter: str) -> list[str]:
    """The fields of the first line of a text; DataError where a quote in it is not closed."""
    text = line.rstrip("\r\n")
    try:
        list(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error as error:
        if "end of data" in str(error):
            raise DataError(
                "the first line has a quote that is not closed: close it, or take it out; a name may not go on in the "
                "next line"
            ) from None
    return next(csv.reader([text], delimiter=delimiter))
