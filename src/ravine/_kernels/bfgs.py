"""The inverse Hessian of BFGS, stored as the steps that built it, and the settings of the line search."""

import numpy as np

from ravine._kernels._compile import kernel

MAX_ITERATIONS = 200

MEMORY = 20
"""Number of steps that are stored."""

SUFFICIENT, SHRINK, MAX_SHRINKS = 1e-4, 0.2, 12
"""A step must achieve the first share of the decrease predicted by the slope; otherwise its length is multiplied by the
second number, at most the third number of times."""


@kernel
def inverse_hessian_times(g, steps, changes, n_steps):
    """Return g times the inverse Hessian, built from the identity by `n_steps` steps and changes of the gradient."""
    q = np.empty(g.shape[0])
    for j in range(g.shape[0]):
        q[j] = g[j]
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


@kernel
def remember(step, change, steps, changes, n_steps):
    """Add a step and its change of the gradient, and return the new number of steps.

    If they contradict each other, all steps are discarded.
    """
    along = 0.0
    for j in range(step.shape[0]):
        along += step[j] * change[j]
    if along <= 0.0:
        return n_steps - n_steps
    if n_steps == steps.shape[0]:
        n_steps -= 1
        for k in range(n_steps):
            for j in range(step.shape[0]):
                steps[k, j] = steps[k + 1, j]
                changes[k, j] = changes[k + 1, j]
    for j in range(step.shape[0]):
        steps[n_steps, j] = step[j]
        changes[n_steps, j] = change[j]
    return n_steps + 1
