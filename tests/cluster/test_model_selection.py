"""The tools of scikit-learn that search, compare and connect models."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import loguniform
from sklearn import config_context
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import silhouette_score
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ravine import (
    HSDC,
    MDH,
    PDDP,
    SPDC,
    IncrementalMDH,
    NCutH,
    SpectralPursuit,
    StreamClusterer,
    SumOfNorms,
    SupportVectorClustering,
)
from ravine.datasets import make_blobs

WITH_SCORE = [NCutH(), MDH(), IncrementalMDH()]
WITHOUT_SCORE = [
    PDDP(),
    SpectralPursuit(),
    SumOfNorms(n_lambdas=5),
    SupportVectorClustering(),
    StreamClusterer(),
    HSDC(),
    SPDC(),
]

STREAMS = (StreamClusterer, HSDC, SPDC)


def each(models):
    return pytest.mark.parametrize("model", models, ids=lambda model: type(model).__name__)


@pytest.fixture(scope="module", name="X")
def rows():
    return make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]


def places(model):
    """The model, alone and at the end of a pipeline, with what comes before the names of its parameters."""
    return (clone(model), ""), (make_pipeline(StandardScaler(), clone(model)), f"{type(model).__name__.lower()}__")


def grid_of(model, prefix):
    grid = {"n_clusters": [1, 2, 3], "significance": [0.01, 0.1]}
    if "bandwidth_factor" in model.get_params():
        grid = {"n_clusters": [1, 3], "bandwidth_factor": [0.5, 1.0]}
    return {f"{prefix}{name}": values for name, values in grid.items()}


@each(WITH_SCORE)
@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV, HalvingGridSearchCV])
def test_searches_need_no_scorer(model, search, X):
    options = {} if search is GridSearchCV else {"random_state": 0}
    options |= {"n_iter": 4} if search is RandomizedSearchCV else {}
    for estimator, prefix in places(model):
        found = search(estimator, grid_of(model, prefix), cv=3, **options).fit(X)
        assert found.best_params_[f"{prefix}n_clusters"] == 3
        assert np.isfinite(found.cv_results_["mean_test_score"]).all()
        assert_array_equal(found.predict(X), found.best_estimator_.predict(X))
        assert found.score(X) == found.best_estimator_.score(X)


def test_halving_draws_from_distributions(X):
    distributions = {"n_clusters": [2, 3], "significance": loguniform(1e-4, 0.5)}
    found = HalvingRandomSearchCV(NCutH(), distributions, cv=3, random_state=0).fit(X)
    assert 1e-4 <= found.best_params_["significance"] <= 0.5


@each(WITH_SCORE)
def test_optuna_needs_no_scorer(model, X):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def mean_score(trial):
        estimator = clone(model).set_params(n_clusters=trial.suggest_int("n_clusters", 1, 3))
        return cross_val_score(estimator, X, cv=3).mean()

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GridSampler({"n_clusters": [1, 2, 3]}))
    study.optimize(mean_score, n_trials=3)
    assert study.best_params == {"n_clusters": 3}


@each(WITHOUT_SCORE)
def test_without_a_density_scikit_learn_asks_for_a_scorer(model, X):
    assert not hasattr(model, "score")
    with pytest.raises(TypeError, match="no scoring is specified"):
        GridSearchCV(model, {}).fit(X)

    def silhouette(fitted, rows, y=None):
        return silhouette_score(rows, fitted.predict(rows))

    if isinstance(model, STREAMS):
        X, _ = make_blobs(1_000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    assert cross_val_score(clone(model), X, scoring=silhouette, cv=2).min() > 0.6


@each([PDDP(assign_labels="auto"), SpectralPursuit(assign_labels="auto", n_microclusters=20)])
def test_a_mixture_gives_the_others_a_score(model, X):
    found = GridSearchCV(model, {"n_clusters": [1, 3]}, cv=2).fit(X)
    assert found.best_params_ == {"n_clusters": 3}


def test_labels_are_compared_by_a_scorer_of_scikit_learn():
    X, y = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    found = GridSearchCV(NCutH(), {"n_clusters": [2, 3]}, scoring="adjusted_rand_score", cv=2).fit(X, y)
    assert found.best_params_ == {"n_clusters": 3}
    assert found.best_score_ == 1


@each(WITH_SCORE)
def test_score_is_the_mean_log_density_and_weights_count_as_copies(model, X):
    fitted = clone(model).set_params(n_clusters=3).fit(X)
    weights = np.arange(len(X)) % 3
    assert_allclose(fitted.score(X), fitted.score_samples(X).mean())
    assert_allclose(fitted.score(X, sample_weight=weights), fitted.score(np.repeat(X, weights, axis=0)))
    with pytest.raises(ValueError, match="cannot be negative"):
        fitted.score(X, sample_weight=-weights)


def test_score_is_there_before_a_fit_if_there_will_be_a_mixture(X):
    assert hasattr(NCutH(), "score")
    assert not hasattr(NCutH(assign_labels="tree"), "score")
    assert not hasattr(NCutH(assign_labels="tree").fit(X), "score")
    assert not hasattr(NCutH(), "predict_proba")


def test_a_model_without_a_mixture_says_why_it_has_no_score(X):
    fitted = NCutH(2).fit(sparse.csr_array(X))
    with pytest.raises(AttributeError) as caught:
        fitted.score(X)
    assert "no mixture" in str(caught.value.__cause__)


def test_numbers_of_clusters_whose_mixture_fails_come_last(X):
    rows = np.vstack([X, X[:1] + 1e3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = GridSearchCV(NCutH(), {"assign_labels": ["tree", "auto"]}, cv=2).fit(rows)
    assert found.best_params_ == {"assign_labels": "auto"}
    assert np.isnan(found.cv_results_["mean_test_score"]).tolist() == [True, False]


def test_models_that_describe_different_columns_have_scores_of_the_same_columns(rng):
    """A column with two values is described by one of the models only: its density counts in both."""
    rows = np.c_[np.repeat([0.0, 9.0], 100) + rng.normal(size=200), rng.normal(size=200), np.arange(200) % 5 == 0]
    whole, halves = NCutH(1).fit(rows), NCutH(2).fit(rows)
    assert halves.tree_.mixture.beside is not None
    assert whole.tree_.mixture.beside is None
    share = rows[:, 2].mean()
    normal = -0.5 * (np.log(2 * np.pi * share * (1 - share)) + (rows[:, 2] - share) ** 2 / (share * (1 - share)))
    assert_allclose(halves.score(rows), (halves.score_samples(rows) + normal).mean())
    assert_allclose(halves.score(rows), halves.score(sparse.csr_array(rows)))


def test_score_of_chunks_is_that_of_rows_in_memory(X):
    array = pytest.importorskip("dask.array")
    fitted = NCutH(3).fit(X)
    assert_allclose(fitted.score(array.from_array(X, chunks=(40, 2))), fitted.score(X))


@pytest.mark.filterwarnings("ignore:.*metadata routing")
def test_weights_are_routed_to_fit_and_score(X):
    weights = np.arange(len(X)) % 3.0
    with config_context(enable_metadata_routing=True):
        for estimator, prefix in places(
            NCutH().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        ):
            if prefix:
                estimator[0].set_fit_request(sample_weight=True)
            found = GridSearchCV(estimator, {f"{prefix}n_clusters": [2, 3]}, cv=2).fit(X, sample_weight=weights)
            assert found.best_params_ == {f"{prefix}n_clusters": 3}
        by_hand = cross_val_score(
            NCutH(3).set_fit_request(sample_weight=True).set_score_request(sample_weight=True),
            X,
            cv=2,
            params={"sample_weight": weights},
        )
    first, second = slice(0, len(X) // 2), slice(len(X) // 2, None)
    expected = [
        NCutH(3).fit(X[a], sample_weight=weights[a]).score(X[b], sample_weight=weights[b])
        for a, b in ((second, first), (first, second))
    ]
    assert_allclose(by_hand, expected)


def test_weights_go_to_fit_without_routing(X):
    weights = np.arange(len(X)) % 3.0
    found = GridSearchCV(NCutH(), {"n_clusters": [3]}, cv=2).fit(X, sample_weight=weights)
    assert_array_equal(found.best_estimator_.labels_, NCutH(3).fit(X, sample_weight=weights).labels_)


@each([*WITH_SCORE, PDDP()])
def test_set_output_names_the_cuts(model, X):
    frame = pd.DataFrame(X, columns=["width", "height"])
    pipe = make_pipeline(StandardScaler(), clone(model).set_params(n_clusters=3)).set_output(transform="pandas")
    distance = pipe.fit(frame).transform(frame)
    assert distance.columns.tolist() == pipe[-1].get_feature_names_out().tolist()
    assert distance.index.equals(frame.index)


def test_functions_of_columns_stand_before_a_model(X):
    positive = X - X.min() + 1
    pipe = make_pipeline(FunctionTransformer(np.log1p, feature_names_out="one-to-one"), NCutH(3)).fit(positive)
    assert_array_equal(pipe.predict(positive), NCutH(3).fit(np.log1p(positive)).labels_)
    assert np.isfinite(cross_val_score(pipe, positive, cv=2)).all()


def test_the_smallest_number_within_a_standard_error_is_found_by_refit(X):
    """The recipe of docs/guide/model-selection.md."""

    def smallest_within_one_standard_error(results):
        mean, deviation = results["mean_test_score"], results["std_test_score"]
        best = np.nanargmax(mean)
        return int(np.flatnonzero(mean >= mean[best] - deviation[best] / np.sqrt(5))[0])

    search = GridSearchCV(NCutH(), {"n_clusters": range(1, 5)}, refit=smallest_within_one_standard_error).fit(X)
    assert search.best_params_ == {"n_clusters": 3}
    assert search.best_estimator_.n_clusters_ == 3
