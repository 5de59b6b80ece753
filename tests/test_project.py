"""The files around the code agree with each other."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lines_of(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def test_every_slow_test_is_there():
    for line in lines_of(ROOT / "tests" / "slow.txt"):
        file, _, test = line.partition("::")
        source = (ROOT / file).read_text(encoding="utf-8")
        assert not test or re.search(rf"^def {test.partition('[')[0]}\(", source, re.MULTILINE), line
