"""Minimization by BFGS with backtracking steps, for any objective, compiled or not.

The caller evaluates the objective, and the functions of this module do everything else. `begin` returns the state of a
descent. The caller then evaluates the value at `trial` and passes it to `tell_value`; if that asks for the gradient
there, the caller passes it to `tell_gradient`. Each of the two returns what to do next:

    descent, answer = begin(start, tolerance), ASK_VALUE
    while answer == ASK_VALUE:
        answer = tell_value(descent, value at descent.trial)
        if answer == ASK_GRADIENT:
            answer = tell_gradient(descent, gradient at descent.trial)

The inverse Hessian begins as the identity and is stored as the steps that built it. A step costs O(MEMORY · n) for n
variables, besides the evaluations.

Trials and gradients are rounded. A descent through many valleys and edges multiplies every difference: after a hundred
evaluations, the sixteenth digit of a sum was the first digit of a direction. Rounding removes such a difference before
the next evaluation, so that all processors, and all places where rows lie, take the same steps to the last bit.
"""

from typing import Any, NamedTuple

import numpy as np

from ravine._kernels._compile import inner, kernel
from ravine._kernels.rows import dot
from ravine._kernels.ties import round_together

MAX_ITERATIONS = 200
"""Maximum number of line searches."""

MEMORY = 20
"""Number of steps that are stored."""

SUFFICIENT, SHRINK, MAX_SHRINKS = 1e-4, 0.2, 12
"""A step must achieve the first share of the decrease predicted by the slope; otherwise its length is multiplied by the
second number, at most the third number of times."""

MAX_SMALL_DECREASES = 2
"""The descent ends after this many decreases in a row that are not above the tolerance."""

ASK_VALUE, ASK_GRADIENT, ENDS_AT_TRIAL, ENDS_AT_POINT = 0, 1, 2, 3
"""Answers of `tell_value` and `tell_gradient`: evaluate the value at `trial`; `trial` is accepted, evaluate the
gradient there; `trial` is accepted, and the descent ends there; the descent ends at `point`, the last accepted one."""

# A kernel that gets a Python integer that is written out would be compiled for this number alone.
START_BITS: Any = np.int64(14)
TRIAL_BITS: Any = np.int64(30)
GRADIENT_BITS: Any = np.int64(20)
"""Bits to which the largest entry of the start, of a trial and of a gradient is rounded; the other entries have its
unit. The start, an eigenvector perhaps, and the sums in a gradient differ by more than what follows from them."""

NEGLIGIBLE = 2.0**-7
"""Entries of a gradient below this share of the tolerance are rounded, too: a turn by a radian would hardly change the
value, and what is left of the sums near a minimum has few digits."""

TRIAL, POINT, GRADIENT, DOWNHILL, STEPS, CHANGES = 0, 1, 2, 3, 4, 4 + MEMORY
"""Rows of `Descent.vectors`; there are `MEMORY` rows of steps, and as many of changes."""

TOLERANCE, VALUE, SLOPE, LENGTH = 0, 1, 2, 3
"""Positions in `Descent.numbers`."""

N_SEARCHES, N_SHRINKS, N_SMALL, N_STEPS, N_ENOUGH = 0, 1, 2, 3, 4
"""Positions in `Descent.counts`."""


class Descent(NamedTuple):
    """State of a descent; callers read `trial` and `point` only.

    Attributes
    ----------
    vectors : ndarray of shape (4 + 2 * MEMORY, n)
        The point to evaluate next; the last accepted point, its gradient, and the product of the inverse Hessian with
        the gradient, against which steps go; the stored steps, and how the gradient changed with each of them.
    numbers : ndarray of shape (4,)
        Tolerance, value at the point, slope of the value along the line of the search, and length of the step on it.
    counts : ndarray of int of shape (5,)
        Number of line searches, of steps shortened in this one, of small decreases in a row, of stored steps, and of
        small decreases that end the descent.
    """

    vectors: Any
    numbers: Any
    counts: Any

    @property
    def trial(self):
        """Where to evaluate next."""
        return self.vectors[TRIAL]

    @property
    def point(self):
        """The last accepted point."""
        return self.vectors[POINT]


def begin(start, tolerance, before=None):
    """Return the state of a descent whose first trial is `start`; not compiled, since it only makes arrays.

    The descent ends when the value decreases by no more than `tolerance` twice in a row. `before` is a descent of a
    similar function. Its curvature is a good start, so that the first small decrease ends this descent.
    """
    vectors, counts = np.zeros((4 + 2 * MEMORY, len(start))), np.array([0, 0, 0, 0, MAX_SMALL_DECREASES])
    if before is not None:
        vectors[STEPS:], counts[N_STEPS], counts[N_ENOUGH] = before.vectors[STEPS:], before.counts[N_STEPS], 1
    vectors[TRIAL] = start
    round_together(vectors[TRIAL], START_BITS, 0.0)
    vectors[POINT] = vectors[TRIAL]
    return Descent(vectors, np.array([tolerance, np.inf, 0.0, 1.0]), counts)


