"""The commands, with the options that only one of them has. Code is imported when a command runs: `--help` is fast."""

import csv
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ravine.cli._options import (
    CHOICE,
    METHOD,
    OUTPUT,
    BadRows,
    ByHandEncode,
    ByHandMissing,
    ByHandScale,
    Clusters,
    Config,
    Data,
    Decimal,
    Delimiter,
    Dialect,
    Drop,
    Encode,
    Encoding,
    Export,
    Header,
    Ignore,
    InputType,
    Jobs,
    Json,
    Keep,
    Label,
    Method,
    Missing,
    MissingRows,
    Model,
    Only,
    Out,
    Per,
    Quiet,
    Report,
    Roles,
    Scale,
    Seed,
    SheetName,
    StreamMethod,
    WriteConfig,
)

app = typer.Typer(
    name="ravine",
    help="Find clusters by cutting where the data are sparse.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        from ravine import __version__

        typer.echo(f"ravine {__version__}")
        raise typer.Exit


@app.callback()
def ravine(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Find clusters by cutting where the data are sparse."""


@app.command()
def cluster(
    context: typer.Context,
    data: Data,
    method: Annotated[
        Method,
        typer.Option(help="imdh reads large files once; the others load the rows, or read the files several times."),
    ] = Method.imdh,
    clusters: Clusters = None,
    confirmed_only: Annotated[
        bool,
        typer.Option(
            "--confirmed-only",
            help="Find only clusters that held-out rows confirm. If there are none, the exit code is 3.",
        ),
    ] = False,
    stability: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Fit the model again to N samples of the rows, such as 20, and say which clusters are found again.",
        ),
    ] = 0,
    columns: Only = None,
    ignore: Ignore = None,
    role: Roles = None,
    label: Label = None,
    encode: ByHandEncode = False,
    missing: ByHandMissing = None,
    scale: ByHandScale = None,
    in_passes: Annotated[
        bool,
        typer.Option(
            "--in-passes",
            help="Read the files again for every step, to use little memory. Chosen automatically if the rows do not "
            "fit in memory.",
        ),
    ] = False,
    seed: Seed = 0,
    out: Out = None,
    keep: Keep = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="File for the fitted model. The commands predict, cut, inspect and report use it.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report: Report = None,
    write_config: WriteConfig = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    header: Header = None,
    encoding: Encoding = "utf-8",
    sheet: SheetName = None,
    jobs: Jobs = -1,
    config: Config = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Find the clusters in a table.

    The command looks at all columns first: numbers, dates and categories are used; identifiers, constants, free text
    and copies of other columns are not.
    """
    from ravine.cli._cluster import cluster
    from ravine.cli._data import TableOptions

    plain = encode or missing is not None or scale is not None
    return cluster(
        data,
        TableOptions(
            columns=_split(columns),
            drop=_split(ignore),
            label=label,
            encode=encode,
            missing="error" if missing is None else missing.value,
            text=_text(delimiter, decimal, header, encoding),
            sheet=sheet,
            roles=_roles(role, context.obj, plain),
            keep=None if keep is None else _split(keep),
            plain=plain,
        ),
        method=method.value,
        n_clusters=clusters,
        scale=scale is not False,
        seed=seed,
        in_passes=in_passes,
        confirmed_only=confirmed_only,
        n_resamples=stability,
        out=out,
        model_path=model,
        report_path=report,
        config=config,
        write_config=write_config,
        n_jobs=jobs,
        command=_command(),
        screen=_screen(quiet, json, out, model, report),
    )


@app.command()
def predict(
    model: Model,
    data: Data,
    out: Out = "-",
    clusters: Annotated[
        int | None, typer.Option(min=1, help="Number of clusters, if fewer than the model has.")
    ] = None,
    missing: Annotated[
        Missing | None,
        typer.Option(
            help="What to do with missing or infinite values. Default: as in the fit.", rich_help_panel=CHOICE
        ),
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    header: Header = None,
    encoding: Encoding = "utf-8",
    sheet: SheetName = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Assign new rows to the clusters of a model."""
    from ravine.cli._models import predict

    text = _text(delimiter, decimal, header, encoding)
    rule: Any = None if missing is None else missing.value
    predict(model, data, text, sheet, out or "-", clusters, rule, _screen(quiet, json, out))


@app.command()
def inspect(model: Model, json: Json = False) -> None:
    """Show the tree of a model: sizes, the columns that drive each split, and p-values."""
    from ravine.cli._models import inspect

    inspect(model, _screen(False, json))


@app.command()
def cut(
    model: Model,
    clusters: Annotated[int, typer.Option(min=1, help="Number of clusters.")],
    out: Annotated[
        Path | None, typer.Option(help="File for the model with fewer clusters. Without it, the tree is printed.")
    ] = None,
    json: Json = False,
) -> None:
    """Reduce a model to fewer clusters without fitting it again."""
    from ravine.cli._models import cut

    cut(model, clusters, out, _screen(False, json, out))


@app.command()
def report(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(help="File for the HTML report.")] = Path("report.html"),
    label: Label = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    header: Header = None,
    encoding: Encoding = "utf-8",
    sheet: SheetName = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write an HTML report that explains a model with the rows of a table."""
    from ravine.cli._models import report

    text = _text(delimiter, decimal, header, encoding)
    report(model, data, text, sheet, out, label, _command(), _screen(quiet, json, out))


@app.command()
def explain(
    model: Model,
    data: Data,
    row: Annotated[str, typer.Option(help="Identifier of the row, or its number, from 0.")],
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    header: Header = None,
    encoding: Encoding = "utf-8",
    sheet: SheetName = None,
    json: Json = False,
) -> None:
    """Show why a row of a table is in its cluster."""
    from ravine.cli._explain import explain

    explain(model, data, _text(delimiter, decimal, header, encoding), sheet, row, _screen(False, json))


@app.command()
def export(
    model: Model,
    to: Annotated[Export, typer.Option(help="What to write.")],
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "--output", metavar="FILE", help="File to write; - is standard output, the default for text."
        ),
    ] = None,
    table: Annotated[str, typer.Option(metavar="NAME", help="Name of the table, with --to sql.")] = "rows",
    dialect: Annotated[Dialect, typer.Option(help="The database, with --to sql.")] = Dialect.standard,
    input_type: Annotated[
        InputType, typer.Option(help="Type of the numbers that the graph takes, with --to onnx.")
    ] = InputType.float64,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a model as ONNX, SQL, a Python function or JSON, to label rows without ravine."""
    from ravine.cli._export import export

    screen = _screen(quiet, json, "-" if out is None else out)
    export(model, to.value, out, table, dialect.value, input_type.value, screen)


@app.command()
def compare(
    data: Data,
    methods: Annotated[
        str, typer.Option(help="Methods to compare, out of imdh, ncuth, mdh, pddp, kmeans, hdbscan.")
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
    sheet: SheetName = None,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare several methods on a table that fits in memory."""
    from ravine.cli._compare import compare
    from ravine.cli._data import TableOptions

    compare(
        data,
        TableOptions(
            columns=_split(columns),
            drop=_split(drop),
            label=label,
            encode=encode,
            missing=missing.value,
            text=_text(delimiter, decimal, header, encoding),
            sheet=sheet,
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
        str, typer.Argument(metavar="DATA", help="CSV, JSON lines or an Arrow stream; - is standard input.")
    ] = "-",
    method: Annotated[
        StreamMethod,
        typer.Option(
            help="stream follows clusters that appear, vanish, move, merge or split. hsdc and hsdci are published "
            "methods that do not scale the columns; with hsdci, new nodes inherit from old ones. imdh never forgets "
            "old rows."
        ),
    ] = StreamMethod.stream,
    significance: Annotated[
        float | None,
        typer.Option(
            help="Significance level of the test for a split; smaller values give fewer clusters. "
            "Default: 0.02, and 0.05 with other methods.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    run_length: Annotated[
        float | None,
        typer.Option(
            help="Average number of rows between two false alarms; with a smaller number, changes are noticed sooner. "
            "Default: 1e8. With stream only.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    max_clusters: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of clusters, which bounds the memory. Default: 200. With stream only.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    batch: Annotated[
        int,
        typer.Option(
            min=1, help="Rows in a batch. Each batch is labeled by the model before the model learns from it."
        ),
    ] = 100,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="Use only these columns: a,b,c. Default: the columns that are numbers in the first batch.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    drop: Drop = None,
    label: Annotated[
        str | None,
        typer.Option(
            help="Column with known classes. It is not learned. Scores compare it with the cluster that each row was "
            "given before it was learned. Rows without a class are learned and not scored.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    bad_rows: Annotated[
        BadRows,
        typer.Option(
            help="What to do with rows that have missing or extra fields, or values that are not finite numbers: stop, "
            "or skip them.",
            rich_help_panel=CHOICE,
        ),
    ] = BadRows.stop,
    per: Annotated[
        Per, typer.Option(help="Write one line for each row, or one for each batch.", rich_help_panel=OUTPUT)
    ] = (Per.row),
    out: Annotated[
        str,
        typer.Option(
            help="File to which JSON lines are appended; - is standard output. After a restart, standard output may "
            "repeat lines.",
            rich_help_panel=OUTPUT,
        ),
    ] = "-",
    events: Annotated[
        Path | None,
        typer.Option(
            help="File to which drifts, splits and bad rows are appended as JSON lines. Default: standard error.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Folder for checkpoints. After a stop or a crash, the same command with the same input continues from "
            "the last checkpoint, and its output files contain each row once. Only one process can use the folder.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="Number of rows between two checkpoints.", rich_help_panel=OUTPUT)
    ] = 10_000,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="At the end of the file, wait for more rows until SIGINT or SIGTERM. The file is followed by its "
            "name, as by tail -F, if it is rotated, truncated or removed.",
        ),
    ] = False,
    poll: Annotated[float, typer.Option(min=0.001, help="Seconds between two checks of a followed file.")] = 0.5,
    seed: Seed = 0,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    header: Header = None,
    encoding: Encoding = "utf-8",
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Label the rows of a stream as they arrive, and learn from them."""
    from ravine.cli._rows import StreamOptions
    from ravine.cli._stream import Plan, stream

    given = {"significance": significance, "run_length": run_length, "max_clusters": max_clusters}
    stream(
        data,
        StreamOptions(
            _text(delimiter, decimal, header, encoding),
            _split(columns),
            _split(drop),
            bad_rows is BadRows.skip,
            label,
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
            parameters={name: value for name, value in given.items() if value is not None},
        ),
        _screen(quiet, False, "-"),
    )


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Folder for the files of the demo.")] = Path("demo"),
    quiet: Quiet = False,
) -> None:
    """Cluster 1,797 handwritten digits and write a report that explains the result."""
    from ravine.cli._demo import demo

    demo(folder, _screen(quiet, False))


@app.command("compile")
def compile_all(quiet: Quiet = False, json: Json = False) -> None:
    """Compile all of ravine for this machine, so that no later fit has to wait.

    For images and installers. The compiled code is cached in a folder, which the command prints; the environment
    variable NUMBA_CACHE_DIR chooses another one.
    """
    from ravine.cli._compile import compile_all

    compile_all(_screen(quiet, json))


def _command() -> str:
    """Return the command as it was typed."""
    return shlex.join(["ravine", *sys.argv[1:]])


def _split(names: list[str] | None) -> tuple[str, ...]:
    """Return the names in a list with commas. A name that has a comma itself is in quotes."""
    fields = csv.reader(names or (), skipinitialspace=True)
    return tuple(name.strip() for line in fields for name in line if name.strip())


def _roles(given: list[str] | None, of_file: dict[str, str] | None, plain: bool) -> dict[str, str]:
    """Return the roles of the command line and of a file; the command line overrules the file."""
    from ravine._io import UsageError

    roles: dict[str, str] = {}
    name = ""
    for one in _split(given):
        if "=" not in one and roles.get(name, "").startswith("date:"):  # the parts of a date have commas, too
            roles[name] += f",{one}"
            continue
        name, equals, role = map(str.strip, one.rpartition("="))
        if not equals:
            raise UsageError(f"--role {one}: write it as column=role, for instance postcode=category")
        roles[name] = role
    roles = {**(of_file or {}), **roles}
    if roles and plain:
        raise UsageError("--role does not go with --encode, --missing or --scale: leave these out")
    return roles


def _text(delimiter: str | None, decimal: str, header: bool | None, encoding: str) -> Any:
    from ravine._io import TextFormat, UsageError

    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    for name, value in (("delimiter", delimiter), ("decimal", decimal)):
        if value is not None and len(value) != 1:
            raise UsageError(f"--{name} {value!r} is not a single character")
    return TextFormat(delimiter, decimal, header, encoding)


def _screen(quiet: bool, as_json: bool, *outputs: str | Path | None) -> Any:
    """Return the screen. Text goes to standard error if an output goes to standard output."""
    from ravine._files import is_standard_output
    from ravine.cli._screen import Screen

    return Screen(quiet, as_json, any(out is not None and (out == "-" or is_standard_output(out)) for out in outputs))
