"""A seeded generator, the settings of the property tests, which tests `make quick` leaves out, and which come first."""

import gc
import re
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import settings

import ravine
from ravine import _blocks

# No time limit: a first call compiles.
settings.register_profile("ravine", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("ravine")

if sys.platform == "win32":  # signals, forks, pipes with names, links, owners and permissions
    collect_ignore = [
        "cli/test_end.py",
        "cli/test_follow.py",
        "cli/test_places.py",
        "cli/test_stream.py",
        "cli/test_stream_kill.py",
        "cli/test_tour.py",
        "test_cluster_of_workers.py",
        "test_files.py",
    ]

ESTIMATORS = {name for name in ravine.__all__ if name[0].isupper()}

QUICK_ESTIMATORS = {"PDDP", "HSDC", "MDHClassifier"}
"""Of a test that runs over estimators, `make quick` runs the cases of these, if there are any."""

SLOW = set(Path(__file__).with_name("slow.txt").read_text("utf-8").splitlines())
"""Files, tests and cases of tests that `make quick` leaves out as well."""


FIRST = {"test_common.py", "test_bad_input.py"}
"""The longest files, which also compile most kernels, each in an order of its own: two workers begin with them."""


def pytest_collection_modifyitems(items):
    """Mark what is slow, and begin with the longest files."""
    items.sort(key=lambda item: item.path.name not in FIRST)
    ids = [(item.nodeid, *item.nodeid.partition("[")[::2]) for item in items]  # with the name of the test, and the case
    estimators = [ESTIMATORS.intersection(re.findall(r"\w+", case)) for _, _, case in ids]
    in_quick = {test for (_, test, _), names in zip(ids, estimators, strict=True) if names & QUICK_ESTIMATORS}
    for item, (whole, test, _), names in zip(items, ids, estimators, strict=True):
        is_other = names and test in in_quick and not names & QUICK_ESTIMATORS
        if is_other or SLOW & {whole, test, whole.partition("::")[0]}:
            item.add_marker("slow")


def pytest_collection_finish():
    """Collect garbage seldom: each time it goes through thousands of collected tests, which stay to the end.

    They are not frozen, since Hypothesis asks the garbage collector who refers to its random generators.
    """
    gc.collect()
    gc.set_threshold(200_000, 50, 50)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def four_cores(monkeypatch):
    """Have four threads work, however many cores there are."""
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)
    for cached in (_blocks.count_threads, _blocks._helpers):
        cached.cache_clear()
    yield
    for cached in (_blocks.count_threads, _blocks._helpers):
        cached.cache_clear()
