"""What a file keeps of an `IncrementalMDH`, and how it is checked. Nothing here needs scikit-learn."""

import math
from dataclasses import replace
from typing import ClassVar

from ravine import _kernels
from ravine._schema import Array, FieldError, Group, Sizes, State, Word, require
from ravine.cluster._fitted import LABELED_TREE, FittedEvidenceTree
from ravine.cluster._identity import IDENTITIES, ids_are_distinct
from ravine.cluster._sampled_stream import STREAM, saved_center_and_scale
from ravine.tree._check import TREE
from ravine.tree._imdh import IMDHTree, Settings

WARM_UP = 100
"""The cut of a node follows the principal component for this many rows."""


def tree_is_there_or_can_be_grown(state: State, sizes: Sizes) -> None:
    """A tree comes with the reason for its number of clusters; a stream without a tree has no labels."""
    is_grown = state["tree"] is not None
    can_grow = state["stream"] is not None and state["labels"] is None
    require(is_grown or can_grow, "tree", "is empty, which needs a stream to grow it from and no labels")
    require((state["chosen"] is not None) == is_grown, "chosen", "must be there if and only if there is a tree")


def clusters_have_identities(state: State, sizes: Sizes) -> None:
    """The clusters of the tree have identifiers; those of the last tree if it is to be grown again."""
    identities, is_grown = state["identities"], state["tree"] is not None
    require(identities is not None or not is_grown, "identities", "is empty, but the model has clusters")
    if identities is not None:
        is_needed = (identities["tree"] is None) == is_grown
        require(is_needed, "identities.tree", "must be there if and only if the model has no tree")
        n_clusters = (sizes["n_nodes"] + 1) // 2  # of a binary tree
        n_ids = sizes["n_identities"]
        require(n_ids == n_clusters, "identities.ids", f"has {n_ids} entries for {n_clusters} clusters")


def online_cuts_give_a_tree(state: State, sizes: Sizes) -> None:
    """If no rows are kept, the tree is made of the cuts of the stream."""
    stream = state["stream"]
    if stream is not None and not sizes["sample_size"]:
        online = IMDHTree.from_state(sizes["max_depth"], Settings(), stream["is_sparse"], stream["online"])
        try:
            online.cut_tree(*saved_center_and_scale(stream, sizes))
        except ValueError as error:
            raise FieldError("stream.online", f"gives no tree: {error}") from None


SAVED = Group(
    {
        "tree": replace(TREE, optional=True),
        "labels": LABELED_TREE.fields["labels"],
        "chosen": Group(
            {
                "selection": Word(("asked", "evidence", "elbow")),
                "elbow_path": Array("float64", ("n_path",), optional=True),
            },
            optional=True,
        ),
        "stream": STREAM,
        "identities": Group({**IDENTITIES, "tree": replace(TREE, optional=True)}, (ids_are_distinct,), optional=True),
    },
    (
        tree_is_there_or_can_be_grown,
        *LABELED_TREE.relations,
        clusters_have_identities,
        online_cuts_give_a_tree,
    ),
)


class FittedIncremental(FittedEvidenceTree):
    """The part of `IncrementalMDH` that its file determines."""

    _schema: ClassVar[Group] = SAVED

    algorithm: str
    metric: str
    standardize: bool
    memory_length: float | None
    sample_size: int
    max_depth: int
    exponent: float
    alpha: float
    penalty: float

    def _sizes(self) -> Sizes:
        _, size = self._stream_options()
        heap = {"max_depth": self.max_depth, "n_cuts": 1 << self.max_depth, "n_heap": 2 << self.max_depth}
        columns = {"n_scalars": _kernels.imdh.N_SCALARS, "standardize": self._scales_columns}
        numbers = {**columns, "sample_size": size or 0}
        return {**super()._sizes(), **heap, **numbers}

    @property
    def _scales_columns(self) -> bool:
        return self.standardize and self.metric == "euclidean"

    def _stream_options(self) -> tuple[Settings, int | None]:
        """Return the settings of the stochastic gradient, and the number of rows to keep; None if no rows are kept."""
        settings = Settings(
            exponent=self.exponent,
            alpha=self.alpha,
            penalty=self.penalty,
            warm_up=WARM_UP if self.algorithm == "polished" else 0,
            most=math.inf if self.memory_length is None else self.memory_length,
        )
        size = self.sample_size if self.memory_length is None else min(self.sample_size, math.ceil(self.memory_length))
        return settings, size if self.algorithm == "polished" else None
