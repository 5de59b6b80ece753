"""`ravine stream`: each row is labeled with the model learned from the rows before it, and then learned.

With a checkpoint, the command can be killed at any moment. Started again on the same input, it continues from the last
checkpoint and removes what was written after it. Files and model are then the same as those of an uninterrupted run.
"""

import math
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ravine._files import Place
from ravine._io import COMPRESSIONS, TextFormat, UsageError
from ravine.cli._arrow import ArrowRows
from ravine.cli._checkpoint import Generation, alone_with, clear, is_own, read_generation, write_generation
from ravine.cli._follow import is_rotated
from ravine.cli._input import STDIN, Input, open_file, open_rows, recognized
from ravine.cli._lines import Sink, Stop, Stopped
from ravine.cli._numbering import Numbering
from ravine.cli._places import check_files
from ravine.cli._plan import METHODS, Plan, check_parameters, make_model
from ravine.cli._rows import Batch, Rows, StreamOptions
from ravine.cli._scores import Scores, batch_scores
from ravine.cli._screen import Meter, Screen
from ravine.cluster._identity import identified
from ravine.evaluation._event_counts import count_events, events_since
from ravine.tree._text import counted

__all__ = ["METHODS", "Plan", "stream"]


def stream(data: str, options: StreamOptions, plan: Plan, screen: Screen) -> None:
    """Label and learn the rows of a file or of standard input, to the end or until the user stops the command."""
    check_parameters(plan)
    options = replace(options, text=_checked_text(data, options.text))
    _check_places(data, plan)
    stop = Stop()
    with stop.on_signals(), ExitStack() as stack:
        name = STDIN if data == "-" else data
        if plan.checkpoint is not None and not stack.enter_context(alone_with(plan.checkpoint)):
            screen.warn(
                f"{plan.checkpoint}: this file system has no locks: make sure that no other process uses the folder"
            )
        try:
            file = open_file(data, plan.poll, stack)
            # Opening a pipe waits for its reader.
            out = stop.wait_for(Sink, plan.out, sys.stdout.buffer if plan.out is None else None)
            stack.callback(out.close)
            is_shown = plan.events is None and not screen.quiet
            events = stop.wait_for(Sink, plan.events, sys.stderr.buffer if is_shown else None)
            stack.callback(events.close)
            source = recognized(file, data, stop, plan.poll, screen.warn, stack)
            start, model = _begin(source, out, events, plan, options, seek=data != "-")
        except Stopped:
            return
        rows = open_rows(source, name, options, screen.warn, start)
        scores = None if options.label is None else Scores(options.label, start.counts)
        run = _Run(rows, out, events, plan, start, model, screen, scores)
        on_terminal = plan.out is None and sys.stdout.isatty()
        with nullcontext(Meter()) if on_terminal else screen.progress("learning", None) as meter:
            run.run(stop, meter)
        screen.say(f"{counted(run.n_rows, 'row')} read, {counted(run.n_bad, 'bad row')} skipped")
        if scores is not None:
            screen.say(str(scores))


def _checked_text(data: str, text: TextFormat) -> TextFormat:
    """Complete and check the text format, as far as it does not depend on the first line."""
    if not "a\n".encode(text.encoding).endswith(b"a\n"):
        raise UsageError(
            f"--encoding {text.encoding}: a stream cannot be split into lines in this encoding: convert it to utf-8"
        )
    if Path(data).suffix in COMPRESSIONS:
        raise UsageError(f"{data}: a stream must be plain text: decompress the file and pipe it to the command")
    if Path(data).suffix.lower() in (".tsv", ".tab") and text.delimiter is None:
        return replace(text, delimiter="\t")
    return text


def _check_places(data: str, plan: Plan) -> None:
    if plan.poll is not None and (data == "-" or (Path(data).exists() and not Path(data).is_file())):
        raise UsageError("--follow needs a file; standard input is always read to its end")
    check_files("stream", data=data, out="-" if plan.out is None else plan.out, events=plan.events)
    named = {"DATA": None if data == "-" else Path(data), "--out": plan.out, "--events": plan.events}
    if plan.poll is not None:
        for said in ("--out", "--events"):
            path = named[said]
            if path is not None and is_rotated(path, Path(data)):
                raise UsageError(f"{said} {path} looks like a rotated version of {data}: give another name")
    if plan.checkpoint is not None:
        if plan.checkpoint.exists() and not plan.checkpoint.is_dir():
            raise UsageError(f"--checkpoint {plan.checkpoint} is a file: give the name of a folder")
        for said, path in named.items():
            if path is not None and is_own(plan.checkpoint, Place(path)):
                raise UsageError(f"{said} {path} is a file of the checkpoint in {plan.checkpoint}: give another name")
        plan.checkpoint.mkdir(parents=True, exist_ok=True)


