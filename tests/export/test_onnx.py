import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.estimators import TREES, each, fitted
from tests.export.readers import by_onnx, outputs_of

from ravine import PDDP, NCutH
from ravine.datasets import make_blobs
from ravine.export import to_onnx

X = load_iris().data

pytestmark = pytest.mark.filterwarnings("ignore:held-out rows confirmed no single cut")


@each(TREES)
def test_graph_is_valid_and_has_plain_operators(model):
    graph = to_onnx(fitted(model, load_wine().data[:, :6]))
    onnx.checker.check_model(graph, full_check=True)
    assert [opset.domain for opset in graph.opset_import] == [""]
    assert {node.domain for node in graph.graph.node} == {""}


def share_a_covariance():
    few, _ = make_blobs(60, n_features=30, centers=3, cluster_std=4.0, random_state=0)
    return PDDP(n_clusters=3, criterion="mean", assign_labels="mixture").fit(few), few


def projected():
    model = make_pipeline(StandardScaler(), PCA(2), NCutH(n_clusters=3))
    return model.fit(X), X


def coarse():
    return NCutH(n_clusters=5, assign_labels="mixture").fit(X).cut_to(2), X


@pytest.mark.parametrize("case", [share_a_covariance, projected, coarse], ids=lambda case: case.__name__)
def test_memberships_are_those_of_the_model(case, rng):
    model, rows = case()
    rows = np.vstack([rows, 5 * rng.normal(size=rows.shape), rng.choice([-1e150, 1e150], size=rows.shape)])
    _, found = outputs_of(to_onnx(model), {"X": rows})
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-9)


def test_only_models_with_memberships_have_the_second_output():
    for model in (NCutH(n_clusters=2), PDDP(n_clusters=2)):
        names = [output.name for output in to_onnx(model.fit(X)).graph.output]
        assert (len(names) == 2) == hasattr(model, "predict_proba")
        assert names[0] == "label"


def test_float32_rows_give_float32_memberships():
    model = NCutH(n_clusters=3).fit(X)
    label, share = outputs_of(to_onnx(model, input_type="float32"), {"X": X.astype(np.float32)})
    assert (label == model.predict(X.astype(np.float32))).all()
    assert share.dtype == np.float32
    np.testing.assert_allclose(share, model.predict_proba(X.astype(np.float32)), atol=1e-6)


def test_row_that_predict_refuses_has_no_memberships():
    model = NCutH(n_clusters=3).fit(X)
    rows = X[:3].copy()
    rows[1, 0] = np.nan
    label, share = outputs_of(to_onnx(model), {"X": rows})
    assert label.tolist() == [model.labels_[0], -2, model.labels_[2]]
    assert np.isnan(share).all(axis=1).tolist() == [False, True, False]


def test_rows_do_not_depend_on_each_other():
    model = NCutH(n_clusters=3, assign_labels="mixture").fit(X)
    assert by_onnx(model, X[:1]).tolist() == model.labels_[:1].tolist()
    assert by_onnx(model, X[:0]).tolist() == []


def test_trees_of_many_leaves_and_of_one(rng):
    rows = rng.normal(size=(1500, 3))
    model = PDDP(n_clusters=300, criterion="mean").fit(rows)
    assert (by_onnx(model, rows) == model.labels_).all()
    assert (by_onnx(model.tree_.cut_to(1), rows) == 0).all()


def test_graph_names_its_columns_and_its_maker():
    graph = to_onnx(NCutH(n_clusters=2).fit(load_iris(as_frame=True).data))
    properties = {one.key: one.value for one in graph.metadata_props}
    assert json.loads(properties["columns"]) == load_iris().feature_names
    assert graph.producer_name == "ravine"


def test_the_same_model_gives_the_same_bytes():
    one, other = (to_onnx(NCutH(n_clusters=3).fit(X)).SerializeToString(deterministic=True) for _ in range(2))
    assert one == other


def test_bad_type_is_named():
    with pytest.raises(ValueError, match="input_type='int8'"):
        to_onnx(PDDP(n_clusters=2).fit(X), input_type="int8")


def test_without_onnx_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['onnx'] = None\nfrom ravine import PDDP\nfrom ravine.export import to_onnx\n"
        "try: to_onnx(PDDP(n_clusters=2, criterion='mean').fit([[0.0], [1.0], [9.0]]))\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "to_onnx needs onnx: pip install 'ravine[export]'"
