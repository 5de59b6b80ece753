"""The sum-of-norms problem on a sparse graph, solved by the method of multipliers with Newton steps
(`_kernels.convex`)."""

from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from ravine import _kernels
from ravine._convex._edges import Edges
from ravine._convex._groups import group_sum, mass_of
from ravine._convex._problem import FIRST, INSIDE, SHORT, Bound, Problem
from ravine._matrix import Bools, Floats, Ints
from ravine._neighbors import components

STEP = 0.3
"""First ℓ of the multipliers, relative to the mean length of an edge."""

MAX_NEWTON, MAX_HALVINGS = 30, 30
"""Maximum number of Newton steps for one set of multipliers, and of halvings of one step."""

MAX_STEPS = 300
"""Maximum number of conjugate-gradient steps for one Newton step."""

RESIDUAL, SLOPE, SOLVED = 0.1, 1e-4, 0.1
"""Share of the gradient that conjugate gradients may leave, and minimum share of the predicted decrease that a step
must achieve. The multipliers are updated once the gradient is below the third share of the gap."""

NO_MASS, END_MARGIN = 1e-12, 3.0
"""Mass of a point, relative to its degree, if only the flow between points counts, and a factor for the end of the
path."""

FEW_COLUMNS, NARROW = 3, 1e9
"""Up to the first number of columns, the linear systems of flows are solved by elimination. With more columns,
elimination is used if the number of rows times the squared bandwidth of the graph is at most the second number.
Otherwise conjugate gradients are used."""

FLOW_RESIDUAL, FLOW_STEPS = 1e-3, 3000
"""Share of a flow that conjugate gradients may leave, and their maximum number of steps."""

MAX_FLOWS, SLOW, EXACT = 20, 0.8, 1e-9
"""Maximum number of flows for a bound; each must reduce the remainder to the second number times the last one. The
third number is the remainder allowed at the end, as a share of the objective."""

PROOF_WORK, STEP_COST = 2e10, 6
"""Number of multiplier entries that conjugate gradients may process for a bound when flows are not enough, and the cost
of an edge in addition to its own entries. This takes about twenty seconds, see docs/decisions/sum-of-norms.md."""

FINE, COARSE = 0.01, 30.0
"""ℓ on the whole graph, relative to the mean length of an edge between rows: for flows found by elimination, and for
the first round when flows are not enough. Inside large groups, forces act over long distances."""


