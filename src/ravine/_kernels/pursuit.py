"""What every compiled search for a direction shares: the projection of the rows, and the gradient by the direction.

A search runs the descent of `ravine._kernels.bfgs`. For each trial it calls `aim` and `project_centered`, evaluates its
own objective of the projected values, and passes the derivatives by them to `gradient_by_trial`.
"""

import numpy as np

from ravine._kernels._compile import inner
from ravine._kernels.rows import dot, project, weighted_sum


@inner
def aim(trial, direction):
    """Set `direction` to the trial, scaled to length 1, and return the length of the trial."""
    length = np.sqrt(dot(trial, trial))
    for j in range(direction.shape[0]):
        direction[j] = trial[j] / length
    return length


@inner
def project_centered(X, direction, mean, unit, values):
    """Compute values[i] = (X[i] - mean) · direction / unit."""
    project(X, direction, values)
    origin = dot(mean, direction)
    for i in range(values.shape[0]):
        values[i] = (values[i] - origin) / unit


@inner
def gradient_by_trial(X, slopes, mean, direction, length):
    """Return the derivatives by the trial, from those by the projected values.

    The trial has a length, which does not change the objective, and the rows are centered at their mean.
    """
    total = 0.0
    for i in range(slopes.shape[0]):
        total += slopes[i]
    gradient = weighted_sum(X, slopes)
    for j in range(gradient.shape[0]):
        gradient[j] -= total * mean[j]
    along = dot(gradient, direction)
    for j in range(gradient.shape[0]):
        gradient[j] = (gradient[j] - along * direction[j]) / length
    return gradient
