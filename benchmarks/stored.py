"""The files that a run writes to its folder, and the page made from them.

A script writes NAME.csv or NAME_PART.csv, one file per table, and NAME.json: when, how and with which versions every
part was run. NAME.md is made from these files alone, so :mod:`benchmarks.pages` can write it again without running
anything.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

PACKAGES = ("numpy", "scikit-learn", "ravine")
Entry = dict[str, Any]


def run_details(words: Sequence[str], packages: Sequence[str] = ()) -> Entry:
    """Return when, how and with which versions a run is made; it holds no path and no host name."""
    module = getattr(sys.modules["__main__"], "__spec__", None)
    program = ["python", "-m", module.name] if module else ["python", Path(sys.argv[0]).name]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join([*program, *map(_last_part, words)]),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in (*PACKAGES, *packages)}},
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }


def _last_part(word: str) -> str:
    option, equals, value = word.rpartition("=")
    return f"{option}{equals}{Path(value).name or value}"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def runs(stem: Path) -> list[Entry]:
    """Return the runs that made the stored results, in order."""
    path = stem.with_suffix(".json")
    entries: list[Entry] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return entries


def record(stem: Path, entry: Entry, *, anew: bool = False) -> None:
    """Add a run to the earlier ones, or start again; refuse to mix rows made with different settings."""
    past = [] if anew else runs(stem)
    if past and past[-1].get("settings") != entry.get("settings"):
        sys.exit(
            f"{stem.name}.json was made with {past[-1].get('settings')}, not {entry.get('settings')}: "
            "choose another --out"
        )
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_suffix(".json").write_text(json.dumps([*past, entry], indent=1) + "\n", encoding="utf-8")


def write_table(stem: Path, part: str, table: pd.DataFrame, digits: str = "%.6g") -> None:
    """Write NAME_PART.csv."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(f"{stem}_{part}.csv", index=False, float_format=digits, lineterminator="\n")


def read_table(stem: Path, part: str = "", **options: Any) -> pd.DataFrame:
    """Read NAME.csv or NAME_PART.csv."""
    return pd.read_csv(f"{stem}_{part}.csv" if part else f"{stem}.csv", **options)


def provenance(stem: Path) -> str:
    """Return dates, cores, versions and commands, with one paragraph and block for all runs with the same versions."""
    paragraphs = []
    for (cores, _), group in groupby(runs(stem), key=lambda run: (run["cores"], str(run["versions"]))):
        entries = list(group)
        days = sorted({run["date"][:10] for run in entries})
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        known = ", ".join(f"{package} {version}" for package, version in entries[0]["versions"].items())
        commands = list(dict.fromkeys(run["command"] for run in entries))
        paragraphs.append(f"Measured on {when}, {cores} cores, {known}:")
        paragraphs.append("\n".join(["```text", *commands, "```"]))
    return "\n\n".join(paragraphs)


def page(title: str, stem: Path, parts: Iterable[str]) -> str:
    """Return a whole page: the parts that are not empty, then how they were made."""
    return "\n\n".join([f"# {title}", *filter(None, parts), provenance(stem)]) + "\n"


def write_page(stem: Path, text: str) -> None:
    """Write NAME.md and show it."""
    stem.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)
