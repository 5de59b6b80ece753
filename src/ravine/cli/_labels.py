"""Label the rows of the input files, and write the labels."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ravine._files import Place, written_whole
from ravine._io import BesideChangedError, LabelWriter, label_kind
from ravine._io._labels import KINDS
from ravine.cli._data import Data
from ravine.report import ReportAccumulator, ReportData


def kind_of_labels(out: str | None) -> str:
    """Format of the labels: from the file name, or CSV for pipes and other special files."""
    if out is None or (Path(out).suffix.lower() not in KINDS and not Place(out).is_plain):
        return ".csv"
    return label_kind(out)


@contextmanager
def labels_file(out: str | None) -> Iterator[LabelWriter | None]:
    """Open the output for the labels. A file appears only after all labels are written."""
    if out is None:
        yield None
    elif out == "-":
        with LabelWriter(None, ".csv") as writer:
            yield writer
    else:
        with written_whole(out) as place, LabelWriter(place, kind_of_labels(out)) as writer:
            yield writer


def label_rows(model: Any, data: Data, out: str | None) -> ReportData:
    """Label all rows with a model or a tree, write the labels if requested, and collect the data of the report."""
    try:
        return _label_rows(model, data, out)
    except BesideChangedError:
        return _label_rows(model, data, out)  # now the column is text from the first row


def _label_rows(model: Any, data: Data, out: str | None) -> ReportData:
    gatherer, n_rows = ReportAccumulator(model), 0
    with labels_file(out) as writer:
        for block in data.blocks("labeling", with_label=True):
            labels = gatherer.add(block.X, block.label, numbers=n_rows + np.flatnonzero(block.kept))
            n_rows += len(block.kept)
            if writer is not None:
                writer.add(labels, block.kept, block.beside)
    return gatherer.rows()
