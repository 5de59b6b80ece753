"""Solve the large-margin one-class problem (Pham, Le and Dang, eq. 1), exactly or by stochastic descent on a budget.

The problem is min ‖w‖² / 2 + C Σ pᵢ max(0, 1 - w(xᵢ)), where p are the shares of the rows in the total weight.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats, Ints
from ravine._reservoir import has_copies, merge_copies, visits
from ravine._svc._kernel_sum import KernelSum, kernel_matrix
from ravine._svc._width_choice import Sample

EPOCHS, STEPS, SWEEPS = 20, 10_000, 1000
"""Default limits: epochs, or as many epochs as make this many steps; and sweeps of the exact solver."""

CHECK = 1000
"""The objective is checked after this many steps, or after each epoch if an epoch has more steps."""

STRATEGIES = {"removal": 0, "nearest": 1, "random": 2}
"""Numbers of the strategies in `ravine._kernels.svc`."""

RIDGE = 1e-3
"""Ridge added to the similarities of the vectors that replace a removed one."""

MAX_BYTES = 1 << 31
"""Maximum memory for the kernel between all rows, in bytes."""

ROOM = 1024
"""Initial number of vectors in the arrays, if no budget limits them."""


class Learned(NamedTuple):
    """A learned function, and how good it is.

    Attributes
    ----------
    kernel_sum : KernelSum
        The function.
    C : float
        The trade-off for which it was learned.
    heights : ndarray of shape (n_samples,)
        Its values at the rows of the sample.
    objective : float
        Value of the problem on the sample.
    gap : float
        Relative duality gap; NaN if it is not known.
    n_iter : int
        Number of epochs or sweeps.
    """

    kernel_sum: KernelSum
    C: float
    heights: Floats
    objective: float
    gap: float
    n_iter: int

    @classmethod
    def of(cls, kernel_sum: KernelSum, C: float, sample: Sample, gap: float = np.nan, n_iter: int = 1) -> Self:
        """Evaluate a function on the sample."""
        heights = kernel_sum.heights(sample.rows, sample.n_jobs)
        return cls(kernel_sum, C, heights, objective(kernel_sum, C, heights, sample.share), gap, n_iter)


def max_epochs(n_rows: int) -> int:
    """Return the default limit of the number of epochs."""
    return max(EPOCHS, STEPS // n_rows)


def learn_epochs(
    learner: "Learner",
    X: Floats,
    weights: Floats,
    sample: Sample,
    max_iter: int | None,
    tol: float,
    on_epoch: Callable[[], bool] = lambda: False,
) -> Learned:
    """Take epochs of stochastic steps until the objective on the sample no longer improves.

    `on_epoch` is called after each check of the objective; learning ends if it returns true.
    """
    if has_copies(X, learner.seed, sample.n_jobs):
        X, weights = merge_copies(X, weights, learner.seed)
    visited = visits(X, weights, learner.seed, sample.n_jobs)
    max_iter = max_epochs(len(X)) if max_iter is None else max_iter
    n_check = math.ceil(CHECK / len(visited.row))
    value, epoch = np.inf, 0
    while epoch < max_iter:
        last, first = value, epoch
        epoch = min(first + n_check, max_iter)
        for number in range(first, epoch):
            learner.learn(X, visited.in_epoch(number), visited.weight)
        learned = Learned.of(learner.kernel_sum, learner.C, sample, n_iter=epoch)
        value = learned.objective
        if on_epoch() or last - value <= tol * value:
            break
    return learned


def learn_exactly(
    X: Floats, weights: Floats, sample: Sample, gamma: float, C: float, max_iter: int | None, tol: float, seed: int
) -> Learned:
    """Solve the problem exactly for the distinct rows."""
    rows, mass = merge_copies(X, weights, seed)
    kernel_sum, gap, n_iter = solve_exactly(rows, mass, gamma, C, tol, SWEEPS if max_iter is None else max_iter)
    return Learned.of(kernel_sum, C, sample, gap, n_iter)


def solve_exactly(
    rows: Floats, mass: Floats, gamma: float, C: float, tol: float, max_sweeps: int
) -> tuple[KernelSum, float, int]:
    """Find the optimum by coordinate descent on the dual.

    Returns the optimum, its relative duality gap and the number of sweeps.
    """
    if 8 * len(rows) ** 2 > MAX_BYTES:
        raise ValueError(
            f"solver='exact' needs the kernel between all of {len(rows)} distinct rows, "
            f"{8 * len(rows) ** 2 / 1e9:.0f} GB of memory: use solver='budgeted'"
        )
    kernel = np.empty((len(rows), len(rows)))
    kernel_matrix(rows, gamma, kernel)
    bound = C * mass / mass.sum()
    beta = np.minimum(bound, 1.0 / kernel.mean())
    sweeps, gap = _kernels.svc.solve_dual(kernel, bound, beta, kernel @ beta, tol, max_sweeps)
    is_vector = beta > 0
    return KernelSum(rows[is_vector], beta[is_vector], gamma), float(gap), sweeps


class Learner:
    """Stochastic gradient descent, row by row, with a limited number of vectors.

    Parameters
    ----------
    n_features : int
    gamma, C : float
    budget : int or None
        Maximum number of vectors; None for no limit.
    strategy : int
        What happens to the vector with the smallest coefficient if the budget is exceeded: `_kernels.svc.REMOVAL`,
        `NEAREST` or `RANDOM`.
    k : int
        Number of vectors that take over its share.
    seed : int
        Seed for drawing random vectors.
    """

    def __init__(
        self, n_features: int, gamma: float, C: float, budget: int | None, strategy: int, k: int, seed: int
    ) -> None:
        self.gamma, self.C, self.budget, self.strategy, self.k, self.seed = gamma, C, budget, strategy, k, seed
        self._counts = np.zeros(2, dtype=np.int64)
        self._vectors, self._sums = np.empty((0, n_features)), np.zeros(0)
        self._similarity = np.empty((0, 0))

    def learn(self, X: Floats, order: Ints, weights: Floats) -> None:
        """Do one step for each row, in order."""
        size = self.C * weights
        while len(order):
            if not len(self._similarity) and self.n_vectors == len(self._vectors):
                self._make_room(2 * self.n_vectors)
            n_steps = len(order) if len(self._similarity) else len(self._vectors) - self.n_vectors
            self._step(X, order[:n_steps], size)
            order = order[n_steps:]

    def _make_room(self, n_vectors: int) -> None:
        """Enlarge the arrays to `n_vectors` vectors, but at least to `ROOM`.

        With room for one vector more than the budget, the similarities that enforce the budget are stored too.
        """
        room = max(n_vectors, ROOM)
        if self.budget is not None and room > self.budget:
            room = self.budget + 1
            self._similarity = np.empty((room, room))
            n = self.n_vectors
            kernel_matrix(self._vectors[:n], self.gamma, self._similarity[:n, :n])
        n_more = room - len(self._vectors)
        self._vectors = np.concatenate([self._vectors, np.empty((n_more, self._vectors.shape[1]))])
        self._sums = np.append(self._sums, np.zeros(n_more))

    def _step(self, X: Floats, order: Ints, size: Floats) -> None:
        options = (self.gamma, self.budget or 0, self.strategy, self.k, RIDGE, self.seed)
        state = (self._counts, self._vectors, self._sums, self._similarity)
        _kernels.svc.learn(X, order, size, *options, *state)

    @property
    def n_steps(self) -> int:
        """Number of steps: rows seen, including repetitions."""
        return int(self._counts[0])

    @property
    def n_vectors(self) -> int:
        """Number of vectors in the model."""
        return int(self._counts[1])

    @property
    def kernel_sum(self) -> KernelSum:
        """The current function."""
        n = self.n_vectors
        return KernelSum(self._vectors[:n].copy(), self._sums[:n] / max(self.n_steps, 1), self.gamma)

    def state(self) -> dict[str, Any]:
        """Return everything that must be saved except the parameters, without copies."""
        n = self.n_vectors
        return {"n_steps": self.n_steps, "vectors": self._vectors[:n], "sums": self._sums[:n]}

    def resume(self, n_steps: int, vectors: Floats, sums: Floats) -> Self:
        """Continue from the result of `state`; the arrays are enlarged when rows arrive."""
        self._counts[:] = n_steps, len(vectors)
        self._vectors, self._sums = vectors, sums
        return self


def objective(kernel_sum: KernelSum, C: float, at_rows: Floats, mass: Floats) -> float:
    """Return the value of the problem for a function with these heights at the rows."""
    return 0.5 * kernel_sum.norm_sq() + C * float(mass @ np.maximum(1.0 - at_rows, 0.0)) / float(mass.sum())
