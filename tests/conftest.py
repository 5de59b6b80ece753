"""A seeded generator for every test, and the settings of the property tests: no time limit, a first call compiles."""

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("ravine", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("ravine")


@pytest.fixture
def rng():
    return np.random.default_rng(0)
