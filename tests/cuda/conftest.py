"""Tests of rows on a CUDA device, in Numba's simulator, which runs every thread of a kernel in Python.

The simulator must be chosen before Numba is imported. So these tests run in a process of their own:
`tests/test_simulator.py` starts it, and so does NUMBA_ENABLE_CUDASIM=1 python -m pytest tests/cuda. On a machine with a
device, python -m benchmarks.peers.gpu --check runs the same tests there.
"""

import os
import sys
import threading

import numpy as np
import pytest

IS_SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"

IS_DEVICE = os.environ.get("RAVINE_TEST_DEVICE") == "1"

collect_ignore_glob = [] if IS_SIMULATED or IS_DEVICE else ["test_*.py"]

if IS_SIMULATED:  # the simulator polls its threads, which would wait for it for five milliseconds each time
    sys.setswitchinterval(1e-5)


def pytest_collection_modifyitems(items):
    """Let the random numbers of 64 bits overflow, as they do on a device; leave out what only the simulator can do."""
    for item in items:
        if "tests/cuda" in item.path.as_posix():
            item.add_marker(pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"))
            if IS_DEVICE and item.get_closest_marker("simulator"):
                item.add_marker(pytest.mark.skip(reason="changes constants that are compiled into a kernel"))


@pytest.fixture(autouse=True)
def one_shared_array(monkeypatch):
    """Have the threads of a block share an array: where two of them ask for it at once, the simulator makes two."""
    if IS_DEVICE:
        return
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    lock = threading.Lock()

    def array(self, shape, dtype):
        caller = sys._getframe(1)
        line = caller.f_code, caller.f_lineno
        with lock:
            if line not in self._allocations:
                self._allocations[line] = np.empty(shape, dtype)
            return self._allocations[line]

    monkeypatch.setattr(FakeCUDAShared, "array", array)


@pytest.fixture(autouse=True)
def few_threads(monkeypatch):
    """Blocks of few threads, and few blocks, so that each has to do several tiles."""
    from ravine import _kernels
    from ravine._outofcore import _device_reductions, _launch

    monkeypatch.setattr(_kernels.cuda, "THREADS", 4)
    monkeypatch.setattr(_launch, "MOST_BLOCKS", 2)
    monkeypatch.setattr(_device_reductions, "MOST_BLOCKS", 8)
    monkeypatch.setattr(_device_reductions, "LINES", 2)
    monkeypatch.setattr(_device_reductions, "UPPER_BITS", 6)
