"""The commands and their options. What they do is imported when one is run, so that help comes at once."""

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="ravine",
    help="Find clusters by cutting where the data is thin.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Method(StrEnum):
    """Methods by their short names."""

    imdh = "imdh"
    ncuth = "ncuth"
    mdh = "mdh"
    pddp = "pddp"


class Missing(StrEnum):
    """What is done with rows that lack a value."""

    error = "error"
    drop = "drop"
    mean = "mean"


class StreamMethod(StrEnum):
    """Methods that learn as the rows come."""

    hsdc = "hsdc"
    hsdci = "hsdci"
    imdh = "imdh"


class Per(StrEnum):
    """What gets a line of the output."""

    row = "row"
    batch = "batch"


class BadRows(StrEnum):
    """What is done at a row that cannot be used."""

    stop = "stop"
    skip = "skip"


TEXT, CHOICE, OUTPUT = "Text files", "Which columns and rows", "What is written"

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="CSV, TSV, JSON-lines, Parquet, Arrow or .npy files, folders or patterns of them; - is standard input.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by --model or ravine.save.")]
Clusters = Annotated[
    int | None, typer.Option(min=1, metavar="K", help="Number of clusters; by default the method decides.")
]
Only = Annotated[
    list[str] | None, typer.Option("--columns", help="Use these columns only: a,b,c.", rich_help_panel=CHOICE)
]
Drop = Annotated[list[str] | None, typer.Option(help="Leave these columns out: a,b,c.", rich_help_panel=CHOICE)]
Label = Annotated[
    str | None,
    typer.Option(help="Column of known classes, kept aside for scores and colors.", rich_help_panel=CHOICE),
]
Encode = Annotated[
    bool, typer.Option("--encode", help="Turn words into columns of zeros and ones.", rich_help_panel=CHOICE)
]
MissingRows = Annotated[
    Missing,
    typer.Option(
        help="Rows with missing or infinite values: stop, drop them, or fill in means.", rich_help_panel=CHOICE
    ),
]
Scale = Annotated[bool, typer.Option(help="Scale the columns to unit variance.", rich_help_panel=CHOICE)]
Delimiter = Annotated[
    str | None, typer.Option(help="Between two columns; found by itself by default.", rich_help_panel=TEXT)
]
Decimal = Annotated[str, typer.Option(help="Decimal point.", rich_help_panel=TEXT)]
Header = Annotated[
    bool | None,
    typer.Option(help="Whether the first line has names; by default unless it has only numbers.", rich_help_panel=TEXT),
]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.", rich_help_panel=TEXT)]
Out = Annotated[
    str | None, typer.Option(help="Labels, as .csv or .parquet; - is standard output.", rich_help_panel=OUTPUT)
]
Report = Annotated[Path | None, typer.Option(help="A page that explains the result, .html.", rich_help_panel=OUTPUT)]
Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, metavar="INTEGER", help="Decides everything random.")]
Jobs = Annotated[int, typer.Option(help="Threads; -1 uses all cores. The result does not depend on it.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")]


def _show_version(asked: bool) -> None:
    if asked:
        from ravine import __version__

        typer.echo(f"ravine {__version__}")
        raise typer.Exit


