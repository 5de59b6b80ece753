"""Run the numerical tests as other processors would run them.

    python tools/other_cpus.py              # every processor that this one can stand in for
    python tools/other_cpus.py Prescott     # one of them
    python tools/other_cpus.py Haswell -- tests/cuts -x

OpenBLAS chooses its kernels, NumPy its vector instructions and Numba its code by the processor; environment variables
overrule all three. A processor whose kernels the plain run uses already is left out.
"""

import json
import os
import platform
import subprocess
import sys

NUMERICAL = [
    "tests/cuts",
    "tests/tree",
    "tests/kernels",
    "tests/cluster",
    "tests/semi_supervised",
    "tests/convex",
    "tests/svc",
    "tests/prepare/test_gaps.py",
    "tests/prepare/test_scale.py",
    "tests/cli/test_learning.py",
    "tests/test_matrix.py",
    "tests/test_rounding.py",
    "tests/test_ties.py",
    # Not what only prints, draws or refuses. Of scikit-learn's own checks, those that compare numbers; the plain run
    # has those of shapes, types and errors.
    "-k",
    "not (test_html or is_printed or progress_is_reported or callbacks_hear)"
    " and not (say_what_to_change or at_predict_is_refused)"
    " and (not test_scikit_learn_checks or equivalence or idempotent or invariance)",
]

QUICK = ["-m", "not slow"]
"""A processor that differs from this one only in its BLAS kernels runs the quick ones of these tests. One without
vector instructions differs in every sum, and runs all of them."""

LOOK = """
import json
import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_info
libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
print(json.dumps({
    "blas": sorted({library.get("architecture", "unknown") for library in libraries}),
    "simd": np.show_config("dicts")["SIMD Extensions"].get("found", []),
}))
"""


def look(**environment: str) -> dict[str, list[str]]:
    """What a process with these variables would compute with."""
    command = [sys.executable, "-c", LOOK]
    answer = subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def processors() -> dict[str, dict[str, str]]:
    """Environment variables for each processor that this one can stand in for."""
    here = look()
    without_vectors = {"NPY_DISABLE_CPU_FEATURES": " ".join(here["simd"]), "NUMBA_CPU_NAME": "generic"}
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return {"generic": without_vectors}
    found = {
        "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
        "Prescott": {"OPENBLAS_CORETYPE": "Prescott", **without_vectors},
    }
    if "X86_V4" in here["simd"]:
        found["SkylakeX"] = {"OPENBLAS_CORETYPE": "SkylakeX"}
    return {name: variables for name, variables in found.items() if look(**variables) != here}


def main() -> int:
    """Run the tests for each processor, and give the worst exit status."""
    asked, _, tests = " ".join(sys.argv[1:]).partition("--")
    found = processors()
    unknown = sorted(set(asked.split()) - set(found))
    if unknown:
        print(f"no {', '.join(unknown)} here: this processor runs as itself, and as {', '.join(found)}")
        return 2
    worst = 0
    for name in asked.split() or found:
        shown = " ".join(f"{key}={value!r}" for key, value in found[name].items())
        print(f"as {name}: {shown}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", os.environ.get("JOBS", "2"), "--dist", "loadfile"]
        variables = {**os.environ, "SCIPY_ARRAY_API": "1", **found[name]}
        usual = NUMERICAL if "NUMBA_CPU_NAME" in found[name] else [*NUMERICAL, *QUICK]
        worst = max(worst, subprocess.run([*command, *(tests.split() or usual)], env=variables).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
