"""The density on a line with a penalty away from its mean (Hofmeyr 2016, eq. 2.10), near one of its minima."""

import numpy as np

from ravine.kernels._compile import kernel


@kernel
def derivatives_at(b, positions, mass, bandwidth, bound, weight, power):
    """First and second derivative by b of Σ mass · exp(-(b - x)² / 2h²) / h + weight · max(0, |b| - bound)^power."""
    first, second = 0.0, 0.0
    for i in range(positions.shape[0]):
        u = (b - positions[i]) / bandwidth
        k = mass[i] * np.exp(-0.5 * u * u) / bandwidth
        first -= k * u / bandwidth
        second += k * (u * u - 1.0) / (bandwidth * bandwidth)
    over = abs(b) - bound
    if over > 0.0:
        first += np.sign(b) * weight * power * over ** (power - 1.0)
        second += weight * power * (power - 1.0) * over ** (power - 2.0)
    return first, second


@kernel
def refine(low, high, positions, mass, bandwidth, bound, weight, power):
    """Minimum between low and high, by Newton steps inside a bracket that bisection shrinks."""
    b = 0.5 * (low + high)
    for _ in range(60):
        first, second = derivatives_at(b, positions, mass, bandwidth, bound, weight, power)
        if first > 0.0:
            high = b
        else:
            low = b
        new = b - first / second if second > 0.0 else low - 1.0
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - b) <= 1e-12 * bandwidth or high - low <= 1e-12 * bandwidth:
            return new
        b = new
    return b
