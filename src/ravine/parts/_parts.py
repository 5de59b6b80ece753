"""Rows in parts that stay where they are: in memory, in files, or with the workers of a cluster."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, Self, TypeAlias

import numpy as np

from ravine.blocks import count_threads, map_items
from ravine.matrix import LARGEST, Floats, Matrix
from ravine.parts import _steps

Handles: TypeAlias = list[Any]
"""For each part, which of its rows belong to a node, as the class that gave them understands it."""


class Mergeable(Protocol):
    """What a step gives."""

    def merge(self, other: Self) -> Self:
        """Of two parts together."""


Step: TypeAlias = Callable[..., Any]


class Parts(ABC):
    """Rows in parts.

    Attributes
    ----------
    n_features : int
    feature_names : list of str or None
        Names of the columns, where they have any.
    """

    n_features: int
    feature_names: list[str] | None = None

    @abstractmethod
    def everything(self) -> tuple[Handles, _steps.Extent | None]:
        """The handles of all rows that have weight, once they are checked, and what they span; None for no rows."""

    @abstractmethod
    def reduce(self, step: Step, handles: Handles, *arguments: Any) -> Any:
        """Results of a step of `_steps` on the parts that have rows of a node, merged; None where no part has."""

    @abstractmethod
    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, _steps.Sums, _steps.Sums]:
        """The handles of the rows on both sides of a cut and what is summed over them, see `_steps.divide`."""


class HeldParts(Parts):
    """Rows that are read part by part: arrays in memory, or what a function reads anew in every pass.

    Parameters
    ----------
    read : callable ``() -> iterator of (rows, weights)``
        Gives the parts, always the same ones in the same order; weights are None where all are 1.
    n_features : int
    feature_names : list of str, optional
    n_jobs : int, optional
        Threads, each at work on a part.
    """

    def __init__(
        self,
        read: Callable[[], Iterator[tuple[Matrix, Floats | None]]],
        n_features: int,
        feature_names: Sequence[str] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.read, self._n_jobs = read, n_jobs
        self.n_features = n_features
        self.feature_names = None if feature_names is None else list(feature_names)
        self.n_passes = 0

    def everything(self) -> tuple[Handles, _steps.Extent | None]:
        """One pass."""
        self.n_passes += 1
        handles, merged = [], None
        for number, (X, weights) in enumerate(self.read()):
            rows = checked_rows(X, weights, self.n_features, number)
            handles.append(rows)
            if len(rows):
                found = _steps.extent(X, _or_ones(weights, X), rows)
                merged = found if merged is None else merged.merge(found)
        return handles, merged

    def reduce(self, step: Step, handles: Handles, *arguments: Any) -> Any:
        """One pass; the results are merged as they come."""
        self.n_passes += 1
        merged = None
        for batch in self._batches(handles):
            for found in map_items(lambda part: step(*part, *arguments), batch, self._n_jobs):
                merged = found if merged is None else merged.merge(found)
        return merged

    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, _steps.Sums, _steps.Sums]:
        """One pass."""
        self.n_passes += 1
        left: Handles = [np.empty(0, dtype=np.int32)] * len(handles)
        right = list(left)
        sums: tuple[_steps.Sums, _steps.Sums] | None = None
        for number, part in self._with_rows(handles):
            left[number], right[number], *both = _steps.divide(*part, *arguments)
            sums = (both[0], both[1]) if sums is None else (sums[0].merge(both[0]), sums[1].merge(both[1]))
        assert sums is not None
        return left, right, *sums

    def _batches(self, handles: Handles) -> Iterator[list[tuple[Matrix, Floats, Any]]]:
        """As many parts at a time as there are threads."""
        batch = []
        for _, part in self._with_rows(handles):
            batch.append(part)
            if len(batch) == count_threads(self._n_jobs):
                yield batch
                batch = []
        if batch:
            yield batch

    def _with_rows(self, handles: Handles) -> Iterator[tuple[int, tuple[Matrix, Floats, Any]]]:
        for number, (X, weights) in enumerate(self.read()):
            if number >= len(handles) or X.shape[0] < len(handles[number]):
                raise RuntimeError("the rows have changed between two passes over them")
            if len(handles[number]):
                yield number, (X, _or_ones(weights, X), handles[number])


def _or_ones(weights: Floats | None, X: Matrix) -> Floats:
    return np.ones(X.shape[0]) if weights is None else weights


def checked_rows(X: Matrix, weights: Floats | None, n_features: int, number: int) -> _steps.Rows:
    """The rows of a part that have weight; ValueError names the part where something is wrong with it."""
    name = f"part {number}"
    if X.ndim != 2 or X.shape[1] != n_features:
        width = X.shape[1] if X.ndim == 2 else f"{X.ndim} dimensions, not"
        raise ValueError(f"{name} has {width} columns, and those before it have {n_features}")
    if not X.shape[0]:
        return np.empty(0, dtype=np.int32)
    if not np.isfinite(X).all():
        raise ValueError(f"{name} has NaN or infinity: leave such rows out, or fill them, before the fit")
    if max(float(X.max()), -float(X.min())) > LARGEST:
        raise ValueError(f"{name} has a number whose square would overflow in float64: change the unit of the columns")
    if weights is None:
        return np.arange(X.shape[0], dtype=np.int32)
    if weights.shape != (X.shape[0],) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"{name} has weights that are negative or not finite, or another number of them than rows")
    return np.flatnonzero(weights > 0).astype(np.int32)
