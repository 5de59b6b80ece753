"""The rows of the input files as data frames, for a saved pipeline that prepares them itself."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine._io import Block, UsageError
from ravine.cli._data import Data


@dataclass(frozen=True)
class FrameData(Data):
    """The tables of a command in blocks of data frames, with the values that the files have."""

    def blocks(self, what: str, with_label: bool = False) -> Iterator[Block]:
        """Iterate over all rows in blocks, with a progress bar of rows, or of bytes if the number is not known."""
        frame, used = frame_maker(), list(self.columns.used)
        label = self.label if with_label else None
        wanted = [*used, *([] if label is None or label in used else [label])]
        by_rows = self.n_rows is not None
        with self.screen.progress(what, self.n_rows if by_rows else self._n_bytes) as meter:
            for table in self.tables:
                for batch in table.batches(wanted, None if by_rows else meter.step):
                    meter.count(batch.num_rows)
                    if by_rows:
                        meter.step(batch.num_rows)
                    kept = np.ones(batch.num_rows, dtype=bool)
                    classes = None if label is None else batch.column(label).to_pylist()
                    yield Block(frame(batch.select(used)), kept, classes)


def frame_maker() -> Callable[[Any], Any]:
    """Return the function that makes a data frame of a record batch, with pandas or Polars."""
    try:
        import pandas  # noqa: F401

        return lambda batch: batch.to_pandas()
    except ImportError:
        pass
    try:
        import polars

        return lambda batch: polars.from_arrow(batch)
    except ImportError:
        raise UsageError(
            "the model is a pipeline that was fitted on a data frame: install pandas or polars to use it"
        ) from None
