"""The tree of a pipeline in the columns of X parts the rows as the pipeline does."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from ravine import PDDP, NCutH, SpectralPursuit, SumOfNorms
from ravine.datasets import make_blobs
from ravine.tree import tree_of
from ravine.tree._pipeline import ShownPipeline, map_of, names_before_model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(n=150):
    centers = [[0, 0, 0, 0], [6, 0, 1, 3], [0, 5, 2, 1]]
    X = make_blobs(n, centers=centers, random_state=0)[0]
    return X * [1, 100, 0.01, 3] + [5, -2000, 3, 1]


X = rows()
FRAME = pd.DataFrame(X, columns=list("abcd"))
SPLIT = [("one", StandardScaler(), ["b", "a"]), ("two", MinMaxScaler(), ["d", "c"])]

INVERTIBLE = [
    ["passthrough"],
    [StandardScaler()],
    [StandardScaler(with_mean=False)],
    [RobustScaler(with_scaling=False), StandardScaler(with_std=False)],
    [RobustScaler()],
    [MinMaxScaler((-2, 7))],
    [MaxAbsScaler(), FunctionTransformer()],
    [SimpleImputer(), StandardScaler()],
    [StandardScaler(), PCA()],
    [StandardScaler(), PCA(whiten=True), StandardScaler()],
    [make_pipeline(StandardScaler(), RobustScaler())],
    [ColumnTransformer(SPLIT, transformer_weights={"two": 3.0})],
    [ColumnTransformer([("n", make_pipeline(StandardScaler(), PCA()), [3, 1])], remainder="passthrough")],
]
LOSSY = [
    [StandardScaler(), PCA(2)],
    [StandardScaler(), PCA(2, whiten=True), MinMaxScaler()],
    [StandardScaler(), TruncatedSVD(3, random_state=0)],
    [ColumnTransformer(SPLIT[:1])],
    [ColumnTransformer([*SPLIT, ("again", RobustScaler(), ["a"])])],
]
each = pytest.mark.parametrize("steps", INVERTIBLE + LOSSY, ids=str)


@each
@pytest.mark.parametrize("model", [PDDP(3), NCutH(3, assign_labels="tree")], ids=str)
def test_the_tree_sends_rows_to_the_leaves_of_the_pipeline(steps, model):
    pipe = make_pipeline(*steps, model).fit(FRAME)
    tree = tree_of(pipe)
    assert tree.n_features == 4
    assert_array_equal(tree.predict(X), pipe.predict(FRAME))
    assert_allclose(np.linalg.norm(tree.normal[tree.cuts], axis=1), 1)
    assert_array_equal(tree.count, pipe[-1].tree_.count)


@each
def test_the_map_gives_what_the_steps_give(steps):
    pipe = make_pipeline(*steps, PDDP(3)).fit(FRAME)
    steps_of = map_of(pipe)
    matrix = steps_of.matrix.toarray() if steps_of.is_sparse else steps_of.matrix
    Z = np.asarray(pipe[:-1].transform(FRAME))
    assert_allclose(X @ matrix.T + steps_of.shift, Z, rtol=1e-8, atol=1e-8)
    assert_allclose(steps_of.before(Z) @ matrix.T + steps_of.shift, Z, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("steps", INVERTIBLE, ids=str)
def test_means_and_mixtures_follow_where_nothing_is_lost(steps):
    pipe = make_pipeline(*steps, NCutH(3, assign_labels="mixture")).fit(FRAME)
    tree = tree_of(pipe)
    leaf = tree.label[tree.apply(X)]
    for k, node in enumerate(tree.leaves):
        assert_allclose(tree.mean[node], X[leaf == k].mean(axis=0), rtol=1e-6)
    assert_array_equal(tree.predict(X), pipe.predict(FRAME))
    assert_allclose(tree.membership(X), pipe.predict_proba(FRAME), atol=1e-9)
    steps_of = map_of(pipe)
    matrix = steps_of.matrix.toarray() if steps_of.is_sparse else steps_of.matrix
    in_units = np.linalg.slogdet(matrix).logabsdet  # the density of a row depends on the units of the columns
    assert_allclose(tree.log_density(X), pipe.score_samples(FRAME) + in_units, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("steps", LOSSY, ids=str)
def test_there_is_no_mixture_where_columns_or_directions_are_lost(steps):
    pipe = make_pipeline(*steps, NCutH(3, assign_labels="mixture")).fit(FRAME)
    assert tree_of(pipe).mixture is None


def test_bent_cuts_follow():
    pipe = make_pipeline(StandardScaler(), PCA(3), SpectralPursuit(3, margin=True, n_microclusters=40)).fit(FRAME)
    assert any(surface is not None for surface in pipe[-1].tree_.surface)
    assert_array_equal(tree_of(pipe).predict(X), pipe.predict(FRAME))


def test_tree_equals_the_one_unscaled_by_hand():
    pipe = make_pipeline(StandardScaler(), PDDP(3)).fit(X)
    by_hand = pipe[-1].tree_.unscaled(pipe[0].mean_, pipe[0].scale_)
    assert_allclose(tree_of(pipe).normal, by_hand.normal)
    assert_allclose(tree_of(pipe).offset, by_hand.offset)
    assert_allclose(tree_of(pipe).mean, by_hand.mean)


NOT_LINEAR = [
    ([FunctionTransformer(np.cbrt)], "step 'functiontransformer' (FunctionTransformer) is not a scaling"),
    ([StandardScaler(), Normalizer()], "step 'normalizer' (Normalizer)"),
    ([MinMaxScaler(clip=True)], "step 'minmaxscaler' (MinMaxScaler)"),
    ([SimpleImputer(add_indicator=True)], "step 'simpleimputer' (SimpleImputer)"),
    ([SimpleImputer(missing_values=-1.0)], "step 'simpleimputer' (SimpleImputer)"),
    ([ColumnTransformer([("codes", OneHotEncoder(), ["a"])])],
     "step 'columntransformer', part 'codes' (OneHotEncoder)"),
    ([ColumnTransformer(SPLIT, transformer_weights={"two": 0.0})], "a column has the weight 0"),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "message"), NOT_LINEAR, ids=[message for _, message in NOT_LINEAR])
def test_the_step_that_prevents_a_tree_is_named(steps, message):
    pipe = make_pipeline(*steps, PDDP(2, criterion="mean")).fit(FRAME.iloc[:40])
    with pytest.raises(ValueError, match="the cuts cannot be written in the columns of X") as caught:
        tree_of(pipe)
    assert str(caught.value).startswith(message)
    shown = ShownPipeline.of(pipe)
    assert shown.steps is None
    assert shown.tree is pipe[-1].tree_


def test_models_without_a_tree_and_unfitted_pipelines_are_refused():
    with pytest.raises(ValueError, match="SumOfNorms has no tree of cuts"):
        tree_of(make_pipeline(StandardScaler(), SumOfNorms(n_lambdas=5)).fit(X[:40]))
    with pytest.raises(NotFittedError):
        tree_of(make_pipeline(StandardScaler(), PDDP()))


def test_gaps_are_shown_as_the_pipeline_fills_them():
    gaps = FRAME.mask(np.random.default_rng(0).random(FRAME.shape) < 0.1)
    split = ColumnTransformer([("a", SimpleImputer(strategy="median"), ["d", "a"]), ("b", SimpleImputer(), ["b"])])
    pipe = make_pipeline(StandardScaler(), SimpleImputer(strategy="constant", fill_value=0.5), PDDP(2)).fit(gaps)
    other = make_pipeline(split, PDDP(2)).fit(gaps)
    for each_pipe in (pipe, other):
        shown = ShownPipeline.of(each_pipe)
        visible, seen = shown.read(gaps)
        assert np.isfinite(visible).all()
        assert_allclose((shown.steps.matrix @ visible.T).T + shown.steps.shift, seen, atol=1e-9)
        kept = gaps.to_numpy()[:, shown.columns]
        assert_array_equal(visible[~np.isnan(kept)], kept[~np.isnan(kept)])


def test_only_columns_that_matter_are_shown_and_the_others_may_be_words():
    frame = FRAME.assign(word="w")[["word", "d", "c", "b", "a"]]
    pipe = make_pipeline(ColumnTransformer([("n", StandardScaler(), ["a", "d"])]), NCutH(3)).fit(frame)
    shown = ShownPipeline.of(pipe)
    assert shown.names == ["d", "a"]
    assert shown.tree.mixture is not None
    for given in (frame, frame[frame.columns[::-1]], frame.assign(more=1)):
        visible, _ = shown.read(given)
        assert_array_equal(visible, frame[["d", "a"]].to_numpy())
        assert_array_equal(shown.tree.predict(visible), pipe.predict(given))


def test_many_columns_cost_little_memory():
    wide = np.random.default_rng(0).normal(size=(20, 20_000))
    pipe = make_pipeline(StandardScaler(), PDDP(2, criterion="mean")).fit(wide)
    assert map_of(pipe).matrix.nnz == 20_000
    assert_array_equal(tree_of(pipe).predict(wide), pipe.predict(wide))


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        ([FunctionTransformer(np.cbrt)], ["cbrt(a)", "cbrt(b)", "cbrt(c)", "cbrt(d)"]),
        ([FunctionTransformer(np.cbrt), StandardScaler(), PCA(2)], ["pca0", "pca1"]),
        ([ColumnTransformer([("l", FunctionTransformer(np.cbrt), ["b"]), ("s", StandardScaler(), ["a"])])],
         ["cbrt(b)", "a"]),
        ([ColumnTransformer([("s", StandardScaler(), ["a"])], remainder="passthrough")],
         ["s__a", "remainder__b", "remainder__c", "remainder__d"]),
    ],
)  # fmt: skip
def test_columns_after_steps_have_names(steps, names):
    assert names_before_model(make_pipeline(*steps, PDDP(2)).fit(FRAME)) == names
