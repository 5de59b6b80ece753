import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score
from tests.report.test_page import embedded

from ravine import NCutH, explore, load, save
from ravine.datasets import make_messy_table


@pytest.fixture(scope="module")
def shop():
    return make_messy_table(900, n_segments=3, separation=6.0, random_state=5)


@pytest.fixture(scope="module")
def found(shop):
    return explore(shop.to_pandas())


def test_segments_are_found_and_predicted(shop, found):
    assert adjusted_rand_score(shop.segment, found.labels) > 0.9
    assert_array_equal(found.pipeline.predict(shop.to_pandas()), found.labels)


def test_labels_have_their_identifiers_and_names(shop, found):
    frame = found.to_frame()
    assert frame["customer_id"].tolist() == [cell.strip() for cell in shop.columns["customer_id"]]
    assert_array_equal(frame["cluster"], found.labels)
    names = found.clusters.set_index("cluster")["name"]
    assert frame["name"].tolist() == names[found.labels].tolist()
    assert names.is_unique


def test_sizes_and_sentences_are_those_of_the_rows(shop, found):
    clusters = found.clusters
    assert clusters["rows"].tolist() == np.bincount(found.labels).tolist()
    assert clusters["share"].sum() == pytest.approx(1)
    assert all(sentence in str(found) for sentence in clusters["sentence"])
    assert str(found).startswith("3 clusters in 900 rows\nHeld-out rows confirm all 2 splits.\n")
    median = np.nanmedian(found.values["spend"][found.labels == 2])
    assert found.profiles.column("spend").quartiles[2, 1] == median


def test_columns_that_name_rows_or_copy_others_do_not_describe_clusters(found):
    roles = found.columns.set_index("name")["role"]
    left_out = roles.index[roles.isin(["identifier", "copy"])]
    assert len(left_out) > 1
    assert not set(left_out) & set(found.profiles.names)


def test_rules_hold_for_most_rows(found):
    assert found.rules.agreement > 0.8


def test_pipeline_is_saved_and_reported_on(shop, found, tmp_path):
    save(found.pipeline, tmp_path / "model.ravine")
    assert_array_equal(load(tmp_path / "model.ravine").predict(shop.to_pandas()), found.labels)
    page = found.write_report(tmp_path / "page.html", title="Shop").read_text(encoding="utf-8")
    assert "<title>Shop</title>" in page


def test_a_notebook_shows_the_report_in_a_frame_of_its_own(found):
    shown = found._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert shown.count("<") == 2


def test_model_and_roles_can_be_given(shop):
    model = NCutH(n_clusters=2)
    found = explore(shop.to_pandas(), model=model, roles={"spend": "ignore"})
    assert found.model.n_clusters_ == 2
    assert not hasattr(model, "tree_")
    assert found.columns.set_index("name").loc["spend", "role"] == "ignore"


def test_stability_is_that_of_the_whole_pipeline(found):
    stable = found.stability(2)
    assert len(stable.n_clusters) == 2
    assert stable.jaccard.shape == (2, 3)


def test_refits_are_in_the_text_and_in_the_report(shop, tmp_path):
    found = explore(shop.to_pandas(), stability=2)
    assert str(found.refits) in str(found)
    pages = [found.write_report(tmp_path / "page.html"), found.write_report(tmp_path / "none.html", stability=None)]
    about, none = (embedded(page.read_text(encoding="utf-8"))["stability"] for page in pages)
    assert about["n_refits"] == len(found.refits.n_clusters) == 2
    assert none is None
    assert "All 2 refits on resamples found" in found._repr_html_()


@pytest.mark.parametrize("make", [dict, pd.DataFrame], ids=["dict", "pandas"])
def test_any_kind_of_table(make):
    rng = np.random.default_rng(0)
    table = make({"a": np.r_[rng.normal(size=200), rng.normal(9, 1, 200)], "b": rng.normal(size=400)})
    assert np.bincount(explore(table).labels).tolist() == [200, 200]


def test_nothing_confirmed_is_read_first():
    assert str(explore(make_messy_table(600, n_segments=1, random_state=3).to_pandas())).startswith("No clusters")
