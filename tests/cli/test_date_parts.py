"""Parts of dates on the command line."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def file(tmp_path):
    """Two shifts of a machine, in the morning and in the evening."""
    random = np.random.default_rng(0)
    late = random.permutation(np.arange(400) % 2)
    minutes = random.integers(0, 300, 400) * 1440 + ((np.where(late, 20, 8) + random.normal(0, 1, 400)) * 60).astype(
        int
    )
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(minutes, "min")
    table = pd.DataFrame({"when": when, "load": random.normal(size=400) + 2 * late, "kind": late})
    table.to_csv(tmp_path / "machine.csv", index=False)
    return tmp_path / "machine.csv"


def test_parts_of_a_date_are_used_shown_and_saved(file, tmp_path, ravine_here):
    model, out, config, page = (tmp_path / name for name in ("m.ravine", "labels.csv", "ravine.toml", "page.html"))
    options = ("--role", "when=date:hour,weekday,load=number", "--label", "kind")
    done = ravine_here("cluster", file, *options, "--model", model, "--out", out, "--write-config", config, "--json")
    found = json.loads(done.out)
    assert found["columns"][0] | {"role": "date", "treatment": "hour, weekday"} == found["columns"][0]
    assert found["n_clusters"] == 2
    assert found["scores"]["ari"] > 0.8
    assert all("hour of when" in cluster["sentence"] for cluster in found["clusters"])
    assert 'when = "date:hour,weekday"' in config.read_text()
    again = tmp_path / "again.csv"
    assert ravine_here("predict", model, file, "--out", again).returncode == 0
    assert again.read_bytes() == out.read_bytes()
    repeated = ravine_here("cluster", file, "--config", config, "--label", "kind", "--out", again)
    assert repeated.returncode == 0
    assert again.read_bytes() == out.read_bytes()
    assert ravine_here("report", model, file, "--out", page).returncode == 0
    assert "hour of when" in page.read_text()
    steps = json.loads(ravine_here("explain", model, file, "--row", 5, "--json").out)["steps"]
    assert set(steps[0]["columns"]) <= {"when", "load"}


@pytest.mark.parametrize(
    ("role", "message"),
    [
        ("when=date:minute", "a date has no part 'minute': choose from days, hour, weekday, month"),
        ("load=number:hour", "only a date has: for instance 'date:hour,weekday'"),
        ("load=number,hour", "--role hour: write it as column=role"),
    ],
)
def test_bad_parts_are_told_in_a_line(file, role, message, ravine_here):
    done = ravine_here("cluster", file, "--role", role)
    assert done.returncode in (1, 2)
    assert done.err.count("\n") == 1
    assert message in done.err
