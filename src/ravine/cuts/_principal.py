"""Cuts along the first principal component: at the mean (PDDP) or at the lowest antimode of the density (dePDDP).

Boley (1998) and Tasoulis et al. (2010), as compared in Hofmeyr (2016, ch. 2 §5.1). The direction costs one pass over
the rows while the scatter matrix is small. With more columns it costs about twenty passes of Lanczos iterations.
"""

from collections.abc import Callable

import numpy as np
from scipy import linalg, sparse

from ravine._matrix import Floats, Matrix, Moments, moments_of, project, scatter, scatter_times
from ravine._ties import ROUNDING, TIE, first_least, pointing_up, settled_basis
from ravine.cuts._along import values_along
from ravine.cuts._cut import Cut
from ravine.cuts._density import normal_bandwidth, projected_density

MAX_SCATTER_COLUMNS = 128
"""Up to this many columns, the scatter matrix costs at most as much as Lanczos iterations; at 512 columns it costs five
times as much."""

MAX_GRAM_CELLS = 1 << 20
"""A node with fewer cells than this, and fewer rows than columns, is decomposed by its Gram matrix."""

SMALL_SPREAD, SMALL_SQUARE = 1e-12, 1e-14
"""A deviation that is this small relative to the rows is rounding, and so is this share of the largest square."""

SAME_WIDTH = 2
"""The widths of two equal empty stretches can differ by this many grid points."""

LANCZOS_STEPS, LANCZOS_RESTARTS, LANCZOS_TOLERANCE = 30, 4, 1e-8


def principal_direction(X: Matrix, weights: Floats, moments: Moments, n_jobs: int | None = None) -> Floats | None:
    """Return the unit vector of maximum variance, with its largest entry positive; None if the rows do not vary."""
    directions = principal_directions(X, weights, moments, 1, n_jobs)
    return directions[0] if len(directions) else None


def principal_directions(
    X: Matrix, weights: Floats, moments: Moments, n_directions: int, n_jobs: int | None = None
) -> Floats:
    """Return the first principal directions, one per row; fewer if the rows vary along fewer directions."""
    n_rows, n_columns = X.shape
    n_directions = min(n_directions, n_rows, n_columns)
    if not moments.varies:
        return np.empty((0, n_columns))
    if not sparse.issparse(X) and n_columns <= n_rows and n_columns <= MAX_SCATTER_COLUMNS:
        found = moments.scatter
        found = scatter(X, weights, moments.mean, n_jobs) if found is None else found
        return directions_of_scatter(found, n_directions)
    if not sparse.issparse(X) and n_rows * n_columns <= MAX_GRAM_CELLS and n_rows < n_columns:
        centered = np.sqrt(weights)[:, np.newaxis] * (X - moments.mean)
        squares, shares = _leading(centered @ centered.T, n_directions)
        return _settled(squares, shares @ centered)[:n_directions]
    return directions_by_products(_scatter_of(X, weights, moments, n_jobs), n_directions, n_columns)


def directions_of_scatter(matrix: Floats, n_directions: int) -> Floats:
    """Return the first principal directions of rows that vary, from their scatter matrix."""
    return _settled(*_leading(matrix, n_directions))[:n_directions]


def _settled(squares: Floats, vectors: Floats) -> Floats:
    """Return the directions of the eigenvectors along which the rows vary, made unique by `settled_basis`."""
    real = squares > SMALL_SQUARE * squares[0]
    lengths = np.linalg.norm(vectors[real], axis=1, keepdims=True)
    return settled_basis(squares[real], vectors[real] / lengths)


def directions_by_products(times_scatter: Callable[[Floats], Floats], n_directions: int, n_columns: int) -> Floats:
    """Find principal directions one after the other, using only products of the scatter matrix with vectors."""
    found, first = np.empty((0, n_columns)), 0.0
    for _ in range(n_directions):
        square, vector = _lanczos(times_scatter, found)
        if not square > SMALL_SQUARE * first:
            break
        first = max(first, square)
        found = np.vstack([found, vector])
    return pointing_up(found)


def _scatter_of(X: Matrix, weights: Floats, moments: Moments, n_jobs: int | None) -> Callable[[Floats], Floats]:
    return lambda v: scatter_times(X, weights, moments.mean, v, n_jobs)


def spread_across(X: Matrix, normal: Floats, n_jobs: int | None = None) -> Floats | None:
    """Return the unit vector orthogonal to `normal` of maximum variance, with its largest entry positive.

    None if the rows do not vary orthogonally to the normal.
    """
    n_rows, n_columns = X.shape
    if n_rows < 2 or n_columns < 2:
        return None
    weights = np.ones(n_rows)
    moments = moments_of(X, weights, n_jobs)
    if not sparse.issparse(X) and n_columns <= MAX_SCATTER_COLUMNS:
        across = np.eye(n_columns) - np.outer(normal, normal)
        found = settled_basis(*_leading(across @ scatter(X, weights, moments.mean, n_jobs) @ across, 1))[0]
    else:
        found = _lanczos(_scatter_of(X, weights, moments, n_jobs), normal[np.newaxis])[1]
    found = found - (found @ normal) * normal
    size = np.sqrt(moments.sum_sq / n_rows + moments.mean @ moments.mean)
    if not project(X, found, n_jobs).std() > SMALL_SPREAD * size:
        return None
    return pointing_up(found[np.newaxis])[0]


