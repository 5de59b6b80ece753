"""One word for one thing: none of the words that the glossary has retired is in the code, the pages or the report."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

RETIRED = (
    r"told k",
    r"(has|have) no say",
    r"itself it stays",
    r"rows (at hand|in parts)",
    r"\b(un)?believed?\b",
    r"drift is told",
    r"cuts? that fell",
    r"carries (a|the|each) cut",
    r"\bPartedNode\b|\bInStep\b|\bGatherer\b|\bin_parts\b",
    r"\b(most_forgotten|min_rows|n_rows_seen_|evidence_)\b",
    r"normalis|standardis|neighbour|centred?\b|behaviour",
)


def texts():
    """The files that a user or a maintainer reads."""
    for folder, kinds in (("src", (".py", ".html", ".js", ".css")), ("docs", (".py", ".md")), ("examples", (".py",))):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in kinds and not {"vendor", "_build", "gallery", "generated"} & set(path.parts):
                yield path
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))


@pytest.mark.parametrize("word", RETIRED)
def test_retired_words_are_not_used(word):
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts()
        if path.name != "glossary.md"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(word, line)
    ]
    assert found == []
