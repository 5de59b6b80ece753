"""`ravine cluster --method norms` and `--method svc` write reports with the path and the boundary, for any table."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from ravine import load
from ravine.datasets import make_messy_table, make_moons

TABLES = {
    "messy": lambda: pd.DataFrame(make_messy_table(400, random_state=0).columns),
    "moons": lambda: pd.DataFrame(make_moons(200, noise=0.05, random_state=0)[0] * [1000, 1], columns=["x", "y"]),
    "iris": lambda: load_iris(as_frame=True).data,
}


def data_of(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) < 2_000_000
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


@pytest.fixture(params=list(TABLES))
def table(request, tmp_path):
    path = tmp_path / f"{request.param}.csv"
    TABLES[request.param]().to_csv(path, index=False)
    return path


def test_norms_writes_the_path_and_so_does_its_saved_model(ravine_here, table, tmp_path):
    page, saved, again = tmp_path / "report.html", tmp_path / "model.ravine", tmp_path / "again.html"
    done = ravine_here("cluster", table, "--method", "norms", "--report", page, "--model", saved)
    assert done.returncode == 0, done.err
    data, model = data_of(page), load(saved)[-1]
    assert len(data["path"]["steps"]["lam"]) == len(model.path_.lambdas)
    assert [len(nodes) for nodes in data["levels"]["nodes"]][data["levels"]["chosen"]] == model.n_clusters_
    assert len(data["levels"]["part_of"]) == len(model.labels_)
    assert data["boundary"] is None
    assert ravine_here("report", saved, table, "--out", again).returncode == 0
    found = data_of(again)
    assert (found["path"], found["levels"]) == (data["path"], data["levels"])


def test_svc_writes_the_boundary(ravine_here, table, tmp_path):
    page, saved = tmp_path / "report.html", tmp_path / "model.ravine"
    done = ravine_here("cluster", table, "--method", "svc", "--report", page, "--model", saved)
    assert done.returncode == 0, done.err
    data, model = data_of(page), load(saved)[-1]
    assert data["boundary"]["n_vectors"] == len(model.support_vectors_)
    assert len(data["boundary"]["picture"]["axes"]) == 2
    n_slices = len(data["boundary"]["picture"]["grids"])
    assert n_slices == (1 if model.n_features_in_ == 2 else model.n_clusters_)
    assert 0 < data["boundary"]["n_outliers"] < 0.1 * data["n_rows"]
    assert np.isfinite(data["boundary"]["picture"]["height"]).all()
    assert data["path"] is None
