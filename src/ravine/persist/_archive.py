"""The archive of a model: a zip file with a header and plain arrays, stored one after the other.

The content is not trusted. The sizes in the archive are compared with the length of the file before anything is read.
An array is read only when it is needed, and takes no more memory than the array itself.
"""

import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ravine.persist._values import DTYPES, Given

HEADER, MAX_MEMBERS = "header.json", 1000
"""Name of the header in the archive, and largest number of members."""

NPY_MAGIC = b"\x93NUMPY\x01\x00"
NPY_HEADER = re.compile(r"\{'descr': '([^']*)', 'fortran_order': False, 'shape': \(([0-9, ]*)\), \} *\n")
NPY_LONGEST = 1 << 12
"""Longest header of an array, in bytes."""

FIXED_DATE = (1980, 1, 1, 0, 0, 0)
"""Date of all members, so that the same model always gives the same bytes."""

LOCAL_HEADER = struct.Struct("<4s22xHH")
"""Header of a member: its first bytes, and the lengths of its name and of the extra field before its content."""

ZIP_START, ZIP_END, ZIP_END_SIZE, PICKLE_START = b"PK\x03\x04", b"PK\x05\x06", 22, b"\x80"

LARGEST_DIRECTORY = 1 << 20
"""Largest list of members at the end of a file, in bytes: a thousand names of a thousand letters."""

FREE_COST = 48 << 20
"""Memory that the header of a small file may need, in bytes."""

CHUNK = 1 << 20
"""Number of bytes read at a time."""


