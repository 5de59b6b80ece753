"""Check the files of a command: it must not overwrite its input, nor write two outputs to one file.

Files are compared by identity, not by name, so links, other spellings and redirections are recognized.
"""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ravine._files import Place, check_writable
from ravine._io import UsageError
from ravine._io._kinds import SUFFIXES, suffix_of
from ravine._io._open import find_files, is_hidden


@dataclass(frozen=True)
class Files:
    """The parameters of a command that name files, and their names on the command line.

    Attributes
    ----------
    read, written, appended : dict from str to str
    folders : dict from str to str
        Folders in which the command keeps its own files.
    """

    read: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    appended: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)


DATA, MODEL = {"data": "DATA"}, {"model": "MODEL"}

COMMANDS = {
    "cluster": Files(
        read=DATA | {"config": "--config"},
        written={"out": "--out", "model": "--model", "report": "--report", "write_config": "--write-config"},
    ),
    "predict": Files(read=MODEL | DATA, written={"out": "--out"}),
    "inspect": Files(read=MODEL),
    "cut": Files(read=MODEL, written={"out": "--out"}),
    "report": Files(read=MODEL | DATA, written={"out": "--out"}),
    "explain": Files(read=MODEL | DATA),
    "export": Files(read=MODEL, written={"out": "--out"}),
    "compare": Files(read=DATA, written={"report": "--report"}),
    "stream": Files(read=DATA, appended={"out": "--out", "events": "--events"}, folders={"checkpoint": "--checkpoint"}),
    "demo": Files(
        written={"data": "its data", "out": "its labels", "model": "its model", "report": "its report"},
        folders={"folder": "--folder"},
    ),
    "compile_all": Files(),
}
"""Files of each command. A test checks that every parameter that names a file is listed here."""


@dataclass(frozen=True)
class _Named:
    """A file named by the user."""

    said: str
    name: str
    place: Place

    def __str__(self) -> str:
        return f"{self.said} {self.name}"


def check_files(command: str, **given: Any) -> None:
    """Raise UsageError or OSError, before any work, if files cannot be written or would overwrite other files.

    Parameters
    ----------
    command : str
    **given : path-like, list of them, or None
        Files by the names of the parameters; - is standard input or standard output.
    """
    files = COMMANDS[command]
    written = [
        _Named(said, str(given[name]), Place(1 if given[name] == "-" else given[name]))
        for name, said in {**files.written, **files.appended}.items()
        if given.get(name) is not None
    ]
    for one in written:
        if one.name != "-":
            check_writable(one.name)
    named = [(said, given[name]) for name, said in files.read.items() if given.get(name) is not None]
    read = [one for said, name in named for one in _inputs(said, name)] if written else []
    for i, one in enumerate(written):
        for other in read:
            if other.place.is_same(one.place) and _gives_back(one.place):
                what = "standard input" if other.name == "-" else str(other)
                raise UsageError(f"{one} is the same file as {what}: give the name of another file")
        for other in written[:i]:
            if other.place.is_same(one.place) and not _takes_both(one.place, other.place):
                raise UsageError(f"{other} and {one} are the same file: give each its own file")
        _check_outside(one, given.get("data"))


def _inputs(said: str, given: Any) -> Iterator[_Named]:
    """Yield every input file. A list can contain folders and patterns."""
    if isinstance(given, list | tuple):
        for name in given:
            yield from _inputs(said, "-") if name == "-" else (_named(said, path) for path in find_files(name))
    else:
        yield _named(said, given)


def _named(said: str, name: Any) -> _Named:
    return _Named(said, str(name), Place(0 if name == "-" else name))


def _gives_back(place: Place) -> bool:
    """Whether data written there can be read there again: yes for a file or a pipe, no for a terminal."""
    return place.status is None or stat.S_ISREG(place.status.st_mode) or stat.S_ISFIFO(place.status.st_mode)


def _takes_both(one: Place, other: Place) -> bool:
    """Whether two outputs may share it: a terminal, /dev/null, or streams that the shell has joined (2>&1)."""
    is_device = one.status is not None and stat.S_ISCHR(one.status.st_mode)
    return is_device or (one.number is not None and other.number is not None and one.number != other.number)


def _check_outside(one: _Named, data: Any) -> None:
    """Raise UsageError if the next run would read the output as data, because it is in a data folder."""
    for name in data if isinstance(data, list | tuple) else ():
        if name != "-" and one.place.is_plain and is_data_in(one.place.path, Path(name)):
            raise UsageError(
                f"{one} is in the data folder {name}, so the next run would read it as data: choose another folder"
            )


def is_data_in(path: Path, folder: Path) -> bool:
    """Whether a file, which may not exist yet, counts as data of a folder."""
    inner = folder.resolve()
    is_within = folder.is_dir() and path.is_relative_to(inner)
    return is_within and suffix_of(path) in SUFFIXES and not is_hidden(path, inner)
