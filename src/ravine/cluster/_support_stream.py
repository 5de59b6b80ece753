"""The state that SupportVectorClustering keeps of its rows: a sample of them, and the steps taken so far."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ravine._matrix import Floats
from ravine._reservoir import Reservoir, arrival_keys, content_sample, merge_copies
from ravine._svc import Learner, Sample
from ravine.cluster._saved import saved_fields, saved_floats, saved_rows

SAMPLE = 2000
"""Number of rows of the sample on which parameters are chosen and modes are separated."""


class Stream:
    """State of a stream: a sample of the rows, and the steps taken so far.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.n_rows, self.weight = 0, 0.0
        self.reservoir = Reservoir(SAMPLE)
        self.learner: Learner | None = None

    @classmethod
    def from_state(cls, state: Any, n_columns: int) -> Self:
        """Restore a stream from its `state`, except the learner; raise ValueError that names an invalid field."""
        seed, n_rows, weight, sample, _ = saved_fields(state, "seed", "n_rows", "weight", "sample", "learner")
        if type(seed) is not int or not 0 <= seed <= np.iinfo(np.int32).max:
            raise ValueError("field 'seed' must be a non-negative integer of at most 31 bits")
        if type(n_rows) is not int or not 0 < n_rows < 1 << 62:
            raise ValueError("field 'n_rows' must be a positive integer")
        if type(weight) is not float or not 0 < weight < np.inf:
            raise ValueError("field 'weight' must be a positive number")
        keys, rows, weights = saved_fields(sample, "keys", "rows", "weights")
        n_kept = len(saved_rows(rows, "rows", n_columns))
        saved_floats(weights, "weights", (n_kept,), least=np.finfo(np.float64).tiny)
        if not isinstance(keys, np.ndarray) or keys.dtype != np.float64 or keys.shape != (n_kept,) or n_kept > n_rows:
            raise ValueError("field 'keys' must have one number for each row, and no more than n_rows numbers")
        if not weights.sum() < np.inf:
            raise ValueError("field 'weights' has a sum that is not finite")
        stream = cls(seed)
        stream.n_rows, stream.weight = n_rows, weight
        stream.reservoir = Reservoir.from_state(SAMPLE, keys, rows, weights)
        return stream

    def read(self, X: Floats, weights: Floats, n_jobs: int | None) -> None:
        """Draw a sample of in-memory rows."""
        chosen, keys = content_sample(X, weights, SAMPLE, self.seed, n_jobs)
        self.reservoir.add(keys, X[chosen], weights[chosen])
        self.n_rows, self.weight = len(X), float(weights.sum())

    def learn(self, X: Floats, weights: Floats, begin: Callable[["Stream"], None]) -> None:
        """Learn the next rows of a stream. The first rows are kept until there are enough of them to start."""
        n_first = 0
        if self.learner is None:
            n_first = min(max(SAMPLE - self.n_rows, 0), len(X))
            self._add(X[:n_first], weights[:n_first])
            if self.n_rows >= SAMPLE:
                begin(self)
        if n_first < len(X):
            assert self.learner is not None
            self._add(X[n_first:], weights[n_first:])
            self.learner.learn(X, np.arange(n_first, len(X)), weights)

    def sample(self, n_jobs: int | None) -> Sample:
        """Return the rows of the sample, with copies of a row merged."""
        rows, weights = self.reservoir.sample()
        return Sample(*merge_copies(rows, weights, self.seed), n_jobs)

    @property
    def n_features(self) -> int:
        """Number of features of the rows."""
        rows, _ = self.reservoir.sample()
        return int(rows.shape[1])

    def state(self) -> dict[str, Any]:
        """Return the whole state except the parameters, without copies."""
        learner = self.learner
        learned = None if learner is None else {"gamma": learner.gamma, "C": learner.C, **learner.state()}
        sample = dict(zip(("keys", "rows", "weights"), self.reservoir.state(), strict=True))
        numbers = {"seed": self.seed, "n_rows": self.n_rows, "weight": self.weight}
        return {**numbers, "sample": sample, "learner": learned}

    def _add(self, X: Floats, weights: Floats) -> None:
        self.reservoir.add(arrival_keys(self.n_rows, len(X), self.seed), X, weights)
        self.n_rows += len(X)
        self.weight += float(weights.sum())
