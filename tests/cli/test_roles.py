"""`ravine cluster` on tables as they come: every column gets a role, and nothing stops at an odd one."""

import json
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.commands import ravine_in_this_process
from tests.report.test_page import embedded

from ravine import NCutH, load
from ravine.cli._screen import Meter, Screen
from ravine.datasets import make_messy_table
from ravine.evaluation import stability


@pytest.fixture(scope="module")
def shop():
    return make_messy_table(1200, n_segments=3, separation=6.0, random_state=5)


@pytest.fixture(scope="module")
def file(shop, tmp_path_factory):
    path = tmp_path_factory.mktemp("shop") / "shop.csv"
    shop.to_csv(path)
    return path


@pytest.fixture(scope="module")
def fitted(file):
    """The labels, the model and the page of the default command."""
    paths = {kind: file.parent / f"first.{kind}" for kind in ("csv", "ravine", "html")}
    options = ("--out", paths["csv"], "--model", paths["ravine"], "--report", paths["html"])
    assert ravine_in_this_process("cluster", file, *options, "-q") == 0
    return paths


def test_segments_of_a_messy_table_are_found(shop, fitted):
    labels = pd.read_csv(fitted["csv"])
    assert adjusted_rand_score(shop.segment, labels["cluster"]) > 0.9
    assert labels.columns.tolist() == ["row", "customer_id", "cluster"]
    assert labels["customer_id"].tolist() == [str(name).strip() for name in shop.columns["customer_id"]]


def test_first_line_is_the_finding_and_each_column_has_a_role(file, shop, ravine_here):
    done = ravine_here("cluster", file)
    assert done.out.startswith(f"3 clusters in 1,200 rows × {len(shop.columns)} columns by imdh")
    assert done.out.splitlines()[1] == "Held-out rows confirm all 2 splits."
    table = done.out.splitlines()
    assert all(any(line.startswith(f"{name} ") for line in table) for name in shop.columns)
    assert "against" in done.out  # sentences in the units of the table


def test_json_has_roles_and_sentences(file, shop, ravine_here):
    found = json.loads(ravine_here("cluster", file, "--json").out)
    assert [column["name"] for column in found["columns"]] == list(shop.columns)
    assert found["confirmed"] == 2
    assert all("against" in cluster["sentence"] for cluster in found["clusters"])


def test_a_saved_model_predicts_raw_rows_with_their_identifiers(file, fitted, tmp_path, ravine_here):
    out = tmp_path / "again.csv"
    assert ravine_here("predict", fitted["ravine"], file, "--out", out).returncode == 0
    assert out.read_bytes() == fitted["csv"].read_bytes()
    pipe = load(fitted["ravine"])
    np.testing.assert_array_equal(pipe.predict(pd.read_csv(file, dtype=str)), pd.read_csv(out)["cluster"])
    page = tmp_path / "page.html"
    assert ravine_here("report", fitted["ravine"], file, "--out", page).returncode == 0
    assert page.stat().st_size > 100_000
    fewer = tmp_path / "fewer.csv"
    pd.read_csv(file, dtype=str).drop(columns=["customer_id", "comment"]).to_csv(fewer, index=False)
    assert ravine_here("report", fitted["ravine"], fewer, "--out", page).returncode == 0


def test_roles_can_be_overruled(file, ravine_here):
    found = json.loads(
        ravine_here("cluster", file, "--role", "comment=ignore,city=text", "--ignore", "tier", "--json").out
    )
    roles = {column["name"]: column["role"] for column in found["columns"]}
    assert (roles["comment"], roles["city"]) == ("ignore", "text")
    only = json.loads(ravine_here("cluster", file, "--columns", "satisfaction,last_order", "--json").out)
    used = [column["name"] for column in only["columns"] if column["role"] in ("number", "date")]
    assert set(used) <= {"satisfaction", "last_order"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--role", "nobody=number"], "there is no column 'nobody'; choose from"),
        (["--role", "city"], "write it as column=role, for instance postcode=category"),
        (["--role", "city=colour"], "the role of 'city' must be one of"),
        (["--role", "city=text", "--scale"], "--role does not go with --encode, --missing or --scale"),
        (["--keep", "nobody"], "there is no column 'nobody'"),
        (["--method", "svc", "--confirmed-only"], "choose from imdh, ncuth, mdh, pddp, spectral"),
        (["--confirmed-only", "--clusters", 3], "leave out --clusters"),
    ],
)
def test_bad_options_are_told_in_a_line(file, options, message, ravine_here):
    done = ravine_here("cluster", file, *options)
    assert done.returncode in (1, 2)
    assert done.err.count("\n") == 1
    assert message in done.err


