import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

ROOT = Path(__file__).parents[1]


def run_python_of(page):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for code in blocks:
        exec(compile(code, page.name, "exec"), {})


def test_python_in_the_readme_runs(capsys):
    run_python_of(ROOT / "README.md")
    assert "HyperplaneTree: 15 clusters" in capsys.readouterr().out


def test_python_on_the_page_about_streams_finds_the_drift(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_python_of(ROOT / "docs" / "streams.md")
    (told,) = capsys.readouterr().out.splitlines()
    assert 6_000 < int(told.split()[0]) < 7_000
    assert (tmp_path / "drift.png").stat().st_size > 10_000


def test_python_on_the_page_about_large_data_runs(capsys):
    run_python_of(ROOT / "docs" / "large.md")
    out = capsys.readouterr().out
    assert "HyperplaneTree: 4 clusters" in out
    assert "\n4 [" in out
    assert "{'north': " in out


def test_links_of_the_documentation_lead_somewhere():
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
