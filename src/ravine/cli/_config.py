"""The options of `ravine cluster` in a TOML file: read for a run, and written so that a run can be repeated."""

import csv
import difflib
import io
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ravine._files import written_whole
from ravine._io import TextFormat, UsageError
from ravine._names import shown
from ravine.cli._data import Data, TableOptions

KEYS: Mapping[str, type] = {
    "method": str,
    "clusters": int,
    "confirmed-only": bool,
    "stability": int,
    "columns": list,
    "ignore": list,
    "roles": dict,
    "label": str,
    "encode": bool,
    "missing": str,
    "scale": bool,
    "in-passes": bool,
    "seed": int,
    "out": str,
    "keep": list,
    "model": str,
    "report": str,
    "delimiter": str,
    "decimal": str,
    "header": bool,
    "encoding": str,
    "sheet": str,
    "jobs": int,
}
"""Keys of the file, which are options of the command, and the types of their values."""

KINDS: Mapping[type, str] = {
    str: 'text, as in "a"',
    int: "a whole number",
    bool: "true or false",
    list: 'a list of columns, as in ["a", "b"]',
    dict: 'a table of columns and roles, as in {a = "number"}',
}
"""What a value of each type is called."""


def read_config(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Read the options of a file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    options : dict
        Values by the names of the parameters of the command. Lists are in the form of the command line.
    roles : dict
        Roles of columns.
    """
    with open(path, "rb") as file:
        try:
            found = tomllib.load(file)
        except ValueError as error:  # also of text that is not UTF-8
            raise UsageError(f"{path}: this is not TOML: {' '.join(str(error).split())}") from None
    unknown = [key for key in found if key not in KEYS]
    if unknown:
        raise UsageError(f"{path}: {_not_known(unknown)}; the keys are {', '.join(KEYS)}")
    for key, value in found.items():
        _check_type(path, key, value, KEYS[key])
    roles = found.pop("roles", {})
    return {key.replace("-", "_"): _as_option(value) for key, value in found.items()}, roles


def _not_known(unknown: Sequence[str]) -> str:
    said = []
    for key in unknown:
        near = difflib.get_close_matches(key.replace("_", "-").lower(), KEYS, n=1)
        said.append(f"{key!r} (did you mean {near[0]!r}?)" if near else repr(key))
    return f"there {'is no key' if len(said) == 1 else 'are no keys'} {', '.join(said)}"


def _check_type(path: Path, key: str, value: Any, kind: type) -> None:
    is_right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    inside = list(value) if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    if not is_right or not all(isinstance(one, str) for one in inside):
        raise UsageError(f"{path}: {key} must be {KINDS[kind]}, not {json.dumps(value, default=str)}")


def _as_option(value: Any) -> Any:
    """Return a value as the command line gives it: names in a list are separated by commas."""
    if not isinstance(value, list):
        return value
    line = io.StringIO()
    csv.writer(line).writerow(value)
    return [line.getvalue().rstrip("\r\n")]


def write_config(path: Path, where: Sequence[str], data: Data, options: TableOptions, given: Mapping[str, Any]) -> None:
    """Write what was decided, so that the run can be repeated with another table.

    Parameters
    ----------
    path : Path
    where : sequence of str
        Files of the table.
    data : Data
        The table, with the roles of its columns.
    options : TableOptions
        How the table was read.
    given : mapping
        Other options by their keys. Those that are None are left out.
    """
    lines = [
        f"# Decided by ravine cluster {_comment(' '.join(where))}",
        f"# Repeat it with: ravine cluster DATA --config {_comment(str(path))}",
        "",
    ]
    written = {**given, **_of_table(data, options), **_of_text(options.text), "sheet": options.sheet}
    lines += [f"{key} = {_toml(value)}" for key, value in written.items() if value is not None]
    if data.encoder is not None:
        lines += ["", "[roles]", *map(_role, data.encoder.columns_)]
    with written_whole(path) as place:
        place.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _of_table(data: Data, options: TableOptions) -> dict[str, Any]:
    """Return the options that choose columns; those of a table that is not prepared by hand have roles."""
    by_hand = {"columns": list(data.columns.used), "encode": options.encode or None, "missing": options.missing}
    keep = None if options.keep is None else list(options.keep)
    return {"label": options.label, "keep": keep, **(by_hand if options.plain else {})}


def _of_text(text: TextFormat) -> dict[str, Any]:
    usual = vars(TextFormat())
    return {key: value for key, value in vars(text).items() if value != usual[key]}


def _role(column: Any) -> str:
    """Return the line of a column: its role, and why."""
    known = column.role in ("number", "date", "boolean", "category", "identifier", "text", "ignore")
    reason = column.reason if known else f"{column.role}: {column.reason}"
    role = column.role if known else "ignore"
    parts = f":{','.join(column.parts)}" if column.parts else ""
    return f"{_key(column.name)} = {_toml(role + parts)}  # {_comment(reason)}"


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else _toml(name)


def _toml(value: Any) -> str:
    """Return a value as TOML. Text is written as in JSON, whose escapes TOML has."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    return " ".join(shown(text).split())
