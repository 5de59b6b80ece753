"""Directions along which some rows may have a valley, found without a search, and the strongest valley of each.

The directions are the leading principal components, the differences of the means of a small k-means (each mean against
the mean of all other rows, and against the nearest other mean), and the columns with the lightest and the heaviest
tails. Components alone do not separate many groups in many columns, and neither they nor the means see groups that
differ in a single column of many. For n rows, d features and q components, a call costs O(n d min(d, q)). Components
and means are combinations of q directions, so the positions of the rows along them cost O(n q) each.

Only loops over rows are compiled. One compiled call for everything would be faster by a millisecond or two, but the
first fit on a machine would wait seconds longer for the compiler.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from ravine import _kernels
from ravine._matrix import Bools, Floats, Ints, multiply, project, weighted_sum
from ravine._ties import OF_A_SUM, ROUNDING, is_less, rounded_order
from ravine.cuts._density import COARSE
from ravine.cuts._valley import WINDOWS

BANDWIDTH = 1.06
"""Factor of the normal-reference bandwidth."""

MULTIPLES = np.array([0.5, 1.0, 0.25])
"""Multiples of that bandwidth that are searched for valleys. The first one alone ranks the directions."""

MULTIPLES.setflags(write=False)

N_COMPONENTS, N_COLUMNS = 4, 16
"""Number of principal components, and of columns, that are tried as directions."""

N_DIMENSIONS, N_ITERATIONS = 16, 4
"""Maximum dimension of the space of large variance in which groups are looked for, and the number of subspace
iterations that find it: directions to try need not be exact."""

N_MEANS, ROWS_PER_MEAN, N_STEPS = 24, 12, 6
"""Largest number of means of k-means, number of rows for each mean, and number of steps."""

MEANS_ROWS = 1000
"""K-means uses every second, third, … row, so that there are at most so many: enough for two dozen means."""

FEWEST = 4
"""A mean counts if it has at least this many rows, and if as many others are left."""

N_POLISHES, BETTER, NO_WORSE = 3, 1.001, 0.95
"""A direction is turned at most this often, as long as the score of its valley grows by the second number as a factor.
Where the middle of many directions is wanted, the third number takes its place."""

ROWS_PER_COLUMN, RIDGE, N_SOLVES = 3, 0.1, 8
"""With more rows per column than this, a direction is also improved in the metric of the rows on either side: the share
of their mean variance that is added to each variance, and the number of steps that solve for the direction."""

SMALL = 64
"""Up to this many columns, these steps use the scatter matrix, and otherwise the rows."""

TINY = 1e-150
"""A vector that is shorter than this has no direction."""

SAME = 0.98
"""Two directions count as one if the absolute value of their cosine is at least this."""


@dataclass(frozen=True)
class Proposals:
    """Unit directions, one per row, and the positions of the rows along each of them."""

    directions: Floats
    values: Floats


@dataclass(frozen=True)
class Ranked:
    """Directions with valleys, the strongest first.

    Attributes
    ----------
    directions : ndarray of shape (n_found, n_features)
    valleys : ndarray of shape (n_found, n_entries)
        The entries are named in `ravine._kernels.density`.
    resolutions : ndarray of shape (n_found,)
        Width over which a row is spread along each direction.
    """

    directions: Floats
    valleys: Floats
    resolutions: Floats

    @property
    def scores(self) -> Floats:
        """Scores of the valleys."""
        return self.valleys[:, _kernels.density.SCORE]


def propose(Z: Floats, is_apart: Bools | None = None, extra: Floats | None = None) -> Proposals:
    """Propose directions, for `rank` to choose from.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
        Rows.
    is_apart : ndarray of bool of shape (n_samples,), optional
        Rows that may be a group: the direction from all others to them is tried, too.
    extra : ndarray of shape (n_directions, n_features), optional
        Further directions.
    """
    n, d = Z.shape
    center = Z.mean(axis=0)
    centered = Z - center
    T = np.ascontiguousarray(centered.T)
    V = components(centered, T, start_vectors(min(N_DIMENSIONS, d, max(n // 4, 1)), d), N_ITERATIONS)
    V = V[V.any(axis=1)]
    along_V = multiply(V, T)
    columns = striking_columns(T, N_COLUMNS)
    shares = np.vstack([np.eye(len(V))[:N_COMPONENTS], _between_means(along_V, d)])
    shares = _units(shares)
    further = [] if extra is None else [extra]
    if is_apart is not None and 0 < np.count_nonzero(is_apart) < n:
        further.insert(0, centered[is_apart].sum(axis=0)[np.newaxis])  # the other rows sum to the negative
    others = _units(np.vstack(further)) if further else np.empty((0, d))
    directions = np.vstack([np.eye(d)[columns], multiply(shares, V), others])
    values = np.vstack([T[columns], multiply(shares, along_V), multiply(others, T)])
    values += (directions @ center)[:, np.newaxis]
    return Proposals(directions, values)


@cache
def start_vectors(n_vectors: int, n_columns: int) -> Floats:
    """Return the vectors from which a search for components starts: always the same."""
    return np.random.default_rng(0).normal(size=(n_vectors, n_columns))


def components(Z: Floats, T: Floats, start: Floats, n_iterations: int) -> Floats:
    """Return orthonormal directions of large variance of centered rows, one per row, by subspace iteration.

    `T` has the columns of `Z` as rows. If the rows span fewer dimensions, the other directions are 0.
    """
    n, d = Z.shape
    has_scatter = n * d / 4 + n_iterations * len(start) * d < 2 * n_iterations * len(start) * n  # it is cheaper
    S = multiply(T, Z) if has_scatter else None
    V = start
    for _ in range(n_iterations):
        V = multiply(multiply(V, T), Z) if S is None else multiply(V, S)
        _kernels.rows.orthonormalize(V, OF_A_SUM, TINY)
    return V


def _between_means(along_V: Floats, n_columns: int) -> Floats:
    """Return the differences of the means of small groups of rows, as combinations of the components."""
    few = np.ascontiguousarray(along_V[:, :: -(-along_V.shape[1] // MEANS_ROWS)])
    k = min(N_MEANS, few.shape[1] // ROWS_PER_MEAN)
    if k < 2 or n_columns < 2 or not len(few):
        return np.empty((0, len(few)))
    few -= few.mean(axis=1, keepdims=True)
    tie = 2 * ROUNDING * float((few * few).sum()) / few.shape[1]
    means, sizes = np.empty((k, len(few))), np.empty(k)
    _kernels.means.small_k_means(few, N_STEPS, tie, means, sizes)
    return differences(means, sizes, few.shape[1])


def differences(means: Floats, sizes: Floats, n_rows: int) -> Floats:
    """Return the mean of each group less the mean of all other rows, and less the nearest other mean."""
    counts = (sizes >= FEWEST) & (sizes <= n_rows - FEWEST)
    means, sizes = means[counts], sizes[counts]
    # The rows are centered: all other rows sum to the negative of a group.
    from_others = means * (n_rows / (n_rows - sizes))[:, np.newaxis]
    if len(means) < 2:
        return from_others
    square = ((means[:, np.newaxis] - means) ** 2).sum(axis=2)
    np.fill_diagonal(square, np.inf)
    partner = square.argmin(axis=1)
    group = np.arange(len(means))
    is_first = ~((partner < group) & (partner[partner] == group))
    return np.vstack([from_others, (means - means[partner])[is_first]])


def striking_columns(T: Floats, n_columns: int, weights: Floats | None = None) -> Ints:
    """Return the columns with the smallest and the largest kurtosis, half of them each; all, if they are few.

    The columns, which are centered, are the rows of `T`. Two clusters of similar size have a small kurtosis, and a
    small one beside a large one has a large kurtosis. A column that does not vary counts as normal.
    """
    if len(T) <= n_columns:
        return np.arange(len(T))
    squares = T * T
    w = np.ones(T.shape[1]) if weights is None else weights
    square, fourth = np.einsum("ij,j->i", squares, w), np.einsum("ij,ij,j->i", squares, squares, w)
    kurtosis = np.full(len(T), 3.0)
    np.divide(float(w.sum()) * fourth, square * square, out=kurtosis, where=square > 0)
    order = rounded_order(np.log(np.maximum(kurtosis, TINY)))
    return np.concatenate([order[: n_columns // 2], order[-(n_columns // 2) :]])


def _units(vectors: Floats) -> Floats:
    """Return the directions of the vectors that have one."""
    lengths = _lengths(vectors)
    are_long = lengths > TINY
    return vectors[are_long] / lengths[are_long, np.newaxis]


def _lengths(vectors: Floats) -> Floats:
    """Return the lengths of some vectors; `np.linalg.norm` takes twice as long for a few."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))