def _begin(
    source: Input, out: Sink, events: Sink, plan: Plan, options: StreamOptions, seek: bool
) -> tuple[Generation, Any]:
    """Return the state from which the stream continues, and move all files there."""
    fixed = plan.fixed_options(options)
    found = None if plan.checkpoint is None else read_generation(plan.checkpoint)
    if plan.checkpoint is None or found is None:
        start = Generation(fixed, out=out.mark(), events=events.mark())
        if plan.checkpoint is not None:  # so that output written before the first checkpoint can be removed, too
            write_generation(plan.checkpoint, start, None)
        return start, None
    start, model = found
    start.check_options(fixed, plan.checkpoint)
    if model is not None:
        model.set_params(n_jobs=plan.n_jobs)
    out.check(start.out)
    events.check(start.events)
    source.skip_to(start.place, seek)
    out.cut_back(start.out)
    events.cut_back(start.events)
    clear(plan.checkpoint, start)
    return start, model


class _Run:
    """Label and learn batch after batch, and write checkpoints."""

    def __init__(
        self,
        rows: Rows | ArrowRows,
        out: Sink,
        events: Sink,
        plan: Plan,
        start: Generation,
        model: Any,
        screen: Screen,
        scores: Scores | None,
    ) -> None:
        self.n_rows = start.n_rows
        self.n_bad = start.n_bad
        self._rows = rows
        self._out = out
        self._events = events
        self._plan = plan
        self._start = start
        self._place = start.place
        self._n_kept = start.n_rows
        self._numbering = Numbering(start.bad_runs)
        self._model = model
        self._n_events = count_events(model)
        self._screen = screen
        self._scores = scores
        self._warned: set[str] = set()

    def run(self, stop: Stop, meter: Meter) -> None:
        """Process all batches, to the end of the stream or until the user stops the command."""
        while not stop.asked:
            batch = self._rows.next_batch(self._plan.batch)
            is_short = batch.n_rows < self._plan.batch
            if self._rows.stopped and self._plan.checkpoint is not None:
                break  # the next run reads the rows of an incomplete batch again
            if batch.n_rows:
                self._process(batch)
                meter.count(batch.n_rows)
            if self.n_rows - self._n_kept >= self._plan.every:
                self._keep()
            if is_short:
                break
        if self.n_rows > self._n_kept:
            self._keep()

    def _process(self, batch: Batch) -> None:
        with self._warnings_once():
            labels = self._labels(batch)
            if self._scores is not None and labels is not None:
                self._scores.add(labels, batch.classes)
            self._out.write(self._batch_lines(batch, labels) if self._plan.per_batch else _row_lines(batch, labels))
            if batch.good:
                if self._model is None:
                    self._model = make_model(self._plan)
                self._model.partial_fit(batch.X)
        self._events.write(self._new_events(batch))
        self.n_rows += batch.n_rows
        self.n_bad += len(batch.bad)
        self._place = batch.end

    def _labels(self, batch: Batch) -> list[int] | None:
        """Clusters of the good rows, as permanent ids if the model has them; None while there is no model."""
        if self._model is None or not batch.good:
            return None
        clusters: list[int] = identified(self._model, self._model.predict(batch.X)).tolist()
        return clusters

    def _batch_lines(self, batch: Batch, labels: list[int] | None) -> Iterator[dict[str, Any]]:
        counts = Counter(labels or ())
        yield {
            "rows": [batch.first, batch.first + batch.n_rows - 1],
            "clusters": {str(cluster): counts[cluster] for cluster in sorted(counts)},
            "n_clusters": None if self._model is None else int(self._model.n_clusters_),
            **({} if self._scores is None else batch_scores(labels or (), batch.classes if labels else ())),
        }

    def _new_events(self, batch: Batch) -> list[dict[str, Any]]:
        """Events of the batch, in the order of the rows."""
        out: list[dict[str, Any]] = [{"kind": "bad row", "row": row, "why": why} for row, why in batch.bad.items()]
        self._numbering.skip(sorted(batch.bad))
        new = map(self._numbering.renumbered, events_since(self._model, self._n_events))
        out += [{key: _plain(value) for key, value in event.items()} for event in new]
        self._n_events = count_events(self._model)
        return sorted(out, key=lambda event: event["row"])

    def _keep(self) -> None:
        """Write a checkpoint, if requested."""
        if self._plan.checkpoint is None:
            return
        generation = replace(
            self._start,
            n_rows=self.n_rows,
            n_bad=self.n_bad,
            bad_runs=self._numbering.runs,
            layout=self._rows.layout,
            place=self._place,
            out=self._out.mark(),
            events=self._events.mark(),
            model=None if self._model is None else f"model-{self.n_rows}.ravine",
            counts=[] if self._scores is None else self._scores.counts,
        )
        write_generation(self._plan.checkpoint, generation, self._model)
        self._n_kept = self.n_rows

    @contextmanager
    def _warnings_once(self) -> Iterator[None]:
        """Print Python warnings as lines, without repeats that differ only in numbers."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for text in (" ".join(str(warning.message).split()) for warning in caught):
            kind = re.sub(r"\d+", "", text)
            if kind not in self._warned:
                self._warned.add(kind)
                self._screen.warn(text)


def _row_lines(batch: Batch, labels: list[int] | None) -> Iterator[dict[str, Any]]:
    cluster = dict(zip(batch.good, labels or (), strict=labels is not None))
    for row in range(batch.first, batch.first + batch.n_rows):
        yield {"row": row, "cluster": cluster.get(row)}


def _plain(value: Any) -> Any:
    """Convert a value for JSON."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
