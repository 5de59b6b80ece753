"""The inverse Hessian of BFGS, kept as the steps that made it."""

import numpy as np

from ravine.kernels._compile import kernel


@kernel
def inverse_hessian_times(g, steps, changes, n_steps):
    """The inverse Hessian, grown from the identity by `n_steps` steps and changes of the gradient, times g."""
    q = g.copy()
    alpha, rho = np.empty(n_steps), np.empty(n_steps)
    for k in range(n_steps - 1, -1, -1):
        curvature, along = 0.0, 0.0
        for j in range(q.shape[0]):
            curvature += steps[k, j] * changes[k, j]
            along += steps[k, j] * q[j]
        rho[k] = 1.0 / curvature
        alpha[k] = rho[k] * along
        for j in range(q.shape[0]):
            q[j] -= alpha[k] * changes[k, j]
    for k in range(n_steps):
        along = 0.0
        for j in range(q.shape[0]):
            along += changes[k, j] * q[j]
        for j in range(q.shape[0]):
            q[j] += (alpha[k] - rho[k] * along) * steps[k, j]
    return q