def write(place: Path, text: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a header and arrays. The same content gives the same bytes."""
    with zipfile.ZipFile(place, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_member(HEADER), text)
        for key, array in arrays.items():
            with archive.open(_member(f"{key}.npy"), "w", force_zip64=array.nbytes >= 1 << 30) as file:
                np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, FIXED_DATE)
    info.create_system = 3  # the same bytes on every system
    return info


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[tuple[str, Given]]:
    """Open an archive: the text of its header, and its arrays, which can be read while the file is open.

    Raises ValueError if the file is not an archive of a model.
    """
    with open(path, "rb") as file:
        start = file.read(len(ZIP_START))
        if start.startswith(PICKLE_START):
            raise ValueError("looks like a pickle: ravine does not load pickles, because they can run any code")
        size = file.seek(0, os.SEEK_END) if start == ZIP_START else 0
        file.seek(max(size - ZIP_END_SIZE, 0))
        if start != ZIP_START or file.read(len(ZIP_END)) != ZIP_END:
            raise ValueError("is not a model saved by ravine, or is incomplete")
        try:
            places = _places(file)
            text = _header_text(file, places.pop(HEADER), size)
            yield text, {name.removesuffix(".npy"): partial(_array, file, name, *at) for name, at in places.items()}
        except (zipfile.BadZipFile, EOFError, OverflowError, NotImplementedError, struct.error) as error:
            raise ValueError(f"is damaged: {error}") from error


class _Bounded:
    """Limit how much `zipfile` reads at once: it would read a directory of any claimed length."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        """Read `size` bytes, or all that are left. Raises ValueError if they are too many."""
        content = self._file.read(LARGEST_DIRECTORY + 1 if size < 0 else min(size, LARGEST_DIRECTORY + 1))
        if len(content) > LARGEST_DIRECTORY:
            raise ValueError("is damaged: its list of members is too long")
        return content


Place = tuple[int, int, int]
"""Position, length and checksum of the content of a member."""


def _places(file: BinaryIO) -> dict[str, Place]:
    """Find the members. They must fill the file up to the directory, without gaps, overlaps or repeated names."""
    with zipfile.ZipFile(_Bounded(file)) as archive:
        infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
        end = archive.start_dir
    if len(infos) > MAX_MEMBERS:
        raise ValueError(f"has {len(infos)} members; a model has at most {MAX_MEMBERS}")
    if HEADER not in (info.filename for info in infos):
        raise ValueError(f"is not a model saved by ravine: it has no {HEADER}")
    places: dict[str, Place] = {}
    place = 0
    for info in infos:
        name = info.filename
        if name in places:
            raise ValueError("has two members of the same name")
        if name != HEADER and not re.fullmatch(r"[A-Za-z0-9_.]+\.npy", name):
            raise ValueError(f"has a member that is not an array: {name[:100]!r}")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits or info.file_size != info.compress_size:
            raise ValueError(f"member {name[:100]!r} is compressed or encrypted, which ravine never does")
        if info.header_offset != place:
            raise ValueError("has members that overlap, or something between them")
        file.seek(place)
        start, name_length, extra_length = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
        if start != ZIP_START or file.read(name_length) != name.encode():
            raise ValueError(f"is damaged: member {name[:100]!r} does not begin where it should")
        place += LOCAL_HEADER.size + name_length + extra_length
        places[name] = place, info.file_size, info.CRC
        place += info.file_size
    if place != end:
        raise ValueError("has members that overlap, or something between them")
    return places


def _header_text(file: BinaryIO, place: Place, file_size: int) -> str:
    """Read the header, after checking that its values take at most about twice the memory of the file."""
    start, size, checksum = place
    limit = 2 * file_size + FREE_COST
    if 2 * size > limit:
        raise ValueError("the header is too long for the size of the file")
    file.seek(start)
    content = file.read(size)
    if zlib.crc32(content) != checksum:
        raise ValueError("is damaged: the checksum of the header is wrong")
    if cost_of_json(content) > limit:
        raise ValueError("the header has too many values for the size of the file")
    try:
        return content.decode("ascii")
    except UnicodeDecodeError as error:
        raise ValueError(f"the header is not JSON as ravine writes it: {error}") from None


def cost_of_json(text: bytes) -> int:
    """Upper bound on the memory, in bytes, that parsing a header and creating its values takes."""
    wide = 4 if re.search(rb"\\u[dD][89abAB]", text) else 2 if b"\\u" in text else 1  # bytes of a character in a string
    lists, dicts, items, keys = (text.count(sign) for sign in (b"[", b"{", b",", b":"))
    return (2 + wide) * len(text) + 150 * lists + 300 * dicts + 72 * items + 280 * keys


def parsed_json(text: str) -> Any:
    """Parse JSON. Repeated names, infinities and NaN are errors."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) < len(pairs):
            raise ValueError("a name occurs twice in the header")
        return out

    def finite(number: str) -> float:
        if not math.isfinite(float(number)):
            raise ValueError(f"{number[:100]} in the header is not a finite number")
        return float(number)

    try:
        return json.loads(text, object_pairs_hook=unique, parse_float=finite, parse_constant=finite)
    except ValueError as error:
        raise ValueError(f"the header is not JSON as ravine writes it: {error}") from error


def _array(file: BinaryIO, name: str, start: int, size: int, checksum: int) -> NDArray[Any]:
    """Read an array in the format that NumPy writes. Memory is allocated only after its size is checked."""
    file.seek(start)
    before = len(NPY_MAGIC) + 2
    head = file.read(min(size, before + NPY_LONGEST))
    if not head.startswith(NPY_MAGIC) or len(head) < before:
        raise ValueError(f"member {name!r} is not a NumPy array")
    end = before + int.from_bytes(head[before - 2 : before], "little")
    header = NPY_HEADER.fullmatch(head[before:end].decode("latin-1"))
    if header is None or end > len(head):
        raise ValueError(f"the header of array {name!r} cannot be read")
    if header[1] not in DTYPES:
        what = "Python objects: ravine does not load pickles" if "O" in header[1] else f"the type {header[1][:50]!r}"
        raise ValueError(f"array {name!r} holds {what}")
    dtype, shape = np.dtype(header[1]), tuple(int(n) for n in header[2].replace(",", " ").split())
    if math.prod(shape) * dtype.itemsize != size - end:
        raise ValueError(f"array {name!r} has {size - end} bytes, which does not match its shape {shape}")
    array: NDArray[Any] = np.empty(shape, dtype)
    file.seek(start + end)
    if _read_into(file, array, zlib.crc32(head[:end])) != checksum:
        raise ValueError(f"is damaged: the checksum of array {name!r} is wrong")
    if dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise ValueError(f"array {name!r} has an entry that is neither true nor false")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _read_into(file: BinaryIO, array: NDArray[Any], checksum: int) -> int:
    """Fill the array from the file, and return the updated checksum."""
    left = memoryview(array.reshape(-1).view(np.uint8).data) if array.size else memoryview(b"")
    while left:
        part = left[:CHUNK]
        if file.readinto(part) != len(part):  # type: ignore[attr-defined]
            raise ValueError("is incomplete")
        checksum = zlib.crc32(part, checksum)
        left = left[CHUNK:]
    return checksum
