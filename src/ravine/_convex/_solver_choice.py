"""Which solver to use for a sum-of-norms problem, and how many iterations it may take."""

from typing import Literal

Solver = Literal["dual", "stochastic"]

MAX_STEPS, MIN_SWEEPS, RANDOM_STEPS = 5000, 256, 10**7
"""Default limits: steps on the dual; sweeps of random steps, or as many sweeps as make this many random steps."""

DUAL_BYTES = 1 << 30
"""Maximum memory of the dual variables of all pairs if the solver is chosen automatically."""


def choose_solver(
    given: Literal["auto", "dual", "stochastic"], n_points: int, n_columns: int, all_pairs: bool, needs_path: bool
) -> Solver:
    """Return the given solver, or the one whose memory suffices; raise ValueError if it cannot compute a path."""
    size = 8 * n_columns * n_points**2 if all_pairs else 0
    if given == "auto" and size > DUAL_BYTES and needs_path:
        raise ValueError(
            f"a path with all pairs of {n_points} distinct rows needs {size / 1e9:.1f} GB of memory: use "
            "weights='knn', or set lam and path=False, or set solver='dual' to use that much memory"
        )
    solver = ("dual" if size <= DUAL_BYTES else "stochastic") if given == "auto" else given
    if solver == "stochastic" and needs_path:
        raise ValueError("solver='stochastic' solves for a single lam: set lam and path=False, or use solver='dual'")
    return solver


def default_max_iter(solver: Solver, n_points: int, n_neighbors: int | None) -> int:
    """Return the default limit of the number of iterations; `n_neighbors` is None if all pairs are edges."""
    if solver == "dual":
        return MAX_STEPS
    n_partners = n_points - 1 if n_neighbors is None else min(n_neighbors, n_points - 1)
    return max(MIN_SWEEPS, RANDOM_STEPS // max(n_points * n_partners // 2, 1))