class GraphProblem(Problem):
    """Points that are joined by some edges.

    Parameters
    ----------
    rows : ndarray of shape (n_points, n_features)
    mass : ndarray of shape (n_points,)
    edges : Edges
    """

    def __init__(self, rows: Floats, mass: Floats, edges: Edges) -> None:
        super().__init__(rows, mass)
        self.edges = edges
        self.multipliers = np.zeros((len(edges.weight), rows.shape[1]))
        self.ell = 0.0
        self._lam = 0.0
        self._flow_is_exact = False

    def solve(self, lam: float, tol: float, max_iter: int) -> Bound:
        """Move the centroids from their current values until the gap is at most the share `tol` of the objective."""
        self._carry(lam)
        typical = max(self._mean_length(self.centroids), 1e-3 * self._mean_length(self.rows))
        return self._improve(tol, max_iter, STEP * typical)

    def prove(self, lam: float, centroids: Floats, objective: float, tol: float, max_iter: int) -> Bound:
        """Return a bound for the objective of centroids, many of which may coincide.

        It also finds the forces within groups.
        """
        self._lam = lam
        apart = centroids[self.edges.a] - centroids[self.edges.b]
        length = np.linalg.norm(apart, axis=1)[:, np.newaxis]
        between_groups = np.divide(apart, length, out=np.zeros_like(apart), where=length > 0)
        self.centroids, self.multipliers = centroids, between_groups.copy()
        least, n_rounds = self._bound_by_flow(objective, tol), 1
        if objective - least > tol * objective:
            self.multipliers = between_groups
            improved = self._improve(tol, max_iter, COARSE * self._mean_length(self.rows), objective, PROOF_WORK)
            least, n_rounds = max(least, improved.objective * (1.0 - improved.gap)), improved.n_iter
        return Bound.of(objective, objective - least, n_rounds)

    def is_partition(self, group: Ints, tolerance: float, excess: float) -> bool:
        """Return whether it is proved that each group has one centroid, and that different groups have different ones.

        Call this after `prove`. A group has one centroid if a flow within it balances the forces on its points, and
        edges with a margin of `tolerance` join all of them. If centroids exceed the minimum objective by `excess`,
        their error is at most √(2 excess / mass).
        """
        within = group[self.edges.a] == group[self.edges.b]
        radius = np.sqrt(2.0 * excess / mass_of(group, self.mass))[group]
        reach = radius[self.edges.a] + radius[self.edges.b]
        return bool(
            self._flow_is_exact
            and (self._joined_by(within & self._have_room(tolerance)) == group).all()
            and (self._lengths(self.centroids) > reach)[~within].all()
        )

    def _bound_by_flow(self, objective: float, tol: float) -> float:
        """Return a lower bound of the objective, with forces within groups computed as in a network of resistors.

        The force of an edge that would exceed its limit is lowered step by step. Well inside a section of the path few
        edges do, and a few linear systems are enough.
        """
        a, b, w = self.edges
        m, X, U, z = self.mass, self.rows, self.centroids, self.multipliers
        S, c, g = np.empty_like(z), np.empty(len(w)), np.empty_like(X)
        within = w * (self._lengths(U) == 0)
        typical = float(within @ self._lengths(X) / max(within.sum(), w.min())) or self._mean_length(X)
        self.ell = (FINE if self._is_narrow else 1.0) * typical
        # Differences of centroids that nearly coincide have lost their digits, and λ can be 1e9 times as large as the
        # rows. So the multipliers are updated from the steps.
        gained = z + (U[a] - U[b]) / self.ell
        least, before = -np.inf, np.inf
        for _ in range(MAX_FLOWS):
            _, slack, residual, own = _kernels.convex.evaluate(a, b, w, self._lam, np.inf, m, X, U, gained, S, c, g)
            least = max(least, own - slack - residual)
            proved, exact = objective - least <= tol * objective, residual <= EXACT * objective
            if (proved and exact) or residual > SLOW * before:
                break
            before = residual
            length = np.maximum(np.linalg.norm(gained, axis=1), 1.0)
            step = self._potential(self._lam * w / (self.ell * length), m, g)
            U = U + step
            gained += (step[a] - step[b]) / self.ell
        self._flow_is_exact = bool(residual <= EXACT * objective)
        self.multipliers = gained / np.maximum(np.linalg.norm(gained, axis=1), 1.0)[:, np.newaxis]
        return least

    def _improve(self, tol: float, max_iter: int, ell: float, known: float = np.inf, max_work: float = np.inf) -> Bound:
        """Continue from the current multipliers and centroids, with the length ℓ in the first two rounds.

        This stops when the lower bound is close to the objective or to a known objective reached elsewhere, or when
        conjugate gradients have processed `max_work` entries of multipliers.
        """
        a, b, w = self.edges
        m, X, U, z = self.mass, self.rows, self.centroids, self.multipliers
        S, c, g, step = np.empty_like(z), np.empty(len(w)), np.empty_like(X), np.empty_like(X)
        n_rounds, least, work = 0, -np.inf, 0.0
        while True:
            lagrangian, slack, residual, objective = _kernels.convex.evaluate(
                a, b, w, self._lam, ell, m, X, U, z, S, c, g
            )
            for _ in range(MAX_NEWTON):
                least = max(least, objective - slack - residual)
                upper = min(objective, known)
                if upper - least <= tol * upper or residual <= SOLVED * (slack + residual) or work > max_work:
                    break
                slope, n_steps = _kernels.convex.newton_step(a, b, S, c, m, g, RESIDUAL, MAX_STEPS, step)
                work += n_steps * (z.size + STEP_COST * len(z))
                size, before = 1.0, lagrangian
                for _ in range(MAX_HALVINGS):
                    trial = U + size * step
                    lagrangian, slack, residual, objective = _kernels.convex.evaluate(
                        a, b, w, self._lam, ell, m, X, trial, z, S, c, g
                    )
                    if lagrangian <= before + SLOPE * size * slope + 1e-14 * abs(before):
                        break
                    size *= 0.5
                U = trial
            least = max(least, objective - slack - residual)
            upper = min(objective, known)
            _kernels.convex.renew_multipliers(a, b, ell, U, z)
            n_rounds += 1
            if upper - least <= tol * upper or n_rounds >= max_iter or work > max_work:
                self.centroids, self.ell = U, ell
                return Bound.of(upper + self.constant, upper - least, n_rounds)
            if n_rounds % 2 == 0:
                ell *= 0.5

    def fused(self, tolerance: float = INSIDE) -> Ints:
        """Return the group of each point; edges with a dual variable shorter than 1 - tolerance join points."""
        return self._joined_by(self._have_room(tolerance) & (self._lengths(self.centroids) <= SHORT * self.ell))

    def _have_room(self, tolerance: float) -> Bools:
        """Return the edges whose dual variable is shorter than 1 - tolerance."""
        return np.linalg.norm(self.multipliers, axis=1) < 1.0 - tolerance

    def _joined_by(self, chosen: Bools) -> Ints:
        """Return the groups of points joined by the chosen edges, numbered in order of appearance."""
        return components(self.edges.a[chosen], self.edges.b[chosen], len(self.mass))

    def lambda_range(self) -> tuple[float, float]:
        """Return the λ at which the first points fuse, and one at or shortly after which all have fused.

        A few points may fuse before the first λ.

        An edge cannot fuse before λ times the pull on its ends equals its length. All points have fused once there is a
        flow that takes each row to the mean with at most λ w on each edge. The flow with the least weighted squares has
        a potential.
        """
        a, b, weight = self.edges
        degree = mass_of(a, weight, len(self.mass)) + mass_of(b, weight, len(self.mass))
        pull = degree / self.mass
        length = self._lengths(self.rows)
        first = float(np.quantile((length / (pull[a] + pull[b]))[length > 0], FIRST))
        mean = np.average(self.rows, axis=0, weights=self.mass)
        excess = self.mass[:, np.newaxis] * (self.rows - mean)
        potential = self._potential(weight, NO_MASS * degree, excess)
        return first, END_MARGIN * float(self._lengths(potential).max())

    @cached_property
    def _is_narrow(self) -> bool:
        """Whether elimination causes little fill-in: few edges lie side by side between the two ends of the rows."""
        if self.rows.shape[1] <= FEW_COLUMNS:
            return True
        a, b, _ = self.edges
        n_points = len(self.mass)
        joined = sparse.csr_array((np.ones(2 * len(a)), (np.r_[a, b], np.r_[b, a])), (n_points, n_points))
        position = np.empty(n_points, dtype=np.int64)
        position[reverse_cuthill_mckee(joined, symmetric_mode=True)] = np.arange(n_points)
        return n_points * float(np.abs(position[a] - position[b]).max(initial=0)) ** 2 <= NARROW

    def _potential(self, conductance: Floats, mass: Floats, excess: Floats) -> Floats:
        """Return -(M + L)⁻¹ times the columns of `excess`, where L is the graph Laplacian with these conductances."""
        a, b, _ = self.edges
        if self._is_narrow:
            return -_solve_laplacian(a, b, conductance, mass, excess)
        potential, flat = np.empty_like(excess), np.zeros_like(self.multipliers)
        _kernels.convex.newton_step(a, b, flat, conductance, mass, excess, FLOW_RESIDUAL, FLOW_STEPS, potential)
        return potential

    def objective(self, lam: float) -> float:
        """Return the objective at the centroids."""
        fit = 0.5 * self.mass @ ((self.rows - self.centroids) ** 2).sum(axis=1)
        return float(fit + lam * self.edges.weight @ self._lengths(self.centroids) + self.constant)

    def _contract_edges(self, group: Ints, n_groups: int) -> None:
        a, b = group[self.edges.a], group[self.edges.b]
        between = a != b
        a, b, weight, z = a[between], b[between], self.edges.weight[between], self.multipliers[between]
        z[a > b] *= -1.0
        pair, edge = np.unique(np.minimum(a, b) * n_groups + np.maximum(a, b), return_inverse=True)
        total = mass_of(edge, weight, len(pair))
        self.multipliers = group_sum(weight[:, np.newaxis] * z, edge, len(pair)) / total[:, np.newaxis]
        self.edges = Edges(pair // n_groups, pair % n_groups, total)

    def _carry(self, lam: float) -> None:
        """Adapt the multipliers to a new λ: forces inside groups do not change, forces between groups grow with λ."""
        self.multipliers[self._have_room(INSIDE)] *= min(self._lam / lam, 1.0)
        self._lam = lam

    def _lengths(self, points: Floats) -> Floats:
        return np.linalg.norm(points[self.edges.a] - points[self.edges.b], axis=1)

    def _mean_length(self, points: Floats) -> float:
        return float(np.average(self._lengths(points), weights=self.edges.weight))


def _solve_laplacian(a: Ints, b: Ints, conductance: Floats, mass: Floats, right: Floats) -> Floats:
    """Return (M + L)⁻¹ times the columns of `right`, by elimination.

    Graphs of rows in few columns have little fill-in.
    """
    n_points = len(mass)
    joined = sparse.coo_array((conductance, (a, b)), (n_points, n_points)).tocsc()
    joined = joined + joined.T
    matrix = sparse.diags_array(mass + joined.sum(axis=0)) - joined
    factor = splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return factor.solve(right)
