import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("pyarrow")

from benchmarks import stored
from benchmarks.clients import bertopic


def test_enlarged_rows_keep_the_means_and_covariances_of_the_classes():
    X, y = bertopic.made()
    first = y < 2
    X, y = X[first], y[first]
    more, labels = bertopic.enlarged(X, y, 40_000)
    assert more.dtype == np.float32
    assert len(np.unique(more, axis=0)) == len(more) == len(labels)
    for label in (0, 1):
        old, new = X[y == label], more[labels == label]
        assert_allclose(new.mean(axis=0), old.mean(axis=0), atol=0.01)
        assert_allclose(np.cov(new.T)[:5, :5], np.cov(old.T)[:5, :5], atol=5e-4)


def test_rows_without_classes_are_enlarged_too():
    X, _ = bertopic.made()
    more, labels = bertopic.enlarged(X[:500, :20], None, 1_000)
    assert more.shape == (1_000, 20)
    assert labels is None


def test_embeddings_are_read_with_and_without_labels(tmp_path):
    X = np.arange(12).reshape(4, 3).astype(np.float16)
    np.save(tmp_path / "rows.npy", X)
    table = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(label=[0, 0, 1, 1], text="word")
    table.astype(dict.fromkeys(("x0", "x1", "x2"), "float32")).to_parquet(tmp_path / "rows.parquet")
    for name in ("rows.npy", "rows.parquet"):
        rows, labels = bertopic.read(tmp_path / name)
        assert rows.dtype == np.float32
        assert rows.tolist() == X.tolist()
    assert labels.tolist() == [0, 0, 1, 1]


def test_page_compares_the_steps_that_were_run(tmp_path):
    steps = {"UMAP": 60.0, "HDBSCAN": 10.0, "IncrementalMDH": 2.0}
    lines = [{"data": "enlarged", "rows": 100_000, "step": step, "cpu_s": cpu_s} for step, cpu_s in steps.items()]
    lines.append({"data": "enlarged", "rows": 1_000_000, "step": "IncrementalMDH", "cpu_s": 9.0})
    known = dict.fromkeys(("seconds", "mib", "clusters", "outliers", "changed", "nmi", "ari"), np.nan)
    stem = tmp_path / bertopic.NAME
    pd.DataFrame([{"columns": "all columns", **known, **line} for line in lines]).to_csv(f"{stem}.csv", index=False)
    stored.record(stem, stored.run_details([], bertopic.PACKAGES))
    text = bertopic.page(stem)
    assert "5.0 of `IncrementalMDH`." in text
    assert "35.0 of `IncrementalMDH`." in text
    assert "## 1,000,000 rows, enlarged\n\nUMAP, and what needs its columns, was not run on so many rows." in text
    assert bertopic.wanted(1_000_000, 100_000) == ["IncrementalMDH", "IncrementalMDH(k)"]
    assert bertopic.wanted(100_000, 100_000) == list(bertopic.STEPS)


def test_online_rows_of_clear_classes_keep_their_cluster():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 3
    X = (10 * np.eye(3, 8)[y] + rng.normal(size=(600, 8))).astype(np.float32)
    often, seldom, _ = found = [bertopic.online(name, X, y) for name in bertopic.ONLINE]
    assert often["trees"] > seldom["trees"] > 1
    for row in found:
        assert row["nmi"] > 0.99
        assert row["kept, new tree"] > 0.99
    assert seldom["kept, same tree"] == 1
    assert often["kept, same tree"] is None or often["kept, same tree"] == 1
