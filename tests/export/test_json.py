import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from tests.estimators import TREES, each, fitted

from ravine import PDDP, NCutH, SpectralPursuit
from ravine.datasets import make_blobs
from ravine.export import to_json
from ravine.prepare import TableEncoder

SCHEMA = json.loads(Path(__file__).parents[2].joinpath("docs/_static/export.schema.json").read_text(encoding="utf-8"))
VALID = jsonschema.Draft202012Validator(SCHEMA)

pytestmark = pytest.mark.filterwarnings("ignore:held-out rows confirmed no single cut")


def document_of(model):
    return json.loads(to_json(model))


def test_schema_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@each(TREES)
def test_document_of_every_estimator_fits_the_schema(model):
    VALID.validate(document_of(fitted(model, load_wine().data[:, :5])))


def cases():
    X = load_iris().data.copy()
    soft = NCutH(n_clusters=3, assign_labels="mixture", outliers="label", min_cluster_size=5)
    yield soft.fit(X)
    few, _ = make_blobs(60, n_features=30, centers=3, cluster_std=4.0, random_state=0)
    yield PDDP(n_clusters=3, criterion="mean", assign_labels="mixture", outliers="label").fit(few)
    yield SpectralPursuit(n_clusters=3, n_microclusters=20).fit(X)
    X[::9, 1] = np.nan
    parts = [("a", make_pipeline(SimpleImputer(), PCA(2)), [0, 1]), ("b", MinMaxScaler(clip=True), [2, 3])]
    yield make_pipeline(ColumnTransformer(parts), StandardScaler(), PDDP(n_clusters=2)).fit(X)
    table = pd.DataFrame({"size": np.exp(X[:, 2]), "word": np.where(X[:, 2] > 3, "Big", "small"), "age": X[:, 0]})
    table.loc[::7, "word"] = None
    yield make_pipeline(TableEncoder(category_encoding="indicators"), PDDP(n_clusters=2)).fit(table)


def test_document_of_every_kind_of_step_and_mixture_fits_the_schema():
    for model in cases():
        VALID.validate(document_of(model))


@pytest.mark.parametrize(
    "change",
    [{"format_version": 2}, {"nodes": []}, {"nodes": [{"label": -1, "count": 1.0}]}, {"steps": [{"do": "run"}]}],
    ids=str,
)
def test_schema_refuses_what_is_no_document(change):
    document = document_of(PDDP(n_clusters=2).fit(load_iris().data))
    with pytest.raises(jsonschema.ValidationError):
        VALID.validate({**document, **change})


def test_numbers_have_all_their_digits():
    model = NCutH(n_clusters=3).fit(load_iris().data)
    document, tree = document_of(model), model.tree_
    assert [node.get("offset", 0.0) for node in document["nodes"]] == tree.offset.tolist()
    assert [node["normal"] for node in document["nodes"] if "normal" in node] == tree.normal[tree.cuts].tolist()
    assert [one["mean"] for one in document["mixture"]["components"]] == tree.mixture.mean.tolist()


def test_names_of_columns_are_those_of_the_fit():
    data = load_iris(as_frame=True).data.rename(columns={"sepal length (cm)": 'größe "1"\n'})
    document = document_of(PDDP(n_clusters=2).fit(data))
    assert [column["name"] for column in document["columns"]] == list(data.columns)


def test_the_same_model_gives_the_same_text():
    X = load_iris().data
    assert to_json(NCutH(n_clusters=3).fit(X)) == to_json(NCutH(n_clusters=3).fit(X))
    assert "\n" not in to_json(PDDP(n_clusters=2).fit(X))
    assert to_json(PDDP(n_clusters=2).fit(X), indent=1).count("\n") > 10
