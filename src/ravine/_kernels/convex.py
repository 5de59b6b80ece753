"""Sum-of-norms problems on a graph, by an augmented Lagrangian with Newton steps.

The problem is min Σ mᵢ ‖xᵢ - uᵢ‖² / 2 + λ Σ wₑ ‖uₐ - u_b‖ over the edges e = (a, b). Each edge has a dual variable z of
length at most 1. Its force on a is λ w z, and the opposite on b. For a length ℓ, the multiplier is s = z + (uₐ - u_b) /
ℓ, projected onto the unit ball if it is longer than 1. The projected multipliers are dual feasible, so every evaluation
gives a duality gap:

    gap = Σ λ w (‖uₐ - u_b‖ - s · (uₐ - u_b)) + Σ ‖gᵢ‖² / (2 mᵢ),    g the gradient of the augmented Lagrangian.

The method of multipliers alternates two steps: minimize over u by Newton's method with conjugate gradients, then set z
to s. ℓ shrinks from round to round. Yuan, Sun and Toh (2018) proposed to solve sum-of-norms problems in this way.
"""

import numpy as np

from ravine._kernels._compile import reduction


@reduction
def evaluate(a, b, w, lam, ell, m, X, U, z, S, c, g):
    """Return the augmented Lagrangian at U, both parts of the gap, and the objective; fill gradient and curvature.

    g receives the gradient. Edge e has the curvature c (1 - S Sᵀ), where S is the direction of its multiplier if that
    lies outside the ball, else 0.
    """
    n, d = X.shape
    value, slack, penalty = 0.0, 0.0, 0.0
    for i in range(n):
        for j in range(d):
            v = U[i, j] - X[i, j]
            g[i, j] = m[i] * v
            value += 0.5 * m[i] * v * v
    objective = value
    for e in range(a.shape[0]):
        i, k, pull = a[e], b[e], lam * w[e]
        length, along, r = 0.0, 0.0, 0.0
        for j in range(d):
            v = U[i, j] - U[k, j]
            s = z[e, j] + v / ell
            S[e, j] = s
            length += s * s
            along += s * v
            r += v * v
        r = np.sqrt(r)
        if length <= 1.0:
            c[e] = pull / ell
            value += 0.5 * pull * ell * length
            for j in range(d):
                g[i, j] += pull * S[e, j]
                g[k, j] -= pull * S[e, j]
                S[e, j] = 0.0
        else:
            length = np.sqrt(length)
            along /= length
            c[e] = pull / (ell * length)
            value += pull * ell * (length - 0.5)
            for j in range(d):
                S[e, j] /= length
                g[i, j] += pull * S[e, j]
                g[k, j] -= pull * S[e, j]
        slack += pull * (r - along)
        penalty += pull * r
    residual = 0.0
    for i in range(n):
        for j in range(d):
            residual += 0.5 * g[i, j] * g[i, j] / m[i]
    return value, slack, residual, objective + penalty


@reduction
def newton_step(a, b, S, c, m, g, residual, max_steps, step):
    """Solve step = -H⁻¹ g by conjugate gradients, H = M + Σ c (1 - S Sᵀ) over edges; return g · step and their number.

    The iteration ends when the share `residual` of the gradient is left.
    """
    n, d = g.shape
    inverse, R, P, Q = np.empty((n, d)), np.empty((n, d)), np.empty((n, d)), np.empty((n, d))
    for i in range(n):
        for j in range(d):
            inverse[i, j] = m[i]
            step[i, j] = 0.0
    for e in range(a.shape[0]):
        for j in range(d):
            v = c[e] * (1.0 - S[e, j] * S[e, j])
            inverse[a[e], j] += v
            inverse[b[e], j] += v
    error = 0.0
    for i in range(n):
        for j in range(d):
            inverse[i, j] = 1.0 / inverse[i, j]
            R[i, j] = -g[i, j]
            P[i, j] = R[i, j] * inverse[i, j]
            error += R[i, j] * P[i, j]
    enough, n_steps = error * residual**2, 0
    while error > enough and n_steps < max_steps:
        for i in range(n):
            for j in range(d):
                Q[i, j] = m[i] * P[i, j]
        for e in range(a.shape[0]):
            i, k, along = a[e], b[e], 0.0
            for j in range(d):
                along += S[e, j] * (P[i, j] - P[k, j])
            for j in range(d):
                v = c[e] * (P[i, j] - P[k, j] - along * S[e, j])
                Q[i, j] += v
                Q[k, j] -= v
        curvature = 0.0
        for i in range(n):
            for j in range(d):
                curvature += P[i, j] * Q[i, j]
        alpha, before, error = error / curvature, error, 0.0
        for i in range(n):
            for j in range(d):
                step[i, j] += alpha * P[i, j]
                R[i, j] -= alpha * Q[i, j]
                error += R[i, j] * R[i, j] * inverse[i, j]
        for i in range(n):
            for j in range(d):
                P[i, j] = R[i, j] * inverse[i, j] + error / before * P[i, j]
        n_steps += 1
    slope = 0.0
    for i in range(n):
        for j in range(d):
            slope += g[i, j] * step[i, j]
    return slope, n_steps


@reduction
def renew_multipliers(a, b, ell, U, z):
    """Project z + (uₐ - u_b) / ℓ onto the unit ball, in place."""
    for e in range(a.shape[0]):
        length = 0.0
        for j in range(z.shape[1]):
            z[e, j] += (U[a[e], j] - U[b[e], j]) / ell
            length += z[e, j] * z[e, j]
        if length > 1.0:
            length = np.sqrt(length)
            for j in range(z.shape[1]):
                z[e, j] /= length