@inner
def tell_value(descent, value):
    """Take the value at the trial, and return an answer; a start whose value is not finite is the end."""
    vectors, numbers, counts = descent
    if counts[N_SEARCHES] == 0:
        numbers[VALUE] = value
        return ASK_GRADIENT if -np.inf < value < np.inf else ENDS_AT_TRIAL
    if value <= numbers[VALUE] + SUFFICIENT * numbers[LENGTH] * numbers[SLOPE]:
        counts[N_SMALL] = counts[N_SMALL] + 1 if numbers[VALUE] - value <= numbers[TOLERANCE] else 0
        numbers[VALUE] = value
        for j in range(vectors.shape[1]):
            vectors[POINT, j] = vectors[TRIAL, j]
        return ENDS_AT_TRIAL if counts[N_SMALL] == counts[N_ENOUGH] else ASK_GRADIENT
    counts[N_SHRINKS] += 1
    numbers[LENGTH] *= SHRINK
    if counts[N_SHRINKS] == MAX_SHRINKS:
        if counts[N_STEPS] == 0 or counts[N_SEARCHES] == MAX_ITERATIONS:
            return ENDS_AT_POINT
        # The curvature was misleading: restart with steepest descent from here.
        counts[N_SEARCHES] += 1
        counts[N_STEPS], counts[N_SHRINKS], numbers[LENGTH] = 0, 0, 1.0
        go_straight_down(vectors, numbers)
    return go_to_trial(vectors, numbers)


@inner
def tell_gradient(descent, gradient):
    """Take the gradient at the trial, which was accepted, and return an answer."""
    vectors, numbers, counts = descent
    n_steps, gradient = counts[N_STEPS], gradient.copy()
    round_together(gradient, GRADIENT_BITS, NEGLIGIBLE * numbers[TOLERANCE])
    if counts[N_SEARCHES] > 0:
        n_steps = remember(vectors, gradient, numbers[LENGTH], n_steps)
    for j in range(vectors.shape[1]):
        vectors[GRADIENT, j] = gradient[j]
    if counts[N_SEARCHES] == MAX_ITERATIONS:
        return ENDS_AT_POINT
    multiply_by_inverse_hessian(vectors, n_steps)
    numbers[SLOPE] = -dot(vectors[GRADIENT], vectors[DOWNHILL])
    if n_steps > 0 and not numbers[SLOPE] < 0.0:
        n_steps = 0
        go_straight_down(vectors, numbers)
    counts[N_SEARCHES] += 1
    counts[N_STEPS], counts[N_SHRINKS], numbers[LENGTH] = n_steps, 0, 1.0
    return go_to_trial(vectors, numbers)


@inner
def go_straight_down(vectors, numbers):
    """Take the gradient as the direction of the search."""
    for j in range(vectors.shape[1]):
        vectors[DOWNHILL, j] = vectors[GRADIENT, j]
    numbers[SLOPE] = -dot(vectors[GRADIENT], vectors[GRADIENT])


@inner
def go_to_trial(vectors, numbers):
    """Set the trial, and return an answer: its value is next, or the descent ends since no direction is left."""
    for j in range(vectors.shape[1]):
        vectors[TRIAL, j] = vectors[POINT, j] - numbers[LENGTH] * vectors[DOWNHILL, j]
    round_together(vectors[TRIAL], TRIAL_BITS, 0.0)
    return ASK_VALUE if numbers[SLOPE] < 0.0 else ENDS_AT_POINT


@kernel
def take_value(descent, value):
    """Call `tell_value` from Python; this compiles less than a second version of it."""
    return tell_value(descent, value)


@kernel
def take_gradient(descent, gradient):
    """Call `tell_gradient` from Python."""
    return tell_gradient(descent, gradient)


@inner
def multiply_by_inverse_hessian(vectors, n_steps):
    """Set `DOWNHILL` to `GRADIENT` times the inverse Hessian, which `n_steps` stored steps build from the identity."""
    n = vectors.shape[1]
    q = vectors[DOWNHILL]
    for j in range(n):
        q[j] = vectors[GRADIENT, j]
    alpha, rho = np.empty(n_steps), np.empty(n_steps)
    for k in range(n_steps - 1, -1, -1):
        curvature, along = 0.0, 0.0
        for j in range(n):
            curvature += vectors[STEPS + k, j] * vectors[CHANGES + k, j]
            along += vectors[STEPS + k, j] * q[j]
        rho[k] = 1.0 / curvature
        alpha[k] = rho[k] * along
        for j in range(n):
            q[j] -= alpha[k] * vectors[CHANGES + k, j]
    for k in range(n_steps):
        along = 0.0
        for j in range(n):
            along += vectors[CHANGES + k, j] * q[j]
        for j in range(n):
            q[j] += (alpha[k] - rho[k] * along) * vectors[STEPS + k, j]


@inner
def remember(vectors, gradient, length, n_steps):
    """Store the step that led to the point, and how the gradient changed with it; return the new number of steps.

    If they contradict each other, all steps are discarded.
    """
    along = 0.0
    for j in range(vectors.shape[1]):
        along += -length * vectors[DOWNHILL, j] * (gradient[j] - vectors[GRADIENT, j])
    if along <= 0.0:
        return 0
    if n_steps == MEMORY:
        n_steps -= 1
        for k in range(MEMORY - 1):
            for j in range(vectors.shape[1]):
                vectors[STEPS + k, j] = vectors[STEPS + k + 1, j]
                vectors[CHANGES + k, j] = vectors[CHANGES + k + 1, j]
    for j in range(vectors.shape[1]):
        vectors[STEPS + n_steps, j] = -length * vectors[DOWNHILL, j]
        vectors[CHANGES + n_steps, j] = gradient[j] - vectors[GRADIENT, j]
    return n_steps + 1