def strongest_on_lines(
    values: Floats,
    resolutions: Floats,
    least_side: float,
    multiples: Floats = MULTIPLES,
    enough: float = math.inf,
    weights: Floats | None = None,
) -> Floats:
    """Call `ravine._kernels.density.strongest_on_lines` for rows with weights, which are 1 by default."""
    w = np.ones(values.shape[1]) if weights is None else weights
    found = np.zeros((len(values), _kernels.density.N_ENTRIES))
    _kernels.density.strongest_on_lines(
        values, w, float(w.sum()), BANDWIDTH, resolutions, multiples, WINDOWS, COARSE, least_side, enough, found
    )
    return found


def rank(
    proposals: Proposals,
    steps: Floats,
    least_side: float,
    n_best: int,
    enough: float = math.inf,
    weights: Floats | None = None,
) -> Ranked:
    """Return the directions with the strongest valleys.

    Parameters
    ----------
    proposals : Proposals
    steps : ndarray of shape (n_features,)
        Lattice steps of the columns.
    least_side : float
        Minimum share of the rows on either side of a valley.
    n_best : int
        Maximum number of directions.
    enough : float, optional
        Score of a valley that ends the search. The last directions, which are the most likely to have one, come first.
    weights : ndarray of shape (n_samples,), optional
        Weights of the rows.
    """
    directions, values = proposals.directions, proposals.values
    resolutions = _lengths(directions * steps)
    first = strongest_on_lines(values, resolutions, least_side, MULTIPLES[:1], enough, weights)
    score = first[:, _kernels.density.SCORE].copy()
    best: list[int] = []
    while len(best) < n_best and score.any():
        k = 0
        for other in range(1, len(score)):
            k = other if is_less(float(score[k]), float(score[other])) else k
        score[k] = 0.0
        if not best or (np.abs(directions[best] @ directions[k]) < SAME).all():
            best.append(k)
    valleys = first[:0]
    if best:
        valleys = strongest_on_lines(values[best], resolutions[best], least_side, weights=weights)
    return Ranked(directions[best], valleys, resolutions[best])


