import copy
import importlib
import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from ravine import HSDC, MDH, PDDP, IncrementalMDH, NCutH, StreamClusterer, SupportVectorClustering
from ravine.integrations.bertopic import BERTopicClusterer, topic_linkage, topic_probabilities, topics_to_merge

WORDS = [
    ["cat", "kitten", "purr", "whiskers", "fur"],
    ["ship", "harbor", "anchor", "sail", "captain"],
    ["bread", "oven", "flour", "yeast", "crust"],
    ["rain", "cloud", "storm", "thunder", "drizzle"],
    ["guitar", "chord", "melody", "rhythm", "drum"],
]
N_DOCUMENTS, N_DIMENSIONS, N_ODD = 750, 12, 8
ONLINE = [IncrementalMDH(), StreamClusterer(), HSDC()]


class Corpus:
    """Documents about five subjects, with embeddings; a few of them are far from all subjects."""

    def __init__(self):
        rng = np.random.default_rng(3)
        self.subjects = np.repeat(range(len(WORDS)), N_DOCUMENTS // len(WORDS))
        rng.shuffle(self.subjects)
        self.documents = [" ".join(rng.choice(WORDS[subject], 4)) for subject in self.subjects]
        centers = 4 * rng.normal(size=(len(WORDS), N_DIMENSIONS))
        noise = rng.normal(size=(N_DOCUMENTS, N_DIMENSIONS))
        self.embeddings = (centers[self.subjects] + noise).astype(np.float32)
        self.embeddings[:N_ODD] = 15 * rng.normal(size=(N_ODD, N_DIMENSIONS))

    def of(self, subjects, part=slice(None)):
        """Documents, embeddings and subjects of some of the rows that are not far out."""
        rows = N_ODD + np.flatnonzero(np.isin(self.subjects[N_ODD:], subjects))[part]
        return [self.documents[row] for row in rows], self.embeddings[rows], self.subjects[rows]

    def batches(self):
        """Three batches: two subjects, then three, then all five."""
        parts = {(1, 3): slice(0, 150), (0, 1, 3): slice(150, 300), (0, 1, 2, 3, 4): slice(300, None)}
        return [self.of(subjects, part) for subjects, part in parts.items()]


@pytest.fixture(scope="module")
def corpus():
    return Corpus()


def new_topic_model(cluster_model, **options):
    """A BERTopic that takes embeddings as they are."""
    bertopic = pytest.importorskip("bertopic", exc_type=ModuleNotFoundError)
    dimensionality = importlib.import_module("bertopic.dimensionality")
    reduction = dimensionality.BaseDimensionalityReduction()
    return bertopic.BERTopic(umap_model=reduction, hdbscan_model=cluster_model, **options)


def new_online_topic_model(cluster_model, **options):
    pytest.importorskip("bertopic", exc_type=ModuleNotFoundError)
    vectorizers = importlib.import_module("bertopic.vectorizers")
    return new_topic_model(cluster_model, vectorizer_model=vectorizers.OnlineCountVectorizer(), **options)


@pytest.fixture(scope="module")
def fitted(corpus):
    """A topic model with an outlier topic and probabilities; tests that change it use a copy."""
    clusterer = BERTopicClusterer(IncrementalMDH(outliers="label"), calculate_probabilities=True)
    return new_topic_model(clusterer, calculate_probabilities=True).fit(corpus.documents, corpus.embeddings)


@pytest.fixture
def topic_model(fitted):
    return copy.deepcopy(fitted)


def subject_of_words(words):
    """The subject to which most of some words belong."""
    return max(range(len(WORDS)), key=lambda subject: len(set(WORDS[subject]) & set(words)))


# In BERTopic, a model as it is


@pytest.mark.parametrize("model", [IncrementalMDH(), NCutH(), MDH(), PDDP(5, criterion="mean")], ids=repr)
def test_every_model_finds_the_topics(model, corpus):
    topic_model = new_topic_model(model)
    topics, _ = topic_model.fit_transform(corpus.documents, corpus.embeddings)
    assert adjusted_rand_score(corpus.subjects[N_ODD:], topics[N_ODD:]) > 0.98
    assert topic_model.transform(corpus.documents, corpus.embeddings)[0] == topics


def test_outliers_are_topic_minus_one(corpus):
    topic_model = new_topic_model(IncrementalMDH(outliers="label"))
    topics, probabilities = topic_model.fit_transform(corpus.documents, corpus.embeddings)
    assert topics[:N_ODD] == [-1] * N_ODD
    assert adjusted_rand_score(corpus.subjects[N_ODD:], topics[N_ODD:]) > 0.95
    assert topic_model.transform(corpus.documents, corpus.embeddings)[0] == topics
    assert probabilities is None  # BERTopic asks only HDBSCAN
    assert_array_equal(
        topic_probabilities(topic_model, corpus.embeddings)[N_ODD:].argmax(axis=1)[np.array(topics[N_ODD:]) >= 0],
        [topic for topic in topics[N_ODD:] if topic >= 0],
    )


def test_new_documents_get_the_topic_that_the_model_predicts(corpus):
    old, new = slice(N_ODD, 400), slice(400, None)
    topic_model = new_topic_model(NCutH())
    topic_model.fit(corpus.documents[old], corpus.embeddings[old])
    topics, _ = topic_model.transform(corpus.documents[new], corpus.embeddings[new])
    assert adjusted_rand_score(corpus.subjects[new], topics) > 0.98


# Probabilities


def test_bertopic_stores_the_probabilities_of_the_adapter(fitted, corpus):
    probabilities = fitted.probabilities_
    assert probabilities.shape == (N_DOCUMENTS, len(WORDS))
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_allclose(probabilities, topic_probabilities(fitted, corpus.embeddings))
    topics = np.array(fitted.topics_)
    assert_array_equal(probabilities.argmax(axis=1)[topics >= 0], topics[topics >= 0])


@pytest.mark.parametrize("strategy", ["probabilities", "embeddings", "c-tf-idf", "distributions"])
def test_outliers_can_be_reduced(strategy, fitted, corpus):
    options = {
        "probabilities": {"probabilities": fitted.probabilities_},
        "embeddings": {"embeddings": corpus.embeddings},
    }
    topics = fitted.reduce_outliers(corpus.documents, fitted.topics_, strategy=strategy, **options.get(strategy, {}))
    assert set(topics) == set(range(len(WORDS)))
    kept = np.array(fitted.topics_) >= 0
    assert_array_equal(np.array(topics)[kept], np.array(fitted.topics_)[kept])


def test_model_without_probabilities_is_refused(corpus):
    clusterer = BERTopicClusterer(NCutH(5, assign_labels="tree"), calculate_probabilities=True)
    with pytest.raises(ValueError, match=r"NCutH does not have.*mixture"):
        clusterer.fit(corpus.embeddings)
    assert not hasattr(BERTopicClusterer(NCutH(5, assign_labels="tree")).fit(corpus.embeddings), "predict_proba")
    assert not hasattr(BERTopicClusterer(), "predict_proba")


# Online


@pytest.mark.parametrize("model", ONLINE, ids=lambda model: type(model).__name__)
def test_online_topics_keep_their_meaning(model, corpus):
    """What a topic was about in one batch, it is about in every later one; `topics_` has only the last batch."""
    topic_model, meaning = new_online_topic_model(BERTopicClusterer(clone(model))), {}
    for documents, embeddings, subjects in corpus.batches():
        topic_model.partial_fit(documents, embeddings)
        topics = np.array(topic_model.topics_)
        assert topic_model.transform(documents, embeddings)[0] == topics.tolist()
        for topic in np.unique(topics):
            assert meaning.setdefault(topic, subject := np.bincount(subjects[topics == topic]).argmax()) == subject
    for topic, words in topic_model.get_topics().items():
        assert subject_of_words([word for word, _ in words[:4]]) == meaning[topic]


def test_online_labels_of_a_model_as_it_is_change_their_meaning(corpus):
    """The reason for the adapter: its identifiers differ from the labels once a cluster appears to the left."""
    clusterer = BERTopicClusterer()
    for _, embeddings, _ in corpus.batches():
        clusterer.partial_fit(embeddings)
    labels = clusterer.model_.predict(embeddings)
    assert (clusterer.labels_ != labels).any()
    assert_array_equal(clusterer.labels_, clusterer.model_.cluster_ids_[labels])
    assert_array_equal(clusterer.labels_, clusterer.predict(embeddings))
    assert clusterer.cluster_ids_.tolist() == clusterer.model_.cluster_ids_.tolist()


@pytest.mark.parametrize("begins_with", ["fit", "partial_fit"])
def test_topics_stay_until_the_documents_have_grown_by_a_share(begins_with, corpus):
    _, first, _ = corpus.of([1, 3], slice(0, 200))
    _, second, _ = corpus.of([0], slice(0, 120))
    clusterer = getattr(BERTopicClusterer(regrow_share=0.5), begins_with)(first)
    tree, labels = clusterer.tree_, clusterer.predict(corpus.embeddings)
    clusterer.partial_fit(second[:60])
    assert clusterer.tree_ is tree
    assert clusterer.cluster_ids_.tolist() == [0, 1]
    assert_array_equal(clusterer.predict(corpus.embeddings), labels)
    assert_array_equal(clusterer.labels_, clusterer.predict(second[:60]))
    assert clusterer.model_.n_clusters_ == 3
    clusterer = pickle.loads(pickle.dumps(clusterer)).partial_fit(second[60:])
    assert sorted(clusterer.cluster_ids_) == [0, 1, 2]
    assert set(clusterer.predict(first)) == {0, 1}
    assert set(clusterer.labels_) == {2}


def test_a_share_of_zero_grows_the_tree_after_each_batch(corpus):
    clusterer, model = BERTopicClusterer(regrow_share=0), IncrementalMDH()
    for _, embeddings, _ in corpus.batches():
        for row in range(0, len(embeddings), 100):
            clusterer.partial_fit(embeddings[row : row + 100])
            model.partial_fit(embeddings[row : row + 100])
            assert clusterer.tree_ == model.tree_
            assert_array_equal(clusterer.labels_, model.cluster_ids_[model.labels_])


def test_online_probabilities_have_a_column_for_each_identifier(corpus):
    clusterer = BERTopicClusterer(calculate_probabilities=True)
    for _, embeddings, _ in corpus.batches():
        clusterer.partial_fit(embeddings)
    assert_array_equal(clusterer.probabilities_.argmax(axis=1), clusterer.labels_)
    assert_allclose(clusterer.probabilities_.sum(axis=1), 1)
    assert_array_equal(clusterer.predict_proba(embeddings), clusterer.probabilities_)


def test_probabilities_of_an_online_model_follow_its_topics(corpus):
    topic_model = new_online_topic_model(BERTopicClusterer())
    for documents, embeddings, _ in corpus.batches():
        topic_model.partial_fit(documents, embeddings)
    assert_array_equal(topic_probabilities(topic_model, embeddings).argmax(axis=1), topic_model.topics_)


def test_only_models_that_learn_have_partial_fit(corpus):
    assert hasattr(BERTopicClusterer(), "partial_fit")
    assert not hasattr(BERTopicClusterer(NCutH()), "partial_fit")
    with pytest.raises(ValueError, match="partial_fit"):
        new_topic_model(BERTopicClusterer(NCutH())).partial_fit(corpus.documents, corpus.embeddings)


# Every number of topics


def test_merged_topics_are_those_of_the_coarser_tree(topic_model, corpus):
    model, embeddings = topic_model.hdbscan_model.model_, corpus.embeddings
    for n_topics in range(len(WORDS), 0, -1):
        topic_model.merge_topics(corpus.documents, topics_to_merge(topic_model, n_topics))
        expected = model.cut_to(n_topics)
        kept = np.array(topic_model.topics_) >= 0
        assert adjusted_rand_score(expected.labels_[kept], np.array(topic_model.topics_)[kept]) == 1
        assert len(set(topic_model.topics_) - {-1}) == n_topics
        assert topic_model.transform(corpus.documents, embeddings)[0] == topic_model.topics_
        assert_allclose(topic_model.probabilities_, topic_probabilities(topic_model, embeddings))


def test_linkage_of_topics_has_the_groups_of_the_tree_at_each_distance(topic_model):
    linkage = topic_linkage(topic_model)
    assert is_valid_linkage(linkage)
    for n_topics in range(1, len(WORDS) + 1):
        groups = fcluster(linkage, len(WORDS) - n_topics, "distance")
        found = sorted(np.flatnonzero(groups == group).tolist() for group in set(groups))
        assert found == topics_to_merge(topic_model, n_topics)


def test_linkage_follows_merged_topics(topic_model, corpus):
    expected = topic_linkage(topic_model)[-2:, 2:]
    topic_model.merge_topics(corpus.documents, topics_to_merge(topic_model, 3))
    linkage = topic_linkage(topic_model)
    assert is_valid_linkage(linkage)
    assert len(linkage) == len(expected)
    topic_model.merge_topics(corpus.documents, topics_to_merge(topic_model, 1))
    assert topic_linkage(topic_model).shape == (0, 4)


@pytest.mark.parametrize("of_cuts", [True, False])
def test_topics_have_a_hierarchy(of_cuts, fitted, corpus):
    options = {"linkage_function": lambda distances: topic_linkage(fitted)} if of_cuts else {}
    table = fitted.hierarchical_topics(corpus.documents, **options)
    assert len(table) == len(WORDS) - 1
    assert sorted(table.Topics.iloc[0]) == list(range(len(WORDS)))
    if of_cuts:
        joined = sorted(map(sorted, table.Topics))
        first = next(group for group in topics_to_merge(fitted, len(WORDS) - 1) if len(group) == 2)
        assert first in joined


def test_clusters_without_documents_have_no_topic(corpus):
    """BERTopic knows a cluster only by its documents. Here the tree has five clusters, and the batch three subjects."""
    topic_model = new_topic_model(NCutH(5))
    documents, embeddings, _ = corpus.of(range(5))
    topic_model.fit(documents, embeddings)
    topic_model.topic_mapper_.mappings_ = [row for row in topic_model.topic_mapper_.mappings_ if row[-1] < 3]
    topic_model.topic_sizes_ = {topic: topic_model.topic_sizes_[topic] for topic in range(3)}
    assert is_valid_linkage(topic_linkage(topic_model))
    assert len(topic_linkage(topic_model)) == 2
    assert sorted(topic for group in topics_to_merge(topic_model, 4) for topic in group) == [0, 1, 2]
    assert topic_probabilities(topic_model, embeddings).shape == (len(documents), 3)


def test_topics_that_were_merged_otherwise_are_refused(topic_model, corpus):
    first = topics_to_merge(topic_model, 2)
    apart = [first[0][0], first[1][0]]
    topic_model.merge_topics(corpus.documents, apart)
    with pytest.raises(ValueError, match="not neighbors in the tree"):
        topics_to_merge(topic_model, 2)
    if len(first[0]) > 1 and len(first[1]) > 1:
        with pytest.raises(ValueError, match="not neighbors in the tree"):
            topic_linkage(topic_model)


def test_topics_without_a_cluster_have_no_linkage(topic_model):
    topic_model.topic_sizes_[len(WORDS)] = 1
    with pytest.raises(ValueError, match="some topics have no cluster"):
        topic_linkage(topic_model)


def test_models_without_a_tree_are_refused(corpus):
    topic_model = new_topic_model(KMeans(5, random_state=0, n_init=1)).fit(corpus.documents, corpus.embeddings)
    for function in (topic_linkage, lambda model: topics_to_merge(model, 2)):
        with pytest.raises(TypeError, match="KMeans has no tree"):
            function(topic_model)


def test_too_many_topics_are_refused(topic_model):
    with pytest.raises(ValueError, match="between 1 and 5"):
        topics_to_merge(topic_model, 6)


# What BERTopic does with topics


@pytest.mark.parametrize("n_topics", [3, "auto"])
def test_topics_can_be_reduced(n_topics, topic_model, corpus):
    topic_model.reduce_topics(corpus.documents, nr_topics=n_topics)
    assert topic_model.transform(corpus.documents, corpus.embeddings)[0] == topic_model.topics_
    assert_allclose(topic_model.probabilities_, topic_probabilities(topic_model, corpus.embeddings))


def test_saved_topic_model_predicts_the_same(fitted, corpus):
    loaded = pickle.loads(pickle.dumps(fitted))
    assert loaded.transform(corpus.documents, corpus.embeddings)[0] == fitted.topics_


# The adapter, without BERTopic


@parametrize_with_checks([BERTopicClusterer(), BERTopicClusterer(PDDP())])
def test_adapter_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", [*ONLINE, NCutH(), SupportVectorClustering(random_state=0)], ids=repr)
def test_labels_of_a_fit_are_the_identifiers_of_its_clusters(model, corpus):
    X = corpus.embeddings[:200]
    clusterer, expected = BERTopicClusterer(model).fit(X), clone(model).fit(X)
    ids = getattr(expected, "cluster_ids_", np.arange(expected.n_clusters_))
    assert_array_equal(clusterer.labels_, ids[expected.labels_])
    assert_array_equal(clusterer.labels_, clusterer.predict(X))
    assert not hasattr(model, "labels_")


def test_probabilities_of_an_earlier_fit_are_dropped(corpus):
    clusterer = BERTopicClusterer(calculate_probabilities=True).fit(corpus.embeddings)
    clusterer.set_params(calculate_probabilities=False).fit(corpus.embeddings)
    assert not hasattr(clusterer, "probabilities_")


def test_fitted_model_is_refused(corpus):
    with pytest.raises(ValueError, match="already fitted"):
        BERTopicClusterer(PDDP().fit(corpus.embeddings)).fit(corpus.embeddings)


def test_import_needs_no_bertopic(monkeypatch):
    monkeypatch.setitem(sys.modules, "bertopic", None)
    monkeypatch.delitem(sys.modules, "ravine.integrations.bertopic")
    assert hasattr(importlib.import_module("ravine.integrations.bertopic"), "BERTopicClusterer")
