"""Checkpoints of a stream: the model and the positions in all files, saved together in a folder.

A generation is a file with the model, and `checkpoint.json`, which names that file. `checkpoint.json` is written under
another name and then renamed, so that the folder contains a complete generation at every moment.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from ravine._files import Place, locked, written_whole
from ravine._io import Columns, DataError, UsageError
from ravine.cli._layout import Layout
from ravine.cli._lines import RESTART, START, Mark, naming
from ravine.cli._system import sync
from ravine.persist import load, save

FORMAT, VERSION = "ravine stream", 1

FILE = "checkpoint.json"

LOCK = "checkpoint.lock"

OWN = re.compile(rf"{re.escape(FILE)}|{re.escape(LOCK)}|model-\d+\.ravine|\..*\.part")
"""Names of the files that a checkpoint writes and removes in its folder."""


@dataclass(frozen=True)
class Generation:
    """The state of a stream between two batches.

    Attributes
    ----------
    options : dict
        Options that must be the same when the stream continues.
    n_rows : int
        Number of rows read, including bad rows.
    n_bad : int
        Number of bad rows among them.
    bad_runs : list of pairs of int
        Positions of the bad rows, for the numbers of rows in events.
    layout : Layout or None
        Layout of the lines; None before the first row.
    place, out, events : Mark
        Positions in the input and the output files; None for an output that cannot be rewound.
    model : str or None
        File of the model; None before the first row is learned.
    counts : list of pairs
        Number of rows by cluster and class, if the classes are known.
    """

    options: dict[str, Any]
    n_rows: int = 0
    n_bad: int = 0
    bad_runs: list[tuple[int, int]] = field(default_factory=list)
    layout: Layout | None = None
    place: Mark = START
    out: Mark | None = None
    events: Mark | None = None
    model: str | None = None
    counts: list[tuple[int, dict[str, int]]] = field(default_factory=list)

    def check_options(self, options: Mapping[str, Any], folder: Path) -> None:
        """Raise UsageError if an option differs from that of the checkpoint."""
        for name, now in options.items():
            before = self.options.get(name)  # a checkpoint does not have options that were added later
            if now != before:
                raise UsageError(
                    f"--checkpoint {folder} was made with {_said(name, before)}, but this command has "
                    f"{_said(name, now)}: give the same options, or {RESTART}"
                )


def _said(name: str, value: Any) -> str:
    match value:
        case None | []:
            return f"no --{name}"
        case bool():
            return f"--{name}" if value else f"--no-{name}"
        case list():
            return f"--{name} {','.join(value)}"
    return f"--{name} {value}"


@contextmanager
def alone_with(folder: Path) -> Iterator[bool]:
    """Lock a checkpoint folder for this process. Yields False if the file system does not support locks.

    Raises LockedError, which names the other process, if the folder is in use.
    """
    with locked(folder / LOCK, "wait until it ends, or give another --checkpoint") as is_held:
        yield is_held


def is_own(folder: Path, place: Place) -> bool:
    """Whether the checkpoint writes or removes this file."""
    has_own_name = OWN.fullmatch(place.path.name) is not None and place.path.parent == folder.resolve()
    own = [file for file in folder.iterdir() if OWN.fullmatch(file.name)] if folder.is_dir() else []
    return has_own_name or any(place.is_same(Place(file)) for file in own)


def write_generation(folder: Path, generation: Generation, model: Any) -> None:
    """Replace the previous generation. `model` is None or has learned some rows."""
    content = asdict(generation)
    record = {"format": FORMAT, "version": VERSION, "checksum": _checksum(content), "content": content}
    with naming(folder):
        if generation.model is not None:
            assert generation.layout is not None
            _save(model, folder / generation.model, generation.layout.used or ())
        with written_whole(folder / FILE) as place:
            place.write_text(json.dumps(record, indent=1), encoding="utf-8")
            sync(place)
        sync(folder)
    clear(folder, generation)


def _save(model: Any, path: Path, used: tuple[str, ...]) -> None:
    """Save the model with the names of its columns. It has none while it learns from plain arrays."""
    model._set_feature_names(used)
    try:
        save(model, path, resume=True, notes={"columns": Columns(used, {}).to_dict()})
    finally:
        model._set_feature_names(None)
    sync(path)
    sync(path.parent)


def read_generation(folder: Path) -> tuple[Generation, Any] | None:
    """Return the generation in the folder and its model, or None if the folder has no checkpoint."""
    path = folder / FILE
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    generation = _parsed(text, path)
    if generation.model is None:
        return generation, None
    try:
        model = load(folder / generation.model)
    except FileNotFoundError:
        raise DataError(f"{path}: the checkpoint is damaged, {generation.model} is missing: {RESTART}") from None
    except ValueError as error:
        raise DataError(f"the checkpoint is damaged, {error}: {RESTART}") from None
    model._set_feature_names(None)
    return generation, model


def _parsed(text: bytes, path: Path) -> Generation:
    try:
        record = json.loads(text)
        is_ours = record["format"] == FORMAT
        version = record["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        is_ours, version = False, VERSION
    if is_ours and version != VERSION:
        raise DataError(f"{path} has format version {version}, but this ravine reads version {VERSION}: {RESTART}")
    if not is_ours or record.get("checksum") != _checksum(record.get("content")):
        raise DataError(f"{path}: the checkpoint is damaged: {RESTART}")
    content = record["content"]
    for name in ("place", "out", "events"):
        content[name] = content[name] and Mark(**content[name])
    layout = content["layout"]
    if layout is not None:
        used = None if layout["used"] is None else tuple(layout["used"])
        content["layout"] = Layout(**{**layout, "fields": tuple(layout["fields"]), "used": used})
    return Generation(**content)


def _checksum(content: Any) -> int:
    return crc32(json.dumps(content, sort_keys=True).encode())


def clear(folder: Path, generation: Generation) -> None:
    """Remove files that earlier generations and killed runs have left in the folder."""
    for pattern in ("model-*.ravine", ".model-*.part", f".{FILE}.*.part"):
        for path in folder.glob(pattern):
            if path.name != generation.model:
                path.unlink()