# Improving a direction


@dataclass(frozen=True)
class DividedRows:
    """Rows that are divided into two sides, in one way after another.

    Attributes
    ----------
    Z : ndarray of shape (n_samples, n_features)
    share : ndarray of shape (n_samples,)
        Share of each row in the weight.
    mean_square : float
        Mean square of the length of a row.
    solves : bool
        Whether there are enough rows for a direction in their metric.
    scatter : ndarray of shape (n_features, n_features) or None
        Mean of the products of two columns; None if there are many columns, or if it is not needed.
    """

    Z: Floats
    share: Floats
    mean_square: float
    solves: bool
    scatter: Floats | None

    @classmethod
    def of(cls, Z: Floats, weights: Floats | None = None, rows_per_column: int = ROWS_PER_COLUMN) -> "DividedRows":
        """Return what does not depend on the sides."""
        n, d = Z.shape
        share = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
        scaled = Z * share[:, np.newaxis]
        solves = n > rows_per_column * d
        scatter = multiply(np.ascontiguousarray(scaled.T), Z) if solves and d <= SMALL else None
        return cls(Z, share, float(np.einsum("ij,ij->", scaled, Z)), solves, scatter)

    def between(self, is_left: Bools) -> Floats:
        """Return the directions between the means of two sides: as it is, and in the metric of the rows on the sides.

        The second one solves a linear system with the covariance within the sides. It is left out if there are few
        rows. There is only a vector of zeros if the means differ by rounding alone.
        """
        d = self.Z.shape[1]
        of_sides = np.array([is_left, ~is_left]) * self.share
        sizes = of_sides.sum(axis=1)
        means = multiply(of_sides, self.Z) / sizes[:, np.newaxis]
        apart = means[1] - means[0]
        if math.sqrt(float(apart @ apart)) <= ROUNDING * math.sqrt(self.mean_square):
            return np.zeros((1, d))
        if not self.solves:
            return apart[np.newaxis]
        trace = self.mean_square - float(sizes @ (means * means).sum(axis=1))
        ridge, between = max(RIDGE * trace / d, 1e-12), (sizes[:, np.newaxis] * means).T
        if self.scatter is None:

            def times_covariance(v: Floats) -> Floats:
                return ridge * v + weighted_sum(self.Z, self.share * project(self.Z, v)) - between @ (means @ v)

            return np.array([apart, _nearly_solved(times_covariance, apart)])
        covariance = self.scatter - between @ means
        covariance.flat[:: d + 1] += ridge
        is_exact = d <= N_SOLVES  # for so few columns, the steps would reach the solution
        solution = np.linalg.solve(covariance, apart) if is_exact else _nearly_solved(covariance.__matmul__, apart)
        return np.array([apart, solution])


