import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ravine


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_loads_neither_numba_nor_scikit_learn():
    heavy = run(
        "import ravine, sys; print([m for m in ('numba', 'sklearn', 'matplotlib', 'jinja2') if m in sys.modules])"
    )
    assert heavy.strip() == "[]"


def test_template_engine_waits_for_the_first_page():
    assert run("import ravine.report, sys; print('jinja2' in sys.modules)").strip() == "False"


def test_estimator_is_made_without_numba():
    assert run("import ravine, sys; ravine.PDDP(); print('numba' in sys.modules)").strip() == "False"


def test_fit_on_a_host_imports_nothing_for_devices():
    code = """
import sys
import numpy as np
from ravine import IncrementalMDH, NCutH
X = np.random.default_rng(0).normal(size=(60, 2))
for model in (NCutH(2), IncrementalMDH(2)):
    model.fit(X).predict(X)
print([name for name in ("numba.cuda", "ravine._kernels.cuda", "torch", "cupy") if name in sys.modules])
"""
    assert run(code).strip() == "[]"


def test_public_names_are_there():
    for name in ravine.__all__:
        assert getattr(ravine, name) is not None
    assert set(dir(ravine)) == set(ravine.__all__)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'KMeans'"):
        _ = ravine.KMeans


def test_version_is_the_same_everywhere():
    root = Path(__file__).parents[1]
    stated = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    cited = re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited
    assert ravine.__version__ == stated == cited[1]


def test_private_names_of_scikit_learn_are_imported_in_one_module():
    found = []
    for path in (Path(ravine.__file__).parent).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text if "sklearn" in text else "")):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                found += [path.name for name in names if name.startswith("_")]
    assert set(found) == {"_sklearn.py"}