@app.callback()
def ravine(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Find clusters by cutting where the data is thin."""


@app.command()
def cluster(
    data: Data,
    method: Annotated[
        Method, typer.Option(help="imdh reads many rows once; the others hold them in memory, or read them often.")
    ] = Method.imdh,
    clusters: Clusters = None,
    columns: Only = None,
    drop: Drop = None,
    label: Label = None,
    encode: Encode = False,
    missing: MissingRows = Missing.error,
    scale: Scale = True,
    in_passes: Annotated[
        bool,
        typer.Option(
            "--in-passes",
            help="Read the files anew for every step, in little memory; by itself only where the rows do not fit.",
        ),
    ] = False,
    seed: Seed = 0,
    out: Out = None,
    model: Annotated[
        Path | None,
        typer.Option(help="The fitted model, for predict, cut, inspect and report.", rich_help_panel=OUTPUT),
    ] = None,
    report: Report = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    header: Header = None,
    encoding: Encoding = "utf-8",
    jobs: Jobs = -1,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Find the clusters of a table."""
    from ravine.cli._cluster import cluster
    from ravine.cli._data import TableOptions

    cluster(
        data,
        TableOptions(
            _split(columns), _split(drop), label, encode, missing.value, _text(delimiter, decimal, header, encoding)
        ),
        method=method.value,
        n_clusters=clusters,
        scale=scale,
        seed=seed,
        in_passes=in_passes,
        out=out,
        model_path=model,
        report_path=report,
        n_jobs=jobs,
        command=_command(),
        screen=_screen(quiet, json, out, model, report),
    )


@app.command()
def predict(
    model: Model,
    data: Data,
    out: Out = "-",
    clusters: Annotated[int | None, typer.Option(min=1, help="Of a coarser granularity of the same fit.")] = None,
    missing: Annotated[Missing | None, typer.Option(help="As in the fit by default.", rich_help_panel=CHOICE)] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    header: Header = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Give new rows the labels of a model."""
    from ravine.cli._models import predict

    text = _text(delimiter, decimal, header, encoding)
    rule: Any = None if missing is None else missing.value
    predict(model, data, text, out or "-", clusters, rule, _screen(quiet, json, out))


@app.command()
def inspect(model: Model, json: Json = False) -> None:
    """Show the tree of a model: sizes, the columns that carry each cut, how sure it is."""
    from ravine.cli._models import inspect

    inspect(model, _screen(False, json))


@app.command()
def cut(
    model: Model,
    clusters: Annotated[int, typer.Option(min=1, help="Number of clusters.")],
    out: Annotated[Path | None, typer.Option(help="The coarser model; without it the tree is shown.")] = None,
    json: Json = False,
) -> None:
    """Take another granularity from the same fit."""
    from ravine.cli._models import cut

    cut(model, clusters, out, _screen(False, json, out))


@app.command()
def report(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(help="The page, .html.")] = Path("report.html"),
    label: Label = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    header: Header = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a page that explains a model, with the rows of a table."""
    from ravine.cli._models import report

    report(model, data, _text(delimiter, decimal, header, encoding), out, label, _command(), _screen(quiet, json, out))


@app.command()
def compare(
    data: Data,
    methods: Annotated[
        str, typer.Option(help="Some of imdh, ncuth, mdh, pddp, kmeans, hdbscan.")
    ] = "imdh,ncuth,mdh,pddp",
    clusters: Clusters = None,
    columns: Only = None,
    drop: Drop = None,
    label: Label = None,
    encode: Encode = False,
    missing: MissingRows = Missing.error,
    scale: Scale = True,
    seed: Seed = 0,
    report: Report = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    header: Header = None,
    encoding: Encoding = "utf-8",
    jobs: Jobs = -1,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run several methods side by side on a table that fits in memory."""
    from ravine.cli._compare import compare
    from ravine.cli._data import TableOptions

    compare(
        data,
        TableOptions(
            _split(columns), _split(drop), label, encode, missing.value, _text(delimiter, decimal, header, encoding)
        ),
        methods=_split([methods]),
        n_clusters=clusters,
        scale=scale,
        seed=seed,
        report_path=report,
        n_jobs=jobs,
        screen=_screen(quiet, json, report),
    )


@app.command()
def stream(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A file of CSV or JSON lines; - is standard input.")
    ] = "-",
    method: Annotated[
        StreamMethod, typer.Option(help="hsdci lets new nodes inherit from old ones; imdh does not forget.")
    ] = StreamMethod.hsdc,
    batch: Annotated[
        int, typer.Option(min=1, help="Rows that are labeled by what was learned before, then learned, at a time.")
    ] = 100,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="Use these columns only: a,b,c; by default those that are numbers in the first batch.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    drop: Drop = None,
    bad_rows: Annotated[
        BadRows,
        typer.Option(
            help="A row that lacks a field or has one too many, or a value that is no finite number: stop, or skip it.",
            rich_help_panel=CHOICE,
        ),
    ] = BadRows.stop,
    per: Annotated[Per, typer.Option(help="A line for each row, or one for each batch.", rich_help_panel=OUTPUT)] = (
        Per.row
    ),
    out: Annotated[
        str,
        typer.Option(
            help="JSON lines, appended to a file; - is standard output, where lines may come twice after a restart.",
            rich_help_panel=OUTPUT,
        ),
    ] = "-",
    events: Annotated[
        Path | None,
        typer.Option(
            help="Drifts, splits and bad rows, as JSON lines appended to a file; by default on standard error.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Folder from which the command, given the same input, goes on after it was stopped or killed. What "
            "it writes to files is then as if it had never been: each row once. One process at a time uses it.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="Rows from one checkpoint to the next.", rich_help_panel=OUTPUT)
    ] = 10_000,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Wait for more at the end of the file, until SIGINT or SIGTERM; by its name, as tail -F does, if it "
            "is rotated, truncated or removed.",
        ),
    ] = False,
    poll: Annotated[float, typer.Option(min=0.001, help="Seconds between two looks at a file that is followed.")] = 0.5,
    seed: Seed = 0,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    header: Header = None,
    encoding: Encoding = "utf-8",
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Label the rows of a stream as they come, and learn from them."""
    from ravine.cli._rows import StreamOptions
    from ravine.cli._stream import Plan, stream

    stream(
        data,
        StreamOptions(
            _text(delimiter, decimal, header, encoding), _split(columns), _split(drop), bad_rows is BadRows.skip
        ),
        Plan(
            method=method.value,
            batch=batch,
            per_batch=per is Per.batch,
            seed=seed,
            n_jobs=jobs,
            out=None if out == "-" else Path(out),
            events=events,
            checkpoint=checkpoint,
            every=every,
            poll=poll if follow else None,
        ),
        _screen(quiet, False, "-"),
    )


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where it is written.")] = Path("demo"),
    quiet: Quiet = False,
) -> None:
    """Cluster 1,797 handwritten digits and write the page that explains what was found."""
    from ravine.cli._demo import demo

    demo(folder, _screen(quiet, False))


def _command() -> str:
    """The command as it was typed."""
    return shlex.join(["ravine", *sys.argv[1:]])


def _split(names: list[str] | None) -> tuple[str, ...]:
    return tuple(name.strip() for part in names or () for name in part.split(",") if name.strip())


def _text(delimiter: str | None, decimal: str, header: bool | None, encoding: str) -> Any:
    from ravine._io import TextFormat, UsageError

    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    for name, value in (("delimiter", delimiter), ("decimal", decimal)):
        if value is not None and len(value) != 1:
            raise UsageError(f"--{name} {value!r} is not one character")
    return TextFormat(delimiter, decimal, header, encoding)


def _screen(quiet: bool, as_json: bool, *outputs: str | Path | None) -> Any:
    """Words go to standard error where an output goes to standard output."""
    from ravine._files import is_standard_output
    from ravine.cli._screen import Screen

    return Screen(quiet, as_json, any(out is not None and (out == "-" or is_standard_output(out)) for out in outputs))
