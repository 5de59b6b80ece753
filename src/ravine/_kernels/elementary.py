"""Exponentials and logarithms of whole arrays with SIMD: twice as fast as one number at a time.

The bits of a number split it into a power of two and a remainder near 1, and a series evaluates the remainder. Both
functions are accurate to two units in the last place.
"""

import numpy as np

from ravine._kernels._compile import inner

WIDTH = np.uint64(52)
"""Width of the fraction in bits; the exponent lies above it."""

FRACTION, ONE, WHOLE = np.uint64((1 << 52) - 1), np.uint64(0x3FF << 52), np.uint64(0x433 << 52)
"""Bits of the fraction, of 1.0, and of 2^52; an integer stored in the fraction of 2^52 is added to it."""

BIAS, TO_WHOLE = 2.0**52 + 1023, 1.5 * 2.0**52
"""Excess of an exponent that was read as an integer, and a number whose addition rounds to an integer."""

ROOT, LOG2_E, LN_2, LN_2_HIGH, LN_2_LOW = 2**0.5, 1 / np.log(2), np.log(2), 0.6931471803691238, 1.9082149292705877e-10

LOWEST = -708.0
"""The exponential of smaller numbers is 0."""


@inner
def log(x, scratch, out):
    """Compute out = log x for positive normal numbers; `scratch` is as long, and the arrays must not overlap."""
    bits, exponent, rest = x.view(np.uint64), scratch.view(np.uint64), out.view(np.uint64)
    for j in range(x.shape[0]):
        exponent[j] = (bits[j] >> WIDTH) | WHOLE
        rest[j] = (bits[j] & FRACTION) | ONE
    for j in range(x.shape[0]):
        near_1, power = out[j], scratch[j] - BIAS
        power = power + 1.0 if near_1 > ROOT else power
        near_1 = 0.5 * near_1 if near_1 > ROOT else near_1
        s = (near_1 - 1.0) / (near_1 + 1.0)  # log (1 + s) / (1 - s) = 2 (s + s³/3 + s⁵/5 …)
        z = s * s
        series = 1 / 15 + z * (1 / 17 + z * (1 / 19))
        series = 1 / 7 + z * (1 / 9 + z * (1 / 11 + z * (1 / 13 + z * series)))
        out[j] = power * LN_2 + 2.0 * (s + s * z * (1 / 3 + z * (1 / 5 + z * series)))


@inner
def exp(x, scratch, out):
    """Compute out = exp x for numbers below 700; `scratch` is as long, and the arrays must not overlap."""
    power, bits = scratch.view(np.uint64), out.view(np.uint64)
    for j in range(x.shape[0]):
        above = max(x[j], LOWEST)
        scratch[j] = above * LOG2_E + TO_WHOLE
        whole = scratch[j] - TO_WHOLE
        f = (above - whole * LN_2_HIGH) - whole * LN_2_LOW
        series = 1 / 40320 + f * (1 / 362880 + f * (1 / 3628800 + f * (1 / 39916800 + f * (1 / 479001600))))
        series = 1 / 24 + f * (1 / 120 + f * (1 / 720 + f * (1 / 5040 + f * series)))
        out[j] = 1.0 + (f + f * f * (0.5 + f * (1 / 6 + f * series)))
    for j in range(x.shape[0]):
        bits[j] += power[j] << WIDTH
    for j in range(x.shape[0]):
        out[j] = out[j] if x[j] >= LOWEST else 0.0
