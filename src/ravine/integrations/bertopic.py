"""ravine as the cluster model of BERTopic: topics that keep their number online, and what BERTopic can do with a tree.

Every model of ravine can be passed to BERTopic as it is. The adapter is for online topic modeling, and for
probabilities. The functions take a fitted BERTopic and need no adapter. Nothing here imports BERTopic.
"""

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ravine._matrix import Floats, Ints
from ravine._sklearn import is_fitted
from ravine.cluster import IncrementalMDH
from ravine.cluster._identity import identified
from ravine.cluster._incremental import STALE_SHARE
from ravine.tree import HyperplaneTree
from ravine.tree._coarser import labels_in

__all__ = ["BERTopicClusterer", "topic_linkage", "topic_probabilities", "topics_to_merge"]

OUTLIERS = -1
"""The number of outliers, both as a cluster and as a topic."""


def _learns(clusterer: "BERTopicClusterer") -> bool:
    return hasattr(clusterer._learner(), "partial_fit")


def _has_probabilities(clusterer: "BERTopicClusterer") -> bool:
    return hasattr(clusterer, "_answering") and hasattr(clusterer._answering, "predict_proba")


class BERTopicClusterer(ClusterMixin, MetaEstimatorMixin, BaseEstimator):
    """Adapter for a model of ravine in BERTopic, whose clusters keep their number from batch to batch.

    BERTopic takes ``labels_`` for the numbers of topics. The labels of ravine are 0 to ``n_clusters_ - 1``: when a
    cluster appears or disappears, others get a new label, and BERTopic would add their documents to the wrong topic.
    Labels of this adapter are identifiers (`cluster_ids_`) instead.

    Parameters
    ----------
    model : estimator, optional
        Estimator that is not fitted. The adapter learns with a clone of it. Default: `ravine.IncrementalMDH()`.
    calculate_probabilities : bool, default=False
        Whether to compute `probabilities_`, which BERTopic then stores. The model must have `predict_proba`.
    regrow_share : float, default=0.1
        In `partial_fit`, `IncrementalMDH` grows its tree again once the documents have grown by this share, or by this
        share of `memory_length`. Until then, the last tree answers and no topic changes. 0 grows it after each batch.
        Other models change their tree as they learn.

    Attributes
    ----------
    model_ : estimator
        The model that learns.
    tree_ : HyperplaneTree
        The tree that answers. Defined only if the model has one.
    labels_ : ndarray of shape (n_samples,)
        Identifier of the cluster of each row of `fit`, or of the last batch of `partial_fit`; -1 for outliers, if the
        model has ``outliers="label"``.
    cluster_ids_ : ndarray of shape (n_clusters,)
        Identifier of each cluster, in the order of the labels of the tree.
    probabilities_ : ndarray of shape (n_samples, n_identifiers)
        Probabilities of these rows, as in `predict_proba`. Only if `calculate_probabilities` is True.
    n_features_in_ : int
        Number of features seen during `fit`.

    See Also
    --------
    ravine.river.RiverClusterer : The same for River.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.integrations.bertopic import BERTopicClusterer
    >>> from ravine.datasets import make_blobs
    >>> X, y = make_blobs(900, centers=[[0, 0], [9, 0], [-9, 0]], random_state=0)
    >>> clusterer = BERTopicClusterer()
    >>> clusterer = clusterer.partial_fit(X[y < 2][:400])
    >>> clusterer.predict([[0, 0], [9, 0]])
    array([0, 1])

    A third cluster appears on the left of both. They keep their numbers:

    >>> clusterer = clusterer.partial_fit(X)
    >>> clusterer.predict([[0, 0], [9, 0], [-9, 0]])
    array([0, 1, 2])
    >>> clusterer.model_.predict([[0, 0], [9, 0], [-9, 0]])
    array([1, 2, 0])
    """

    model_: Any
    labels_: Ints
    probabilities_: Floats

    _answering: Any  # the model as it was when its tree was last grown

    def __init__(
        self, model: Any = None, *, calculate_probabilities: bool = False, regrow_share: float = STALE_SHARE
    ) -> None:
        self.model = model
        self.calculate_probabilities = calculate_probabilities
        self.regrow_share = regrow_share

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the model to the embeddings of all documents.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Embeddings, reduced or not.
        y : Ignored
            Not used, BERTopic passes it.

        Returns
        -------
        self : object
            The fitted adapter.
        """
        model = clone(self._learner()).fit(X)
        return self._describe(model, _answering(model), model.labels_, X)

    @available_if(_learns)
    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the embeddings of the next documents.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Embeddings, reduced or not.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The updated adapter.
        """
        is_first = not hasattr(self, "model_")
        model = clone(self._learner()) if is_first else self.model_
        model.partial_fit(X)
        if not isinstance(model, IncrementalMDH):
            return self._describe(model, model, model.labels_, X)
        is_new = is_first or model._is_stale(self.regrow_share, self._answering._n_grown_from)
        answering = _answering(model) if is_new else self._answering
        return self._describe(model, answering, answering.predict(X), X)

    def predict(self, X: ArrayLike) -> Ints:
        """Predict the cluster of each row, as an identifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Embeddings, reduced as in `fit`.

        Returns
        -------
        clusters : ndarray of shape (n_samples,)
            Identifier of the cluster; -1 for outliers, if the model has ``outliers="label"``.
        """
        check_is_fitted(self)
        return identified(self._answering, self._answering.predict(X))

    @available_if(_has_probabilities)
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Compute the probability that each row belongs to each cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Embeddings, reduced as in `fit`.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_identifiers)
            Column i is the cluster with the identifier i; 0 if it no longer exists. Each row adds up to 1.
        """
        probability: Floats = self._answering.predict_proba(X)
        ids = self.cluster_ids_
        out = np.zeros((len(probability), ids.max() + 1))
        out[:, ids] = probability
        return out

    @property
    def cluster_ids_(self) -> Ints:
        """Identifier of each cluster, in the order of the labels of the tree."""
        return identified(self._answering, np.arange(self._answering.n_clusters_))

    @property
    def tree_(self) -> HyperplaneTree:
        """The tree that answers."""
        tree: HyperplaneTree = self._answering.tree_
        return tree

    @property
    def n_features_in_(self) -> int:
        """Number of features seen during `fit`."""
        if not hasattr(self, "model_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit or partial_fit")
        return int(self.model_.n_features_in_)

    def _learner(self) -> Any:
        learner = IncrementalMDH() if self.model is None else self.model
        if is_fitted(learner):
            raise ValueError("the model is already fitted, and BERTopic would fit it again: pass an unfitted model")
        return learner

    def _describe(self, model: Any, answering: Any, labels: Ints, X: ArrayLike) -> Self:
        """Keep the model that learns, the one that answers, and what BERTopic reads after each fit."""
        self.model_, self._answering = model, answering
        self.labels_ = identified(answering, labels)
        if hasattr(self, "probabilities_"):
            del self.probabilities_
        if self.calculate_probabilities:
            if not hasattr(answering, "predict_proba"):
                raise ValueError(
                    f"calculate_probabilities=True needs a model with predict_proba, which this {type(model).__name__} "
                    "does not have: it fits no mixture with these parameters, or to these rows"
                )
            self.probabilities_ = self.predict_proba(X)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._learner()).input_tags.sparse
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def _answering(model: Any) -> Any:
    """Return what answers until the tree is grown again: the model, or one of `IncrementalMDH` with its present tree.

    That one is for predictions only, and shares the rows of the model that learns.
    """
    if not isinstance(model, IncrementalMDH):
        return model
    model.tree_  # noqa: B018 — grows the tree and updates the identifiers
    out = copy(model)
    out._drop_labels()
    return out


def topic_probabilities(topic_model: Any, embeddings: Any) -> Floats:
    """Compute the probability of each topic for each document; BERTopic itself asks only HDBSCAN for them.

    Parameters
    ----------
    topic_model : BERTopic
        Fitted topic model, whose `hdbscan_model` has `predict_proba`.
    embeddings : ndarray of shape (n_documents, n_dimensions)
        Embeddings of the documents, not reduced.

    Returns
    -------
    probability : ndarray of shape (n_documents, n_topics)
        Column i is topic i, also after topics were merged. A row may add up to less than 1 if BERTopic does not know
        some cluster, because none of its documents was in a batch, or because all its documents are outliers.

    See Also
    --------
    BERTopicClusterer : Gives BERTopic the probabilities of the documents of its fit.

    Examples
    --------
    >>> import numpy as np
    >>> from bertopic import BERTopic
    >>> from bertopic.dimensionality import BaseDimensionalityReduction
    >>> from ravine import NCutH
    >>> from ravine.integrations.bertopic import topic_probabilities
    >>> from ravine.datasets import make_blobs
    >>> X, y = make_blobs([200, 100], centers=[[0, 0], [9, 0]], random_state=0)
    >>> documents = np.array(["the cat purrs", "a ship sails"])[y].tolist()
    >>> topic_model = BERTopic(umap_model=BaseDimensionalityReduction(), hdbscan_model=NCutH(2)).fit(documents, X)
    >>> topic_probabilities(topic_model, np.array([[0, 0], [9, 0]])).round(2)
    array([[1., 0.],
           [0., 1.]])
    """
    probability = topic_model.hdbscan_model.predict_proba(topic_model.umap_model.transform(embeddings))
    topics = _topics_of_clusters(topic_model)
    out = np.zeros((len(probability), max(topics.values(), default=OUTLIERS) + 1))
    for cluster, topic in topics.items():
        out[:, topic] += probability[:, cluster]
    return out


def topics_to_merge(topic_model: Any, n_topics: int) -> list[list[int]]:
    """Group the topics that are one cluster in the tree with `n_topics` clusters, for ``BERTopic.merge_topics``.

    The groups are those of ``cut_to(n_topics)``. So one fit has every smaller number of topics.

    Parameters
    ----------
    topic_model : BERTopic
        Fitted topic model, whose `hdbscan_model` is a model of ravine with a tree, or its adapter.
    n_topics : int
        Number of groups, without outliers.

    Returns
    -------
    groups : list of list of int
        Every topic is in one group.

    Examples
    --------
    >>> import numpy as np
    >>> from bertopic import BERTopic
    >>> from bertopic.dimensionality import BaseDimensionalityReduction
    >>> from ravine import NCutH
    >>> from ravine.integrations.bertopic import topics_to_merge
    >>> from ravine.datasets import make_blobs
    >>> X, y = make_blobs([200, 150, 100], centers=[[0, 0], [9, 0], [30, 0]], random_state=0)
    >>> documents = np.array(["the cat purrs", "a kitten sleeps", "a ship sails"])[y].tolist()
    >>> topic_model = BERTopic(umap_model=BaseDimensionalityReduction(), hdbscan_model=NCutH(3)).fit(documents, X)
    >>> groups = topics_to_merge(topic_model, 2)
    >>> groups
    [[0, 1], [2]]
    >>> topic_model.merge_topics(documents, groups)
    >>> topic_model.transform(["a new one"], np.array([[9, 0]]))[0]
    [np.int64(0)]
    """
    tree = _tree_of(topic_model)
    group_of_label = labels_in(tree, tree.cut_to(n_topics))
    groups: dict[int, set[int]] = {}
    for label, topic in _topics_of_labels(topic_model):
        groups.setdefault(int(group_of_label[label]), set()).add(topic)
    _check_nested(list(groups.values()))
    return sorted(sorted(group) for group in groups.values())


def topic_linkage(topic_model: Any) -> Floats:
    """Return the tree of cuts as a linkage of topics, for ``BERTopic.hierarchical_topics``.

    By default, BERTopic joins topics whose words are similar. This is the hierarchy of the clusters instead: the cuts
    in reverse order, as ``cut_to`` takes them back.

    Parameters
    ----------
    topic_model : BERTopic
        Fitted topic model, whose `hdbscan_model` is a model of ravine with a tree, or its adapter.

    Returns
    -------
    linkage : ndarray of shape (n_topics - 1, 4)
        Linkage in the format of SciPy. The distance of a fusion is its number, 1, 2, …; the last column counts topics.

    Examples
    --------
    >>> import numpy as np
    >>> from bertopic import BERTopic
    >>> from bertopic.dimensionality import BaseDimensionalityReduction
    >>> from ravine import NCutH
    >>> from ravine.integrations.bertopic import topic_linkage
    >>> from ravine.datasets import make_blobs
    >>> X, y = make_blobs([200, 150, 100], centers=[[0, 0], [9, 0], [30, 0]], random_state=0)
    >>> documents = np.array(["the cat purrs", "a kitten sleeps", "a ship sails"])[y].tolist()
    >>> topic_model = BERTopic(umap_model=BaseDimensionalityReduction(), hdbscan_model=NCutH(3)).fit(documents, X)
    >>> topic_linkage(topic_model)
    array([[0., 1., 1., 2.],
           [3., 2., 2., 3.]])
    """
    tree, topic_of_label = _tree_of(topic_model), dict(_topics_of_labels(topic_model))
    n_topics = sum(topic != OUTLIERS for topic in topic_model.topic_sizes_)
    if set(topic_of_label.values()) != set(range(n_topics)):
        raise ValueError(
            "some topics have no cluster in the tree, because clusters disappeared in partial_fit or topics were "
            "changed by hand: fit the topic model again"
        )
    number: dict[int, int] = {}  # in the linkage, of each node of the tree that has topics
    topics: dict[int, set[int]] = {}  # of each number
    for leaf in map(int, tree.leaves):
        topic = topic_of_label.get(int(tree.label[leaf]))
        if topic is not None:
            number[leaf], topics[topic] = topic, {topic}
    fusions: list[list[int]] = []
    for node in map(int, sorted(tree.cuts, key=lambda cut: -tree.rank[cut])):
        sides = list(dict.fromkeys(number[side] for side in _sides(tree, node) if side in number))
        if len(sides) == 2:
            _check_nested([topics[side] for side in sides])
            joined = topics[sides[0]] | topics[sides[1]]
            fusions.append([*sides, len(fusions) + 1, len(joined)])
            number[node] = n_topics + len(fusions) - 1
            topics[number[node]] = joined
        elif sides:
            number[node] = sides[0]
    return np.array(fusions, dtype=np.float64).reshape(-1, 4)


def _sides(tree: HyperplaneTree, node: int) -> tuple[int, int]:
    return int(tree.left[node]), int(tree.right[node])


def _check_nested(groups: list[set[int]]) -> None:
    """Raise ValueError if two groups of topics that lie apart in the tree share a topic."""
    if sum(map(len, groups)) > len(set().union(*groups)):
        raise ValueError(
            "clusters that are not neighbors in the tree were merged into one topic, by reduce_topics for instance: "
            "use a topic model whose topics were merged with topics_to_merge only"
        )


def _tree_of(topic_model: Any) -> HyperplaneTree:
    """Return the tree of the cluster model."""
    model = topic_model.hdbscan_model
    tree = getattr(model, "tree_", None)
    if not isinstance(tree, HyperplaneTree):
        raise TypeError(f"{type(model).__name__} has no tree of cuts: use a model of ravine that has tree_")
    return tree


def _topics_of_clusters(topic_model: Any) -> dict[int, int]:
    """Return the current topic of each cluster that BERTopic knows, without outliers."""
    mappings = topic_model.topic_mapper_.get_mappings()
    return {int(one): int(topic) for one, topic in mappings.items() if OUTLIERS not in (one, topic)}


def _topics_of_labels(topic_model: Any) -> Iterator[tuple[int, int]]:
    """Yield each label of the tree with the topic of its cluster, if BERTopic knows the cluster."""
    model, topics = topic_model.hdbscan_model, _topics_of_clusters(topic_model)
    is_adapter = isinstance(model, BERTopicClusterer)
    clusters = model.cluster_ids_ if is_adapter else np.arange(_tree_of(topic_model).n_clusters)
    for label, cluster in enumerate(map(int, clusters)):
        if cluster in topics:
            yield label, topics[cluster]
