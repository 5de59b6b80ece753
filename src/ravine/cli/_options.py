"""Options that several commands have, and the values that options can take."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Method(StrEnum):
    """Short names of the methods."""

    imdh = "imdh"
    ncuth = "ncuth"
    mdh = "mdh"
    pddp = "pddp"
    spectral = "spectral"
    norms = "norms"
    svc = "svc"


class Missing(StrEnum):
    """What to do with rows that have missing values."""

    error = "error"
    drop = "drop"
    mean = "mean"


class StreamMethod(StrEnum):
    """Methods that learn from a stream of rows."""

    stream = "stream"
    hsdc = "hsdc"
    hsdci = "hsdci"
    imdh = "imdh"


class Export(StrEnum):
    """What a model can be written as."""

    onnx = "onnx"
    sql = "sql"
    python = "python"
    json = "json"


class Dialect(StrEnum):
    """Databases for which SQL can be written."""

    standard = "standard"
    duckdb = "duckdb"
    sqlite = "sqlite"


class InputType(StrEnum):
    """Types of numbers that a graph of ONNX can take."""

    float64 = "float64"
    float32 = "float32"


class Per(StrEnum):
    """What each line of the output describes."""

    row = "row"
    batch = "batch"


class BadRows(StrEnum):
    """What to do with a row that cannot be used."""

    stop = "stop"
    skip = "skip"


TEXT, CHOICE, OUTPUT, METHOD = "Text files and workbooks", "Columns and rows", "Output", "Parameters of the method"
BY_HAND = "Prepare the table by hand (any of these uses the columns of numbers as they are)"


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the options of a file the defaults of the command. It is read before the other options."""
    if path is not None:
        from ravine.cli._config import read_config

        context.default_map, context.obj = read_config(path)
    return path


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="CSV, TSV, JSON lines, Parquet, Arrow, .xlsx or .npy files, or folders or patterns of such files; - is "
        "standard input.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model saved with --model or ravine.save.")]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        callback=_read_config,
        is_eager=True,
        help="TOML file with options of this command. Those on the command line overrule it.",
    ),
]
WriteConfig = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File for the options and the roles of the columns, for --config of the next run.",
        rich_help_panel=OUTPUT,
    ),
]
Clusters = Annotated[
    int | None, typer.Option(min=1, metavar="K", help="Number of clusters. Default: chosen automatically.")
]
Only = Annotated[
    list[str] | None, typer.Option("--columns", help="Use only these columns: a,b,c.", rich_help_panel=CHOICE)
]
Drop = Annotated[list[str] | None, typer.Option(help="Leave out these columns: a,b,c.", rich_help_panel=CHOICE)]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", "--drop", help="Do not use these columns: a,b,c.", rich_help_panel=CHOICE),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        help="Role of a column: postcode=category. The roles are number, category, boolean, date, identifier, text and "
        "ignore. date:hour,weekday,month uses these parts of a date.",
        rich_help_panel=CHOICE,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="Write these columns beside the labels: a,b,c. Default: the first identifier.", rich_help_panel=OUTPUT
    ),
]
ByHandEncode = Annotated[
    bool,
    typer.Option("--encode", help="Encode columns of words as columns of zeros and ones.", rich_help_panel=BY_HAND),
]
ByHandMissing = Annotated[
    Missing | None,
    typer.Option(
        help="What to do with missing or infinite values: stop with an error, drop the rows, or fill in column means.",
        rich_help_panel=BY_HAND,
    ),
]
ByHandScale = Annotated[
    bool | None,
    typer.Option("--scale/--no-scale", help="Scale the columns to unit variance, or not.", rich_help_panel=BY_HAND),
]
Label = Annotated[
    str | None,
    typer.Option(
        help="Column with known classes. It is not used for clustering, only for scores and colors.",
        rich_help_panel=CHOICE,
    ),
]
Encode = Annotated[
    bool, typer.Option("--encode", help="Encode columns of words as columns of zeros and ones.", rich_help_panel=CHOICE)
]
MissingRows = Annotated[
    Missing,
    typer.Option(
        help="What to do with missing or infinite values: stop with an error, drop the rows, or fill in column means.",
        rich_help_panel=CHOICE,
    ),
]
Scale = Annotated[bool, typer.Option(help="Scale the columns to unit variance.", rich_help_panel=CHOICE)]
Delimiter = Annotated[
    str | None,
    typer.Option(help="Character between two columns. Default: detected automatically.", rich_help_panel=TEXT),
]
Decimal = Annotated[str, typer.Option(help="Decimal point of the numbers.", rich_help_panel=TEXT)]
Header = Annotated[
    bool | None,
    typer.Option(
        help="Whether the first line contains column names. Default: yes, unless it contains only numbers.",
        rich_help_panel=TEXT,
    ),
]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.", rich_help_panel=TEXT)]
SheetName = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="NAME",
        help="Sheet of a workbook. Default: the first one with a table.",
        rich_help_panel=TEXT,
    ),
]
Out = Annotated[
    str | None,
    typer.Option(help="File for the labels, .csv or .parquet; - is standard output.", rich_help_panel=OUTPUT),
]
Report = Annotated[
    Path | None, typer.Option(help="File for an HTML report that explains the result.", rich_help_panel=OUTPUT)
]
Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, metavar="INTEGER", help="Seed of the random numbers.")]
Jobs = Annotated[int, typer.Option(help="Number of threads; -1 uses all cores. The result does not depend on it.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
