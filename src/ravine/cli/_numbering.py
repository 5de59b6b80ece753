"""Numbers of the rows in the input, for a model that counts only the rows that it has learned."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from ravine.tree._stream import in_words

MOST_RUNS = 4096
"""Number of runs of bad rows that are remembered. Beyond it, every second one of the older half is forgotten."""


class Numbering:
    """Numbers of the learned rows in the input.

    The number of a learned row is exact behind at least the last `MOST_RUNS` / 2 runs of bad rows. Further back it may
    be too small, by the bad rows of the forgotten runs between two that are remembered.

    Parameters
    ----------
    runs : list of pairs of int
        For each run of bad rows, the number of rows that were learned before it, and the number of bad rows up to its
        end.
    """

    def __init__(self, runs: Sequence[tuple[int, int]] = ()) -> None:
        self._learned = [learned for learned, _ in runs]
        self._n_bad = [n_bad for _, n_bad in runs]

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The runs of bad rows, for a checkpoint."""
        return list(zip(self._learned, self._n_bad, strict=True))

    def skip(self, bad: Iterable[int]) -> None:
        """Add bad rows, by their numbers in the input, in order."""
        for row in bad:
            before = self._n_bad[-1] if self._n_bad else 0
            n_learned = row - before
            if self._learned and self._learned[-1] == n_learned:
                self._n_bad[-1] += 1
            else:
                self._learned.append(n_learned)
                self._n_bad.append(before + 1)
            if len(self._learned) > MOST_RUNS:
                del self._learned[: MOST_RUNS // 2 : 2], self._n_bad[: MOST_RUNS // 2 : 2]

    def row(self, n_learned: int) -> int:
        """Return the number in the input of the row before which `n_learned` rows were learned."""
        run = bisect_right(self._learned, n_learned) - 1
        return int(n_learned) + (self._n_bad[run] if run >= 0 else 0)

    def renumbered(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return the event with the numbers of its rows in the input, in its words too."""
        event = {key: self.row(value) if key in ("row", "since") else value for key, value in event.items()}
        return {**event, "text": in_words(event)} if "text" in event else event
