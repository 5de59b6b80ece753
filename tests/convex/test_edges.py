import numpy as np
from numpy.testing import assert_allclose

from ravine._convex._edges import LEAST_WEIGHT, gaussian_weights


def test_weights_fall_with_the_square_of_the_length_but_not_to_nought():
    weights = gaussian_weights(np.array([0.0, 2.0, 4.0, 1e9]), 2.0, 1.5)
    assert_allclose(weights, [1.0, np.exp(-1.5), np.exp(-6.0), LEAST_WEIGHT])