def _nearly_solved(times_matrix: Callable[[Floats], Floats], right: Floats) -> Floats:
    """Return nearly the solution of a linear system, by a few steps of conjugate gradients.

    For many columns and few rows, the solution itself would be worse for other rows.
    """
    solution, residual = np.zeros_like(right), right.copy()
    step = residual.copy()
    square = first_square = float(residual @ residual)
    for _ in range(N_SOLVES):
        if not square > OF_A_SUM * first_square:
            break
        out = times_matrix(step)
        length = square / float(step @ out)
        solution += length * step
        residual -= length * out
        before, square = square, float(residual @ residual)
        step = residual + square / before * step
    return solution


def polish(
    Z: Floats,
    seen: Ranked,
    steps: Floats,
    least_side: float,
    better: float = BETTER,
    weights: Floats | None = None,
    rows_per_column: int = ROWS_PER_COLUMN,
) -> Ranked:
    """Turn directions to where their valleys are stronger.

    A direction between the sides of a valley replaces the one before it if its score is `better` times as large. With
    `NO_WORSE`, that direction is preferred: an empty valley has the same score in many directions, and this one lies in
    the middle of them.
    """
    kernel = _kernels.density
    directions, valleys, resolutions = seen.directions.copy(), seen.valleys.copy(), seen.resolutions.copy()
    rows, T = DividedRows.of(Z, weights, rows_per_column), np.ascontiguousarray(Z.T)
    for k in range(len(directions)):
        for _ in range(N_POLISHES):
            is_left = multiply(directions[k : k + 1], T)[0] < valleys[k, kernel.POSITION]
            if not 0 < np.count_nonzero(is_left) < len(Z):
                break
            units = _units(rows.between(is_left))
            turned = rank(Proposals(units, multiply(units, T)), steps, least_side, 1, weights=weights)
            if not len(turned.scores) or turned.scores[0] <= better * valleys[k, kernel.SCORE]:
                break
            directions[k], valleys[k], resolutions[k] = turned.directions[0], turned.valleys[0], turned.resolutions[0]
    return Ranked(directions, valleys, resolutions)


def counts_around(Z: Floats, seen: Ranked) -> Floats:
    """Return the number of rows in the windows at each valley and at its two modes, along its direction."""
    kernel = _kernels.density
    counts, ones = np.empty((len(seen.directions), 3)), np.ones(len(Z))
    for k, (direction, valley) in enumerate(zip(seen.directions, seen.valleys, strict=True)):
        values = project(Z, direction)
        for m, entry in enumerate((kernel.POSITION, kernel.LEFT_MODE, kernel.RIGHT_MODE)):
            counts[k, m] = kernel.mass_around(
                values, ones, valley[entry], valley[kernel.WINDOW], float(seen.resolutions[k])
            )
    return counts
