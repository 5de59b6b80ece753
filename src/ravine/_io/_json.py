"""Check how deeply JSON lines are nested before they are parsed.

A recursive parser runs out of stack at some tens of thousands of brackets, and crashes the process.
"""

import re
from typing import Any

import numpy as np

from ravine._io._errors import DataError

DEEPEST = 100
"""Largest number of brackets around a value."""

LONGEST_LINE = 1 << 24
"""Longest line, in bytes."""

STRING = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
"""A string, or the start of a string at the end of the text."""


class ShallowLines:
    """Pass on the bytes of a stream. Raises DataError if a line nests its values more than `DEEPEST` deep.

    A line has at most as many levels as opening brackets, so in ordinary files it is enough to count these. Only lines
    with many brackets are examined.

    Parameters
    ----------
    stream : binary stream
    name : str
        Name of the stream in messages.
    """

    closed = False

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name
        self._line: list[bytes] = []  # the last line so far
        self._n_open = 0  # brackets in it

    def readable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Do nothing: whoever opened the stream closes it."""

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes and check that they can be parsed."""
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
            raise DataError(
                f"{self._name}: a line has more than {LONGEST_LINE:,} bytes: each line must be one JSON object"
            )

    def _check(self, line: bytes) -> None:
        brackets = np.frombuffer(STRING.sub(b"", line), dtype=np.uint8)
        step = ((brackets & 0xDF) == ord("[")).astype(np.int64) - ((brackets & 0xDF) == ord("]"))
        if step.cumsum().max(initial=0) > DEEPEST:
            raise DataError(
                f"{self._name}: a line nests its values more than {DEEPEST} deep: each line must be one JSON object, "
                "with a number, a word or null in each field"
            )
