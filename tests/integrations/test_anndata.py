"""Results in an AnnData: as scanpy has them, and as a file gives them back."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.cluster import DBSCAN
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from ravine import MDH, PDDP, IncrementalMDH, NCutH, SpectralPursuit, StreamClusterer, SumOfNorms, __version__
from ravine.datasets import make_blobs
from ravine.integrations.anndata import cluster, tree_of

pd = pytest.importorskip("pandas")
with warnings.catch_warnings():  # of packages below it
    warnings.simplefilter("ignore")
    anndata = pytest.importorskip("anndata")

CENTERS = [[0, 0, 0], [12, 0, 0], [0, 12, 5], [30, 30, 0], [60, 0, 0]]
ROWS = make_blobs(500, centers=CENTERS, random_state=0)[0]
GENES = np.maximum(np.hstack([ROWS, ROWS[:, :1]]), 0)

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:anndata.*"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:anndata.*"),
    pytest.mark.filterwarnings("ignore:.*[zZ]arr.*"),
]


def plain_names(kind, n):
    """Names as objects of Python: the last releases of anndata that allow pandas 3 cannot write its strings."""
    return pd.DataFrame(index=pd.Index([f"{kind}{i}" for i in range(n)], dtype=object))


def cells(X=GENES, **obsm):
    obs, var = plain_names("cell", X.shape[0]), plain_names("gene", X.shape[1])
    return anndata.AnnData(X, obs=obs, var=var, obsm={"X_pca": ROWS, **obsm})


def labels_in(adata, key="ravine"):
    return adata.obs[key].astype(str).to_numpy()


def test_labels_are_a_categorical_of_strings_in_natural_order():
    adata = cells()
    assert cluster(adata, PDDP(12, criterion="mean")) is None
    found = adata.obs["ravine"]
    assert found.cat.categories.tolist() == [str(i) for i in range(12)]
    assert_array_equal(labels_in(adata), PDDP(12, criterion="mean").fit(ROWS).labels_.astype(str))
    assert found.index.tolist() == adata.obs_names.tolist()


def test_default_is_incremental_mdh_without_scaling():
    adata = cells()
    cluster(adata)
    expected = IncrementalMDH(standardize=False).fit(ROWS)
    assert_array_equal(labels_in(adata), expected.labels_.astype(str))
    stored = adata.uns["ravine"]
    params = stored["params"]
    assert (params["model"], params["use_rep"], params["ravine_version"]) == ("IncrementalMDH", "X_pca", __version__)
    assert params["model_params"]["standardize"] is False
    assert params["model_params"]["n_clusters"] == "None"
    assert (stored["n_clusters"], stored["selection"]) == (5, "evidence")
    assert stored["confirmed"] == expected.confirmed_
    assert_array_equal(stored["p_values"], expected.p_values_)


def test_copy_leaves_the_original_unchanged():
    adata = cells()
    copied = cluster(adata, NCutH(2), key_added="cut", copy=True)
    assert "cut" in copied.obs
    assert "cut" not in adata.obs
    assert "cut" not in adata.uns


def test_model_itself_is_not_fitted():
    model = PDDP(3)
    cluster(cells(), model)
    assert not hasattr(model, "tree_")


MODELS = [
    IncrementalMDH(standardize=False),
    NCutH(3, outliers="label"),
    MDH(3),
    PDDP(),
    SpectralPursuit(3, n_microclusters=20),
    StreamClusterer(),
]


@pytest.mark.filterwarnings("ignore::UserWarning:ravine.*")
@pytest.mark.parametrize("suffix", ["h5ad", "zarr"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_results_are_written_and_read_again(model, suffix, tmp_path):
    adata, path = cells(), tmp_path / f"cells.{suffix}"
    cluster(adata, model)
    getattr(adata, f"write_{suffix}")(path)
    same = getattr(anndata, f"read_{suffix}")(path)
    assert tree_of(same) == tree_of(adata)
    assert_array_equal(labels_in(same), labels_in(adata))
    assert same.obs["ravine"].cat.categories.tolist() == adata.obs["ravine"].cat.categories.tolist()
    expected = np.char.replace(tree_of(same).predict(ROWS).astype(str), "-1", "outlier")
    assert_array_equal(labels_in(adata), expected)
    assert dict(same.uns["ravine"]["params"]["model_params"]) == adata.uns["ravine"]["params"]["model_params"]
    for name in ("n_clusters", "selection", "confirmed"):
        assert same.uns["ravine"].get(name) == adata.uns["ravine"].get(name)


def test_tree_predicts_other_cells():
    adata = cells()
    cluster(adata, NCutH(5))
    other = make_blobs(100, centers=CENTERS, random_state=1)[0]
    assert_array_equal(tree_of(adata).predict(other), NCutH(5).fit(ROWS).predict(other))


def test_outliers_have_a_category_of_their_own():
    far = ROWS.copy()
    far[:2] = [[30, 8, 40], [15, 40, -30]]
    adata, model = cells(X_pca=far), NCutH(5, outliers="label")
    cluster(adata, model)
    assert adata.obs["ravine"].cat.categories.tolist() == ["0", "1", "2", "3", "4", "outlier"]
    assert_array_equal(np.flatnonzero(labels_in(adata) == "outlier"), [0, 1])
    assert_array_equal(labels_in(adata)[2:], model.fit(far).labels_[2:].astype(str))
    assert adata.uns["ravine"]["n_clusters"] == 5


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_matrix_itself_is_clustered(form):
    adata = cells(form(GENES))
    cluster(adata, PDDP(5), use_rep="X")
    assert_array_equal(labels_in(adata), PDDP(5).fit(sparse.csr_array(GENES)).labels_.astype(str))
    assert tree_of(adata).n_features == 4


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_view_is_clustered(form):
    adata = cells(form(GENES))
    view = adata[100:400]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # anndata makes a copy of the view, and says so
        cluster(view, PDDP(5), use_rep="X")
    assert_array_equal(labels_in(view), PDDP(5).fit(sparse.csr_array(GENES[100:400])).labels_.astype(str))
    assert "ravine" not in adata.obs


@pytest.mark.parametrize("use_rep", ["X", "X_pca"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_cells_in_a_file_are_clustered(form, use_rep, tmp_path):
    adata, path = cells(form(GENES)), tmp_path / "cells.h5ad"
    adata.write_h5ad(path)
    backed = anndata.read_h5ad(path, backed="r")
    try:
        cluster(adata, PDDP(5), use_rep=use_rep)
        cluster(backed, PDDP(5), use_rep=use_rep)
        assert_array_equal(labels_in(backed), labels_in(adata))
    finally:
        backed.file.close()


def test_frames_and_dask_arrays_are_clustered():
    array = pytest.importorskip("dask.array")
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"], index=[f"cell{i}" for i in range(len(ROWS))])
    adata = cells(array.from_array(GENES, chunks=(200, 4)), X_frame=frame)
    cluster(adata, PDDP(5), use_rep="X_frame")
    assert_array_equal(labels_in(adata), PDDP(5).fit(frame).labels_.astype(str))
    cluster(adata, PDDP(5), use_rep="X")
    assert_array_equal(labels_in(adata), PDDP(5).fit(GENES).labels_.astype(str))


def test_pipelines_and_other_clusterers_are_accepted(tmp_path):
    adata = cells()
    scaled = make_pipeline(StandardScaler(), NCutH(3))
    cluster(adata, scaled, key_added="scaled")
    assert_array_equal(labels_in(adata, "scaled"), scaled.fit(ROWS)[-1].labels_.astype(str))
    assert_array_equal(tree_of(adata, "scaled").predict(ROWS).astype(str), labels_in(adata, "scaled"))
    cluster(adata, make_pipeline(QuantileTransformer(n_quantiles=20), PDDP(3)), key_added="ranks")
    cluster(adata, DBSCAN(eps=1.0), key_added="dbscan")
    cluster(adata, SumOfNorms(n_lambdas=5, n_clusters=5), key_added="convex")
    assert "outlier" in adata.obs["dbscan"].cat.categories
    assert adata.uns["dbscan"].keys() == {"params", "n_clusters"}
    with pytest.raises(KeyError, match="no tree under 'ranks': those with a tree are scaled"):
        tree_of(adata, "ranks")
    adata.write_h5ad(tmp_path / "cells.h5ad")


def test_missing_representation_is_named():
    adata = cells(X_umap=ROWS[:, :2])
    with pytest.raises(KeyError, match=r"no 'X_scvi': use_rep can be 'X_pca', 'X_umap', 'X'"):
        cluster(adata, use_rep="X_scvi")
    with pytest.raises(KeyError, match=r"no 'X_pca': use_rep can be 'X'; run scanpy.pp.pca\(adata\) first"):
        cluster(anndata.AnnData(GENES))
    with pytest.raises(ValueError, match="has no X: pass the name of a representation as use_rep, 'X_pca'"):
        cluster(anndata.AnnData(obsm={"X_pca": ROWS}), use_rep="X")


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match=r"adata is of type ndarray: pass an AnnData"):
        cluster(ROWS)
    with pytest.raises(TypeError, match="PCA has no labels_ after fit: pass a clusterer"):
        cluster(cells(), PCA(2))
    with pytest.raises(KeyError, match="no tree under 'leiden': no other key has one"):
        tree_of(cells(), "leiden")


def test_fit_says_which_function_takes_an_anndata():
    with pytest.raises(TypeError, match=r"ravine\.integrations\.anndata\.cluster\(X\)"):
        NCutH(2).fit(cells())
