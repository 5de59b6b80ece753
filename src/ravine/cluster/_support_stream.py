"""The state that SupportVectorClustering keeps of its rows: a sample of them, and the steps taken so far."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ravine._matrix import LARGEST, Floats
from ravine._reservoir import (
    Reservoir,
    arrival_keys,
    content_sample,
    merge_copies,
    sample_is_part_of_the_stream,
    sample_of,
)
from ravine._schema import MOST, POSITIVE, Array, Group, Number, Sizes, State, require
from ravine._svc import Learner, Sample

SAMPLE = 2000
"""Number of rows of the sample on which parameters are chosen and modes are separated."""


def budget_is_kept(state: State, sizes: Sizes) -> None:
    """There are no more vectors than the budget allows."""
    n_vectors, budget = len(state["vectors"]), sizes.get("budget", MOST)
    require(n_vectors <= budget, "vectors", f"has {n_vectors} rows, more than the budget of {budget}")


def steps_have_started(state: State, sizes: Sizes) -> None:
    """Online learning starts when the sample is full."""
    has_started = state["learner"] is not None or state["n_rows"] <= SAMPLE or sizes["is_exact"]
    require(has_started, "learner", f"is empty, but more than {SAMPLE} rows were learned")


LEARNER = Group(
    {
        "gamma": Number(float, low=POSITIVE),
        "C": Number(float, low=POSITIVE),
        "n_steps": Number(int, low=1, high=MOST),
        "vectors": Array("float64", ("n_learned", "n_features"), low=-LARGEST, high=LARGEST),
        "sums": Array("float64", ("n_learned",), low=0),
    },
    (budget_is_kept,),
    optional=True,
)

STREAM = Group(
    {
        "seed": Number(int, low=0, high=np.iinfo(np.int32).max),
        "n_rows": Number(int, low=1, high=MOST),
        "weight": Number(float, low=POSITIVE),
        "sample": sample_of(
            Array("float64", ("n_kept", "n_features"), low=-LARGEST, high=LARGEST), np.finfo(np.float64).tiny
        ),
        "learner": LEARNER,
    },
    (sample_is_part_of_the_stream, steps_have_started),
    optional=True,
)
"""The result of `Stream.state`. There is no learner before the first `SAMPLE` rows, and after the exact solver."""


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
    def from_state(cls, state: State) -> Self:
        """Restore a stream from its checked `state`, except the learner."""
        stream, sample = cls(state["seed"]), state["sample"]
        stream.n_rows, stream.weight = state["n_rows"], state["weight"]
        stream.reservoir = Reservoir.from_state(SAMPLE, sample["keys"], sample["rows"], sample["weights"])
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
        """Return the fields of `STREAM`: the whole state except the parameters, without copies."""
        learner = self.learner
        learned = None if learner is None else {"gamma": learner.gamma, "C": learner.C, **learner.state()}
        sample = dict(zip(("keys", "rows", "weights"), self.reservoir.state(), strict=True))
        numbers = {"seed": self.seed, "n_rows": self.n_rows, "weight": self.weight}
        return {**numbers, "sample": sample, "learner": learned}

    def _add(self, X: Floats, weights: Floats) -> None:
        self.reservoir.add(arrival_keys(self.n_rows, len(X), self.seed), X, weights)
        self.n_rows += len(X)
        self.weight += float(weights.sum())
