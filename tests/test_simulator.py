"""Rows on a CUDA device, in Numba's simulator: its tests run in a process of their own, see tests/cuda/conftest.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CUDA = Path(__file__).with_name("cuda")


@pytest.mark.parametrize("name", sorted(path.name for path in CUDA.glob("test_*.py")))
def test_rows_on_a_simulated_device(name):
    options = [
        "-q",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=--strict-markers --import-mode=importlib",
    ]
    command = [sys.executable, "-m", "pytest", *options, str(CUDA / name)]
    variables = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(command, cwd=CUDA.parents[1], env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
    assert " passed" in done.stdout
