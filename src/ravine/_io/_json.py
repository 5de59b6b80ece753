"""JSON lines that no parser stumbles over: how deep their values are nested is counted before they are parsed.

A parser that descends into every bracket runs out of its stack at some tens of thousands, and ends the process.
"""

import re
from typing import Any

import numpy as np

from ravine._io._errors import DataError

DEEPEST = 100
"""Brackets around a value, at most."""

LONGEST_LINE = 1 << 24
"""Bytes of the longest line."""

STRING = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
"""A string, or the start of one where the text ends."""


class ShallowLines:
    """The bytes of a stream, read through; DataError where a line nests its values more than `DEEPEST` deep.

    A line has at most as many levels as opening brackets: in ordinary files nothing is done but to count them. Only
    lines with many are looked at closely.

    Parameters
    ----------
    stream : binary stream
    name : str
        What it is called in messages.
    """

    closed = False

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name
        self._line: list[bytes] = []  # the last line so far
        self._n_open = 0  # brackets in it

    def readable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Done by whoever opened the stream."""

    def read(self, size: int = -1) -> bytes:
        """The next bytes, of which it is known that they can be parsed."""
        data = bytes(self._stream.read(size))
        self._look_at(data)
        return data

    def _look_at(self, data: bytes) -> None:
        letters = np.frombuffer(data, dtype=np.uint8)
        opens = np.flatnonzero((letters & 0xDF) == ord("["))  # [ and {
        ends = np.flatnonzero(letters == ord("\n"))
        count = np.diff(np.searchsorted(opens, ends), prepend=0, append=len(opens))  # of each line
        starts = np.append(0, ends + 1)
        carried, count[0] = self._n_open, count[0] + self._n_open
        for line in np.flatnonzero(count > DEEPEST).tolist():
            before = self._line if line == 0 and carried else []
            stop = ends[line] if line < len(ends) else len(data)
            self._check(b"".join([*before, data[starts[line] : stop]]))
        if len(ends):
            self._line = []
        self._line.append(data[starts[-1] :])
        self._n_open = int(count[-1])
        if sum(map(len, self._line)) > LONGEST_LINE:
            raise DataError(f"{self._name}: a line has more than {LONGEST_LINE:,} bytes: each must be one JSON object")

    def _check(self, line: bytes) -> None:
        brackets = np.frombuffer(STRING.sub(b"", line), dtype=np.uint8)
        step = ((brackets & 0xDF) == ord("[")).astype(np.int64) - ((brackets & 0xDF) == ord("]"))
        if step.cumsum().max(initial=0) > DEEPEST:
            raise DataError(
                f"{self._name}: a line nests its values more than {DEEPEST} deep: each must be one JSON object, with a "
                "number, a word or nothing in each field"
            )