def _leading(matrix: Floats, n_vectors: int) -> tuple[Floats, Floats]:
    """Return at least `n_vectors` of the largest eigenvalues and their eigenvectors, one per row.

    All that tie with the last one are included.
    """
    size = len(matrix)
    n_asked = min(n_vectors + 1, size)
    values, vectors = _top(matrix, n_asked)
    if n_asked < size and values[-1] >= (1 - TIE) * values[-2]:
        values, vectors = _top(matrix, size)
    return values, vectors


def _top(matrix: Floats, n: int) -> tuple[Floats, Floats]:
    asked = None if n == len(matrix) else [len(matrix) - n, len(matrix) - 1]
    values, vectors = linalg.eigh(matrix, subset_by_index=asked, check_finite=False)
    return values[::-1], vectors.T[::-1]


def _lanczos(times_scatter: Callable[[Floats], Floats], before: Floats) -> tuple[float, Floats]:
    """Return the leading eigenvalue and eigenvector of the scatter matrix, orthogonal to the rows of `before`.

    The matrix is given by its products with vectors; the rows of `before` are orthonormal. The basis is fully
    orthogonalized and restarted from its best vector.
    """
    n_columns = before.shape[1]
    n_steps = min(LANCZOS_STEPS, n_columns - len(before))
    best = _somewhere_across(before)
    for _ in range(LANCZOS_RESTARTS):
        basis = np.zeros((n_steps, n_columns))
        diagonal, beside = np.zeros(n_steps), np.zeros(n_steps)
        vector: Floats = best / np.linalg.norm(best)
        for k in range(n_steps):
            basis[k] = vector
            image = times_scatter(vector)
            size = np.linalg.norm(image)
            diagonal[k] = image @ vector
            for _twice in range(2):
                image -= (before @ image) @ before
                image -= (basis[: k + 1] @ image) @ basis[: k + 1]
            beside[k] = np.linalg.norm(image)
            ritz, coordinates = linalg.eigh_tridiagonal(diagonal[: k + 1], beside[:k], select="i", select_range=(k, k))
            residual = beside[k] * abs(coordinates[-1, 0])
            # Once the basis contains all directions along which the rows vary, the rest of an image is rounding.
            if residual <= LANCZOS_TOLERANCE * abs(ritz[0]) or beside[k] <= SMALL_SPREAD * size:
                return float(ritz[0]), np.asarray(coordinates[:, 0] @ basis[: k + 1])
            vector = image / beside[k]
        best = np.asarray(coordinates[:, 0] @ basis)
    return float(ritz[0]), best


def _somewhere_across(before: Floats) -> Floats:
    """Return a vector orthogonal to orthonormal rows: random, or along an axis if only rounding is left of it."""
    drawn = np.random.default_rng(0).normal(size=before.shape[1])
    axis = np.eye(1, before.shape[1], first_least(np.einsum("ij,ij->j", before, before)))[0]
    for start in (drawn, axis):
        across = np.asarray(start - (before @ start) @ before)
        if np.linalg.norm(across) > ROUNDING * np.linalg.norm(start):
            break
    return across


def mean_cut(X: Matrix, weights: Floats, moments: Moments, n_jobs: int | None = None) -> Cut | None:
    """Return the cut through the mean, orthogonal to the first principal component."""
    normal = principal_direction(X, weights, moments, n_jobs)
    return None if normal is None else Cut(normal, float(moments.mean @ normal))


def antimode_cut(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    *,
    bandwidth: float,
    min_cluster_size: float = 1,
    n_jobs: int | None = None,
) -> Cut | None:
    """Find the cut at the lowest antimode of the density along the first principal component.

    The density there is the value of the cut. Antimodes with less weight than `min_cluster_size` on one side are
    skipped.
    """
    normal = principal_direction(X, weights, moments, n_jobs)
    if normal is None:
        return None
    values, mass = values_along(X, weights, moments.mean, normal, n_jobs)
    return lowest_antimode(normal, values + moments.mean @ normal, mass, bandwidth, min_cluster_size)


def lowest_antimode(
    normal: Floats, values: Floats, weights: Floats, bandwidth: float, min_cluster_size: float
) -> Cut | None:
    """Return the cut of `antimode_cut`, given the values of the rows along a direction."""
    h = normal_bandwidth(values, weights, bandwidth)
    if not h > 0:
        return None
    along = projected_density(values, weights, h)
    valleys = along.valleys()
    if min_cluster_size > 1:
        valleys = valleys[_lesser_side(values, weights, along.at(valleys[:, 0])) >= min_cluster_size]
    if not len(valleys):
        return None
    # Empty stretches tie at density zero; the widest one wins.
    density = along.density[valleys[:, 0]]
    lowest = valleys[density <= (1 + TIE) * density.min()]
    valley, left_mode, right_mode, _ = lowest[(lowest[:, 3] >= lowest[:, 3].max() - SAME_WIDTH).argmax()]
    return Cut(
        normal,
        float(along.at(valley)),
        value=float(along.density[valley]),
        relative_depth=along.relative_depth(valley, left_mode, right_mode),
    )


def _lesser_side(values: Floats, weights: Floats, positions: Floats) -> Floats:
    """Return the weight on the lighter side of each position."""
    order = np.argsort(values)
    below = np.concatenate([[0.0], np.cumsum(weights[order])])[np.searchsorted(values, positions, sorter=order)]
    return np.minimum(below, weights.sum() - below)
