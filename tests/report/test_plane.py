import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ravine import SumOfNorms
from ravine.datasets import make_blobs
from ravine.report._groups import Groups
from ravine.report._plane import Plane, model_names, seen_rows


@pytest.fixture(scope="module")
def rows():
    return make_blobs(60, n_features=4, centers=2, random_state=0)[0] * [1, 10, 100, 1000]


def plane_of(model, Z, names):
    return Plane.of(Groups.of(model), Z, np.ones(len(Z)), names)


def test_rows_on_the_plane_are_lifted_to_themselves(rows):
    model = SumOfNorms(lam=1.0).fit(rows)
    plane = plane_of(model, rows, list("abcd"))
    on_plane = plane.lift(plane.project(rows), rows[0])
    assert plane.project(on_plane) == pytest.approx(plane.project(rows))
    assert plane.lift(plane.project(rows[:1]), rows[0]) == pytest.approx(rows[:1])


def test_share_is_the_variance_along_the_directions(rows):
    plane = plane_of(SumOfNorms(lam=1.0).fit(rows), rows, list("abcd"))
    assert plane.share == pytest.approx(PCA(2).fit(rows).explained_variance_ratio_.sum())
    assert plane.axes[0].startswith("direction 1, mainly d")


def test_a_scaler_before_two_columns_is_undone(rows):
    X = rows[:, :2]
    pipe = make_pipeline(StandardScaler(), SumOfNorms(lam=1.0)).fit(X)
    Z = pipe[0].transform(X)
    plane = plane_of(pipe, Z, ["a", "b"])
    assert plane.project(Z) == pytest.approx(X)
    assert plane.lift(X, Z[0]) == pytest.approx(Z)
    assert plane.radius(2.0) == pytest.approx(2 * pipe[0].scale_)


def test_a_projection_to_two_columns_is_drawn_as_it_is(rows):
    pipe = make_pipeline(PCA(2), SumOfNorms(lam=1.0)).fit(rows)
    Z = pipe[0].transform(rows)
    plane = plane_of(pipe, Z, list("abcd"))
    assert plane.axes == ["pca0", "pca1"]
    assert plane.project(Z) == pytest.approx(Z)
    assert seen_rows(Groups.of(pipe), rows) == pytest.approx(Z)
    assert model_names(Groups.of(pipe), list("abcd")) == ["pca0", "pca1"]


def test_equal_rows_have_no_plane():
    X = np.ones((5, 3))
    assert plane_of(SumOfNorms(lam=1.0).fit(X), X, list("abc")) is None