def test_chosen_columns_are_written_beside_the_labels(file, tmp_path, ravine_here):
    out = tmp_path / "labels.parquet"
    assert ravine_here("cluster", file, "--out", out, "--keep", "city,comment").returncode == 0
    assert pd.read_parquet(out).columns.tolist() == ["row", "city", "comment", "cluster"]


def test_an_odd_cell_far_down_does_not_stop_the_command(tmp_path, ravine_here):
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(0, 1, 60_000), rng.normal(9, 1, 60_000)])
    rng.shuffle(values)
    file = tmp_path / "long.csv"
    lines = [f"{value:.6f},{noise:.6f}" for value, noise in zip(values, rng.normal(size=len(values)), strict=True)]
    lines[110_000] = "oops,0.5"
    file.write_text("a,b\n" + "\n".join(lines) + "\n")
    assert ravine_here("cluster", file, "--clusters", 2, "--out", tmp_path / "labels.csv").returncode == 0
    labels = pd.read_csv(tmp_path / "labels.csv")["cluster"]
    of_high = labels[int(values.argmax())]
    is_right = (labels == of_high) == (values > 4.5)
    assert np.delete(is_right, 110_000).mean() > 0.999


def test_nothing_confirmed_is_the_first_line_and_the_exit_code(tmp_path, ravine_here):
    noise = make_messy_table(1000, n_segments=1, random_state=3)
    noise.to_csv(tmp_path / "noise.csv")
    done = ravine_here("cluster", tmp_path / "noise.csv", "--confirmed-only")
    assert done.returncode == 3
    assert done.out.startswith(
        "No clusters were found. Held-out rows show no valley between two groups.\n1 cluster in "
    )


@pytest.mark.parametrize("method", ["ncuth", "mdh", "pddp", "spectral", "norms", "svc"])
def test_every_method_takes_a_messy_table_and_saves_a_model(shop, method, tmp_path, ravine_here):
    frame = pd.DataFrame(shop.columns)[:200]
    frame.to_csv(tmp_path / "t.csv", index=False)
    paths = [tmp_path / name for name in ("labels.csv", "m.ravine", "page.html")]
    options = ("--method", method, "--out", paths[0], "--model", paths[1], "--report", paths[2], "-q")
    done = ravine_here("cluster", tmp_path / "t.csv", *options)
    assert (done.returncode, done.out) == (0, "")
    assert ravine_here("predict", paths[1], tmp_path / "t.csv", "--out", tmp_path / "p.csv").returncode == 0
    assert (tmp_path / "p.csv").read_bytes() == paths[0].read_bytes()


def test_a_row_is_explained_by_its_identifier_or_its_number(file, shop, fitted, tmp_path, ravine_here):
    name = shop.columns["customer_id"][17].strip()
    by_name, by_number = (
        json.loads(ravine_here("explain", fitted["ravine"], file, "--row", row, "--json").out) for row in (name, 17)
    )
    assert (by_name["row"], by_name["steps"]) == (17, by_number["steps"])
    assert by_name["cluster"] == pd.read_csv(fitted["csv"])["cluster"][17]
    assert by_name["customer_id"] == name
    cells = {column: shop.columns[column][17].strip() for column in by_name["steps"][0]["columns"]}
    assert all(
        cells[column] in (str(value), "") or float(cells[column]) == value
        for column, value in by_name["steps"][0]["columns"].items()
        if isinstance(value, str)
    )
    shown = ravine_here("explain", fitted["ravine"], file, "--row", name)
    assert shown.out.startswith(f"row 17: cluster {by_name['cluster']}")
    missing = ravine_here("explain", fitted["ravine"], file, "--row", "nobody")
    assert missing.returncode == 2
    assert "there is no such row; give a value of 'customer_id', or a number from 0 to 1199" in missing.err


