"""As the scale shrinks three methods find the hyperplane of largest margin (Hofmeyr 2016, Theorems 1, 13 and ch. 4)."""

import numpy as np
import pytest
from sklearn.svm import SVC

from ravine import MDH, NCutH, SpectralPursuit

METHODS = {
    "MDH": lambda margin: MDH(2, margin=margin),
    "NCutH": lambda margin: NCutH(2, margin=margin),
    "SpectralPursuit": lambda margin: SpectralPursuit(2, projection="correlated", laplacian="standard", margin=margin),
}
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def separable(seed, n_features, n=120):
    """Two boxes with a gap of 1 between them, moved along it so that the line between their means is no normal."""
    rng = np.random.default_rng(seed)
    side = np.repeat([-1.0, 1.0], n // 2)
    X = rng.uniform(-1, 1, size=(n, n_features))
    X[:, 0] = side * (0.5 + rng.uniform(size=n))
    X[:, 1] += 0.5 * side
    return X @ np.linalg.qr(rng.normal(size=(n_features, n_features)))[0].T


def cosine_with_the_largest_margin(model, X):
    normal = SVC(kernel="linear", C=1e6).fit(X, model.fit(X).labels_).coef_[0]
    return abs(normal @ model.tree_.normal[0]) / np.linalg.norm(normal)


@each_method
@pytest.mark.parametrize("n_features", [2, 3])
def test_direction_of_large_margin_is_that_of_a_hard_margin_machine(method, n_features):
    for seed in range(4):
        X = separable(seed, n_features)
        wide = cosine_with_the_largest_margin(method(True), X)
        assert wide > 0.99
        assert wide > cosine_with_the_largest_margin(method(False), X)
