"""Runs what the README and the pages of the documentation show: Python, with its output, and commands.

Code of a page shares its names, from top to bottom, and stands in a folder of its own with some files to work on.
"""

import os
import re
import shlex
import subprocess
import sysconfig
import tempfile
from contextlib import ExitStack, chdir
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from importlib.util import find_spec

from sybil import Example, Sybil
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser, SkipParser

collect_ignore = [] if find_spec("bertopic") else ["src/ravine/integrations/bertopic.py"]  # its doctests

SET_UP = ("make ", "pip ", "git ", "cd ", "python -m venv ", "source ", "open ")  # done before any test is run


def write_tables():
    """Write the tables that pages read: four clouds of rows in files of several kinds."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    centers = np.array([[0, 0, 0], [12, 0, 3], [0, 14, -3], [16, 17, 0]])
    rows = centers[rng.integers(4, size=1_500)] + rng.normal(size=(1_500, 3))
    table = pd.DataFrame(rows, columns=["width", "height", "depth"])
    table.to_csv("data.csv", index=False)
    table.to_csv("sensors.csv", index=False)
    table[:50].to_csv("new.csv", index=False)
    table.to_parquet("data.parquet")
    table[:300].to_excel("book.xlsx", sheet_name="Measurements", index=False)
    os.mkdir("folder")
    for part in range(3):
        table[part::3].to_parquet(f"folder/{part}.parquet")


def is_installed(package):
    """Return whether code of a page that needs a package can run: `% skip: start if(not is_installed("river"))`."""
    return find_spec(package) is not None


def enter_folder(namespace):
    """Go to the page's own folder."""
    import matplotlib

    matplotlib.use("Agg")
    namespace["is_installed"] = is_installed
    namespace["_page"] = page = ExitStack()
    page.enter_context(chdir(page.enter_context(tempfile.TemporaryDirectory())))
    write_tables()


def leave_folder(namespace):
    """Leave it, and close what was drawn."""
    import matplotlib.pyplot as plt

    plt.close("all")
    namespace["_page"].close()


def run_commands(example: Example):
    """Run every line that begins with a prompt; a file that is followed is read to its end."""
    from tests.commands import ravine_in_this_process

    text = example.parsed.replace("\\\n", " ")
    for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
        if command.startswith(SET_UP):
            continue
        command = command.replace("tail -f ", "cat ").replace(" --follow", "")
        program, *args = shlex.split(command, comments=True)
        if program == "ravine" and "|" not in args:
            assert ravine_in_this_process(*args) == 0, command
        else:
            run_in_shell(command)


def run_in_shell(command):
    """Run a line of the shell."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    line = ["bash", "-o", "pipefail", "-c", command]
    subprocess.run(line, env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL, timeout=240, check=True)


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=ELLIPSIS | NORMALIZE_WHITESPACE),
        CodeBlockParser(language="console", evaluator=run_commands),
        SkipParser(),
    ],
    patterns=["README.md", "docs/*.md", "docs/*/*.md"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()