def test_a_row_of_a_plain_table_is_explained(tmp_path, ravine_here):
    pd.DataFrame({"a": [0.0, 1.0, 9.0, 10.0] * 20, "b": np.arange(80.0) % 7}).to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.ravine"
    ravine_here("cluster", tmp_path / "t.csv", "--scale", "--clusters", 2, "--method", "mdh", "--model", model)
    found = json.loads(ravine_here("explain", model, tmp_path / "t.csv", "--row", 2, "--json").out)
    assert found["steps"][0]["columns"]["a"] == 9.0


@pytest.mark.parametrize("options", [(), ("--scale", "--missing", "mean", "--method", "mdh")], ids=["roles", "by hand"])
def test_stability_says_which_clusters_are_found_again(tmp_path, options, ravine_here):
    rng = np.random.default_rng(0)
    a = np.repeat([0.0, 20.0, 40.0], 100) + rng.normal(size=300)
    pd.DataFrame({"a": a, "b": rng.normal(size=300)}).to_csv(tmp_path / "t.csv", index=False)
    found = json.loads(ravine_here("cluster", tmp_path / "t.csv", "--stability", 3, "--json", *options).out)
    assert found["stability"]["n_clusters"] == {"3": 3}
    assert [one["verdict"] for one in found["stability"]["clusters"]] == ["stable"] * 3
    page = tmp_path / "page.html"
    done = ravine_here("cluster", tmp_path / "t.csv", "--stability", 3, "--report", page, *options)
    assert "3 clusters in 3 of 3 resamples" in done.out
    shown = embedded(page.read_text(encoding="utf-8"))["stability"]
    assert shown["sentence"] == "All 3 refits on resamples found 3 clusters. All 3 clusters are stable."
    assert [one["found"] for one in shown["clusters"]] == [3, 3, 3]


@pytest.mark.parametrize("option", ["--scale", "--no-scale"])
def test_refits_prepare_the_rows_as_the_fit_does(tmp_path, option, ravine_here):
    """The first column has the clusters, and the second one most of the variance: it decides if nothing is scaled."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": np.repeat([0.0, 1.0], 150) + 0.05 * rng.normal(size=300), "b": 90 * rng.normal(size=300)}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ("--method", "ncuth", "--clusters", 2, option, "--stability", 4)
    found = json.loads(ravine_here("cluster", tmp_path / "t.csv", *options, "--json").out)
    steps = [StandardScaler(), NCutH(2, random_state=0)][option == "--no-scale" :]
    expected = stability(make_pipeline(*steps).fit(frame), frame, n_resamples=4)
    shares = [one["found_again"] for one in found["stability"]["clusters"]]
    assert [one["rows"] for one in found["clusters"]] == expected.sizes.tolist()
    assert sorted(shares) == sorted(expected.share_found_again.tolist())
    assert (min(shares) == 1) == (option == "--scale")


def test_refits_are_counted_in_a_progress_bar(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    pd.DataFrame({"a": np.repeat([0.0, 9.0], 50) + rng.normal(size=100)}).to_csv(tmp_path / "t.csv", index=False)
    shown = []

    class Counted(Meter):
        def step(self, n):
            shown[-1][-1] += n

    @contextmanager
    def progress(self, what, total, unit="rows"):
        shown.append([what, total, unit, 0])
        yield Counted()

    monkeypatch.setattr(Screen, "progress", progress)
    assert ravine_in_this_process("cluster", tmp_path / "t.csv", "--stability", 4, "-q") == 0
    assert ["fitting again", 4, "samples", 4] in shown
