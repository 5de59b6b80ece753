import warnings
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests import naive
from tests.estimators import ALL, each

from ravine import HSDC, PDDP, MDHClassifier, NCutH, StreamClusterer
from ravine.datasets import make_blobs
from ravine.evaluation import Stability, stability

CLUSTERERS = [model for model in ALL if isinstance(model, ClusterMixin)]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(240, centers=[[0, 0], [12, 0], [0, 12]], random_state=0)[0]


def pair_and_two(seed=0, distance=3.6, n_samples=400):
    """Four clusters, of which the last two overlap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n_samples)
    centers = np.array([[0.0, 0.0], [25.0, 0.0], [0.0, 25.0], [distance, 25.0]])
    return centers[y] + rng.normal(size=(n_samples, 2)), y


def assert_equal(one, other):
    for field in fields(Stability):
        assert_array_equal(getattr(one, field.name), getattr(other, field.name))


class Fixed(ClusterMixin, BaseEstimator):
    """Clusters by the first column; notes the rows of its fits, and may fail or predict what it is told."""

    seen: list = []  # noqa: RUF012

    def __init__(self, fails_on=(), random_state=None):
        self.fails_on = fails_on
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        Fixed.seen.append((np.asarray(X)[:, -1].astype(int), self.random_state, sample_weight))
        if len(Fixed.seen) - 1 in self.fails_on:
            raise ValueError("too few rows")
        self.labels_ = self.predict(X)
        return self

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


@pytest.fixture
def seen():
    Fixed.seen.clear()
    return Fixed.seen


def numbered(n_samples=50):
    """Rows of two clusters whose last column is their number."""
    return np.column_stack([np.where(np.arange(n_samples) % 2, 1.0, -1.0), np.arange(n_samples)])


# What is found


@each(CLUSTERERS)
def test_clusters_that_are_far_apart_are_stable(model, blobs):
    found = stability(model, blobs, n_resamples=3, share=0.9)  # a stream needs more than 151 rows
    assert found.verdicts == ["stable"] * len(found.clusters)
    assert found.sizes.sum() == len(blobs)
    assert found.jaccard.shape == (3, len(found.clusters))


def test_overlapping_pair_is_not_stable_and_the_others_are():
    X, y = pair_and_two()
    model = PDDP().fit(X)
    found = stability(model, X, n_resamples=10)
    owner = [np.bincount(y[model.labels_ == label]).argmax() for label in found.clusters]
    verdicts = {c: verdict for verdict, c in zip(found.verdicts, owner, strict=True)}
    assert verdicts[0] == verdicts[1] == "stable"
    assert verdicts[2] == verdicts[3] == "uncertain"
    assert 0.3 < found.co_membership[np.ix_(np.isin(owner, 2), np.isin(owner, 3))] < 0.9


def test_clusters_of_noise_are_not_stable():
    X = np.random.default_rng(0).normal(size=(500, 5))
    found = stability(KMeans(4, n_init=1), X)
    assert "stable" not in found.verdicts
    assert found.mean_jaccard.max() < 0.75
    assert found.ari.mean() < 0.6


def test_one_cluster_is_found_again():
    X = np.random.default_rng(0).normal(size=(200, 3))
    found = stability(PDDP(), X, n_resamples=3)
    assert str(found) == "1 cluster in 3 of 3 resamples. The model has 1 cluster.\nStable: cluster 0."
    assert_array_equal(found.co_membership, [[1.0]])


def test_every_number_of_a_resample_is_that_of_its_labels(blobs):
    class Recorded(KMeans):
        predicted: list = []  # noqa: RUF012

        def predict(self, X):
            labels = super().predict(X)
            Recorded.predicted.append(labels)
            return labels

    X = blobs[:120]
    found = stability(Recorded(5, n_init=1), X, n_resamples=6)
    reference, *resampled = Recorded.predicted
    assert_array_equal(found.n_clusters, [len(set(labels)) for labels in resampled])
    assert_array_equal(found.ari, [adjusted_rand_score(reference, labels) for labels in resampled])
    matched = [naive.jaccard_matching(reference, labels) for labels in resampled]
    assert_array_equal(found.jaccard, [jaccard for jaccard, _ in matched])
    agrees = [np.array(match)[reference] == labels for (_, match), labels in zip(matched, resampled, strict=True)]
    assert_allclose(found.row_agreement, np.mean(agrees, axis=0))
    together = [naive.same_cluster_probability(reference, labels) for labels in resampled]
    assert_allclose(found.co_membership, np.mean(together, axis=0))
    assert sum(found.counts.values()) == 6


def test_rows_between_two_clusters_agree_less_often():
    X, _ = pair_and_two(distance=3.0)
    found = stability(KMeans(4, n_init=10, random_state=0), X)
    is_between = (np.abs(X[:, 0] - 1.5) < 0.3) & (X[:, 1] > 10)
    assert found.row_agreement[is_between].mean() < found.row_agreement[~is_between].mean()


# How rows are drawn


def test_rows_are_drawn_in_their_order_and_subsamples_have_no_copies(seen):
    found = stability(Fixed(), numbered(), n_resamples=4, share=0.5)
    for rows, _, _ in seen[1:]:
        assert len(rows) == found.n_fitted == 25
        assert (np.diff(rows) > 0).all()
    assert len({tuple(rows) for rows, _, _ in seen}) == 5


def test_bootstrap_draws_as_many_rows_as_there_are_with_copies(seen):
    stability(Fixed(), numbered(), n_resamples=4, resample="bootstrap")
    for rows, _, _ in seen[1:]:
        assert len(rows) == 50
        assert len(set(rows)) < 45
        assert (np.diff(rows) >= 0).all()


def test_max_rows_bounds_a_resample(seen):
    assert stability(Fixed(), numbered(), n_resamples=2, max_rows=7).n_fitted == 7
    assert [len(rows) for rows, _, _ in seen] == [50, 7, 7]


def test_each_refit_has_another_seed(seen):
    stability(Fixed(random_state=3), numbered(), n_resamples=5)
    seeds = [seed for _, seed, _ in seen]
    assert seeds[0] == 3
    assert len(set(seeds)) == 6


def test_seeds_of_all_steps_of_a_pipeline_are_set(blobs):
    class Noted(PCA):
        seeds: list = []  # noqa: RUF012

        def fit_transform(self, X, y=None):
            Noted.seeds.append(self.random_state)
            return super().fit_transform(X, y)

    stability(make_pipeline(Noted(2), KMeans(3, n_init=1)), blobs, n_resamples=3)
    assert len(set(Noted.seeds)) == 4
    assert all(isinstance(seed, int) for seed in Noted.seeds)


def test_same_seed_gives_the_same_result_and_another_seed_another(blobs):
    one, same, other = (stability(KMeans(5, n_init=1), blobs, n_resamples=4, random_state=s) for s in (1, 1, 2))
    assert_equal(one, same)
    assert not np.array_equal(one.jaccard, other.jaccard)


@pytest.mark.parametrize("model", [KMeans(5, n_init=1), PDDP(3), NCutH(4)], ids=str)
def test_result_does_not_depend_on_n_jobs(blobs, model):
    assert_equal(*(stability(model, blobs, n_resamples=6, n_jobs=n_jobs) for n_jobs in (None, 2)))


def test_more_resamples_begin_with_the_same(blobs):
    few, many = (stability(KMeans(5, n_init=1), blobs, n_resamples=n) for n in (3, 6))
    assert_array_equal(few.jaccard, many.jaccard[:3])


# Models and rows


def test_labels_of_a_fitted_model_are_the_reference(blobs):
    model = PDDP(2).fit(blobs)
    tree, labels = model.tree_, model.labels_.copy()
    found = stability(model, blobs, n_resamples=2)
    assert_array_equal(found.sizes, np.bincount(labels))
    assert model.tree_ is tree
    assert_array_equal(model.labels_, labels)


def test_model_that_is_not_fitted_stays_so(blobs):
    model = PDDP()
    stability(model, blobs, n_resamples=2)
    assert not hasattr(model, "tree_")


@pytest.mark.parametrize("model", [DBSCAN(eps=1.5), AgglomerativeClustering(3)], ids=str)
@pytest.mark.parametrize("resample", ["subsample", "bootstrap"])
def test_model_that_cannot_predict_is_compared_on_the_rows_of_a_resample(blobs, model, resample):
    found = stability(model, blobs, n_resamples=4, resample=resample)
    assert found.verdicts == ["stable"] * 3
    assert stability(make_pipeline(StandardScaler(), AgglomerativeClustering(3)), blobs, n_resamples=2).counts == {3: 2}


def test_rows_of_no_cluster_are_no_cluster(blobs):
    X = np.vstack([blobs, [[100.0, 100.0]]])
    found = stability(DBSCAN(eps=1.5), X, n_resamples=3, share=0.9)
    assert_array_equal(found.clusters, [0, 1, 2])
    assert found.sizes.sum() < len(X)
    assert np.nanmin(found.row_agreement[-1:]) == 1.0


def test_rows_may_be_in_an_array_a_frame_or_a_sparse_matrix(blobs):
    expected = stability(PDDP(3), blobs, n_resamples=3)
    frame = pd.DataFrame(blobs, columns=["a", "b"], index=np.arange(len(blobs))[::-1])
    kinds = [frame, pl.DataFrame(blobs, schema=["a", "b"]), sparse.csr_array(blobs), blobs.tolist()]
    for X in kinds:
        found = stability(PDDP(3), X, n_resamples=3)
        assert_array_equal(found.jaccard, expected.jaccard)
        assert_array_equal(found.n_clusters, expected.n_clusters)


def test_pipeline_is_fitted_to_the_rows_of_the_frame(blobs):
    def to_numbers(frame):
        assert isinstance(frame, pd.DataFrame)
        return frame.assign(größe=frame["größe"].str.removeprefix("€").astype(float)).to_numpy()

    frame = pd.DataFrame({"größe": [f"€{value}" for value in blobs[:, 0]], "b": blobs[:, 1]})
    model = make_pipeline(FunctionTransformer(to_numbers), PDDP(3))
    assert stability(model, frame, n_resamples=3).counts == {3: 3}
    assert stability(model.fit(frame), frame, n_resamples=3).counts == {3: 3}


@pytest.mark.parametrize("model", [StreamClusterer(), HSDC()], ids=str)
def test_stream_is_learned_from_the_start_in_each_resample(blobs, model):
    model = clone(model).fit(np.tile(blobs, (3, 1)))
    assert stability(model, blobs, n_resamples=2, share=0.9).jaccard.shape == (2, len(set(model.predict(blobs))))


def test_two_hundred_columns_and_many_clusters():
    rng = np.random.default_rng(0)
    centers = 100 * rng.normal(size=(100, 200))
    X = np.repeat(centers, 4, axis=0) + rng.normal(size=(400, 200))
    found = stability(KMeans(100, n_init=1), X, n_resamples=2)
    assert found.jaccard.shape == (2, 100)
    assert len(str(found)) < 4000


# Weights


def test_weights_are_passed_to_the_refits_and_rows_without_weight_are_not_drawn(seen):
    weights = np.where(np.arange(50) < 10, 0.0, np.arange(50))
    found = stability(Fixed(), numbered(), n_resamples=3, share=0.5, sample_weight=weights)
    assert found.n_fitted == 20
    for rows, _, given in seen:
        assert_array_equal(given, weights[rows])
    assert all(rows.min() >= 10 for rows, _, _ in seen[1:])


def test_weights_of_a_pipeline_are_those_of_its_last_step(seen):
    model = make_pipeline(FunctionTransformer(), Fixed())
    stability(model, numbered(), n_resamples=2, sample_weight=np.arange(1.0, 51.0))
    for rows, _, given in seen:
        assert_array_equal(given, rows + 1.0)


# Errors


def test_refit_that_fails_is_counted(seen):
    found = stability(Fixed(fails_on=(2, 4)), numbered(), n_resamples=5)
    assert found.errors == ("ValueError: too few rows",) * 2
    assert len(found.n_clusters) == len(found.ari) == len(found.jaccard) == 3
    assert "2 refits failed; the first error: ValueError: too few rows" in str(found)


def test_error_is_raised_if_all_refits_fail(seen):
    with pytest.raises(ValueError, match="all 3 refits failed; the first error: too few rows") as raised:
        stability(Fixed(fails_on=(1, 2, 3)), numbered(), n_resamples=3)
    assert str(raised.value.__cause__) == "too few rows"


def test_callback_is_called_after_each_resample_and_its_errors_are_raised(seen):
    done = []
    stability(Fixed(fails_on=(2,)), numbered(), n_resamples=4, on_resample=done.append)
    assert done == [1, 2, 3, 4]

    def stop(n_done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stability(Fixed(), numbered(), on_resample=stop)


def test_warnings_of_refits_are_not_shown_and_nothing_is_printed(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Loud(Fixed):
            def fit(self, X, y=None):
                if len(X) < 50:
                    warnings.warn("few rows", stacklevel=1)
                return super().fit(X)

        stability(Loud(), numbered(), n_resamples=2)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"model": PDDP}, TypeError, "is the class PDDP"),
        ({"model": MDHClassifier()}, TypeError, "is a classifier"),
        ({"model": StandardScaler()}, TypeError, "neither predict nor labels_"),
        ({"model": "KMeans"}, ValueError, "must be an object implementing 'fit'"),
        ({"X": sparse.coo_array(np.eye(5))}, TypeError, r"COO format: pass X.tocsr\(\)"),
        ({"X": np.ones((1, 2))}, ValueError, "X has 1 rows"),
        ({"X": np.ones((0, 2))}, ValueError, "X has 0 rows"),
        ({"n_resamples": 0}, ValueError, "n_resamples"),
        ({"n_resamples": True}, ValueError, "not a bool"),
        ({"resample": "jackknife"}, ValueError, "resample"),
        ({"share": 0.0}, ValueError, "share"),
        ({"share": 1.5}, ValueError, "share"),
        ({"sample_weight": np.ones(3)}, ValueError, "one weight for each"),
        ({"sample_weight": np.zeros(20)}, ValueError, "no positive weight"),
        ({"sample_weight": -np.ones(20)}, ValueError, "Negative"),
        ({"model": DBSCAN(), "sample_weight": np.full(20, np.nan)}, ValueError, "NaN"),
        ({"model": HSDC(), "sample_weight": np.ones(20)}, TypeError, "HSDC.fit has no sample_weight"),
    ],
)
def test_bad_input_is_refused_in_words(arguments, error, message):
    given = {"model": KMeans(2, n_init=1), "X": np.random.default_rng(0).normal(size=(20, 2)), **arguments}
    with pytest.raises(error, match=message):
        stability(given.pop("model"), given.pop("X"), **given)


def test_fitted_model_without_predict_needs_its_own_rows(blobs):
    with pytest.raises(ValueError, match=r"labels of shape \(240,\) for 100 rows"):
        stability(DBSCAN().fit(blobs), blobs[:100])


def test_out_of_core_rows_are_refused(blobs):
    dask_array = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="out-of-core"):
        stability(PDDP(), dask_array.from_array(blobs))


def test_constant_rows_are_one_cluster():
    assert stability(PDDP(), np.ones((30, 2)), n_resamples=2).counts == {1: 2}


# Words


def made(jaccard, n_clusters, co_membership=None):
    jaccard = np.array(jaccard, dtype=float)
    n = jaccard.shape[1]
    return Stability(
        clusters=np.arange(n),
        sizes=np.full(n, 100),
        n_clusters=np.array(n_clusters),
        jaccard=jaccard,
        ari=np.ones(len(jaccard)),
        co_membership=np.eye(n) if co_membership is None else np.array(co_membership),
        row_agreement=np.ones(100 * n),
        n_fitted=80 * n,
    )


def test_verdicts_follow_the_share_of_resamples_in_which_a_cluster_is_found_again():
    high, low = 0.75, 0.74
    found = made([[high] * 4, [high] * 3 + [low], [high, high, low, low], [high, low, low, low], [low] * 4], [4] * 5)
    assert_array_equal(found.n_found_again, [4, 3, 2, 1])
    assert found.verdicts == ["stable", "uncertain", "uncertain", "uncertain"]
    assert made([[low, high]] * 5, [2] * 5).verdicts == ["not found again", "stable"]


def test_words_say_how_often_each_number_came_out_and_which_clusters_to_trust():
    jaccard = [[1.0, 0.9, 0.8]] * 11 + [[1.0, 0.5, 0.2]] * 9
    together = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.4], [0.0, 0.4, 1.0]]
    assert str(made(jaccard, [5] * 17 + [4] * 3, together)).splitlines() == [
        "5 clusters in 17 of 20 resamples, 4 in 3. The model has 3 clusters.",
        "Stable: cluster 0.",
        "Uncertain: clusters 1 (found again in 11 of 20, mean overlap 0.72, often together with 2); "
        "2 (found again in 11 of 20, mean overlap 0.53, often together with 1).",
    ]


def test_most_frequent_number_is_the_first_and_ties_go_to_the_smaller():
    assert list(made(np.ones((6, 1)), [7, 3, 3, 5, 5, 9]).counts.items()) == [(3, 2), (5, 2), (7, 1), (9, 1)]


def test_words_of_many_clusters_stay_short():
    found = made(np.full((30, 500), 0.1), np.arange(30))
    assert "and 488 more" in str(found)
    assert "other numbers in 18" in str(found)
    assert found._repr_html_().count("<tr>") == 31


def test_frame_has_a_row_for_each_cluster():
    found = made([[1.0, 0.2], [0.8, np.nan]], [2, 2])
    frame = found.to_frame()
    assert list(frame["verdict"]) == ["stable", "not found again"]
    assert_array_equal(frame["mean_jaccard"], [0.9, 0.2])
    assert_array_equal(frame["share_found_again"], [1.0, 0.0])


def test_notebook_shows_the_words_escaped():
    found = made([[1.0]], [1])
    object.__setattr__(found, "errors", ("ValueError: <b>",))
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    assert repr(found) == "<Stability: 1 clusters, 1 resamples>"


def test_result_is_frozen():
    with pytest.raises(FrozenInstanceError):
        made([[1.0]], [1]).n_fitted = 3
