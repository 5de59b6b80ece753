"""Stability of a clustering: is a cluster found again if the model is fitted to other samples of the rows?

After Hennig, Cluster-wise assessment of cluster stability, Computational Statistics & Data Analysis 52 (2007) 258–271:
the model is fitted again to resamples of the rows, and each cluster is compared with the most similar cluster of each
refit by their Jaccard overlap. The cost is that of the refits and of one prediction of all rows for each.
"""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from ravine._blocks import map_items
from ravine._matrix import Floats, Ints
from ravine._outofcore import is_out_of_core
from ravine._sklearn import HasMethods, Interval, StrOptions, is_fitted, num_samples, safe_indexing, validate_params
from ravine.evaluation._overlap import overlap, positions
from ravine.evaluation._stability_text import as_html, in_words

FOUND = 0.75
"""A cluster is found again in a resample if its Jaccard overlap is at least this number."""

STABLE, SELDOM = 0.8, 0.2
"""A cluster is stable if it is found again in at least the first share of the resamples, and not found again if in less
than the second."""

SHARE = {"subsample": 0.63, "bootstrap": 1.0}
"""Size of a resample, as a share of the rows; 0.63 is the share of distinct rows in a bootstrap."""


@dataclass(frozen=True, repr=False, eq=False)
class Stability:
    """Result of `stability`.

    The parameters are also available as attributes. Resamples whose refit failed are left out of all of them but
    `errors`. `print` shows a summary in words.

    Parameters
    ----------
    clusters : ndarray of shape (n_reference,)
        Labels of the clusters of the reference.
    sizes : ndarray of shape (n_reference,)
        Number of rows of each cluster of the reference.
    n_clusters : ndarray of shape (n_resamples,)
        Number of clusters in each resample.
    jaccard : ndarray of shape (n_resamples, n_reference)
        Jaccard overlap of each cluster with the most similar cluster of each resample. 1 means the same rows. NaN
        if none of the compared rows is in the cluster.
    ari : ndarray of shape (n_resamples,)
        Adjusted Rand index of each resample with the reference. Rows in no cluster count as one more cluster.
    co_membership : ndarray of shape (n_reference, n_reference)
        Probability that a row of one cluster and a row of another are in the same cluster of a resample. A large
        number outside the diagonal says which clusters are merged or mixed.
    row_agreement : ndarray of shape (n_samples,)
        For each row, the share of resamples in which it is in the cluster that is most similar to its own. NaN if
        it was never compared.
    n_fitted : int
        Number of rows in a resample.
    errors : tuple of str
        Messages of the refits that failed.

    See Also
    --------
    stability : Returns a `Stability`.
    ravine.plot.stability : Draws a `Stability`.

    Examples
    --------
    >>> from ravine import NCutH
    >>> from ravine.datasets import make_blobs
    >>> from ravine.evaluation import stability
    >>> X, y = make_blobs(600, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> found = stability(NCutH(), X, n_resamples=5)
    >>> found.counts
    {3: 5}
    >>> found.verdicts
    ['stable', 'stable', 'stable']
    """

    clusters: Ints
    sizes: Ints
    n_clusters: Ints
    jaccard: Floats
    ari: Floats
    co_membership: Floats
    row_agreement: Floats
    n_fitted: int
    errors: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[int, int]:
        """How often each number of clusters came out; the most frequent number is the first."""
        number, count = np.unique(self.n_clusters, return_counts=True)
        order = np.lexsort([number, -count])
        return {int(number[i]): int(count[i]) for i in order}

    @property
    def mean_jaccard(self) -> Floats:
        """Mean Jaccard overlap of each cluster."""
        return _mean(self.jaccard)

    @property
    def n_found_again(self) -> Ints:
        """Number of resamples in which each cluster was found again: its Jaccard overlap is at least 0.75."""
        return np.asarray((self.jaccard >= FOUND).sum(axis=0))

    @property
    def share_found_again(self) -> Floats:
        """Share of the resamples in which each cluster was found again."""
        return _mean(np.where(np.isnan(self.jaccard), np.nan, self.jaccard >= FOUND))

    @property
    def verdicts(self) -> list[str]:
        """For each cluster: "stable", "uncertain" or "not found again"."""
        return [
            "stable" if share >= STABLE else "not found again" if share < SELDOM else "uncertain"
            for share in self.share_found_again
        ]

    def to_frame(self) -> Any:
        """Return one row for each cluster of the reference.

        Returns
        -------
        frame : pandas.DataFrame
            Label, number of rows, mean Jaccard overlap, number and share of resamples in which the cluster was found
            again, and the verdict.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "cluster": self.clusters,
                "n_samples": self.sizes,
                "mean_jaccard": self.mean_jaccard,
                "n_found_again": self.n_found_again,
                "share_found_again": self.share_found_again,
                "verdict": self.verdicts,
            }
        )

    def __str__(self) -> str:
        return "\n".join(in_words(self))

    def __repr__(self) -> str:
        return f"<Stability: {len(self.clusters)} clusters, {len(self.n_clusters)} resamples>"

    def _repr_html_(self) -> str:
        return as_html(self)


def _mean(values: Floats) -> Floats:
    """Return the mean of each column without NaN; NaN if there is nothing else."""
    known = ~np.isnan(values)
    total, count = np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


@validate_params(
    {
        "model": [HasMethods(["fit", "get_params"])],
        "n_resamples": [Interval(Integral, 1, None, closed="left")],
        "resample": [StrOptions(set(SHARE))],
        "share": [Interval(Real, 0, 1, closed="right"), None],
        "max_rows": [Interval(Integral, 2, None, closed="left"), None],
        "random_state": [Interval(Integral, 0, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "on_resample": [callable, None],
    },
    prefer_skip_nested_validation=True,
)
def stability(
    model: Any,
    X: Any,
    *,
    n_resamples: int = 20,
    resample: str = "subsample",
    share: float | None = None,
    max_rows: int | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    on_resample: Callable[[int], object] | None = None,
) -> Stability:
    """Fit a clusterer to resamples of the rows, and compare the clusters with those of all rows.

    Each resample gets a new clone of the model with another ``random_state``, in a pipeline in every step. If the model
    can predict, all rows of `X` are predicted and compared, otherwise only the rows of the resample. The original model
    is unchanged.

    A cluster is found again in a resample if a cluster of the refit has a Jaccard overlap of at least 0.75 with it.
    It is "stable" if it is found again in at least 80 % of the resamples, "not found again" if in less than 20 %, and
    else "uncertain".

    Stable does not mean real. k-means with four clusters divides a uniform square into the same four quarters every
    time. A cluster that is not found again, however, is no result to act on.

    Parameters
    ----------
    model : estimator
        A clusterer of ravine or scikit-learn, or a pipeline that ends with one. If it is fitted, its clusters of `X`
        are the reference. Otherwise a clone is fitted to `X` first. Refits use the parameters of the model: for four
        clusters, pass ``NCutH(4)``, not ``NCutH().fit(X).cut_to(4)``.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows, in memory. Rows are drawn by position, and a pipeline is fitted to the drawn rows of the frame.
    n_resamples : int, default=20
        Number of resamples.
    resample : {"subsample", "bootstrap"}, default="subsample"
        How rows are drawn: without or with replacement. In a bootstrap, copies of a row look like dense places, so that
        methods that test for valleys find too many clusters.
    share : float, optional
        Number of rows in a resample, as a share of all rows. Default: 0.63 for a subsample, as many rows
        as a bootstrap has without copies, and 1 for a bootstrap.
    max_rows : int, optional
        Largest number of rows in a resample, to save time. Default: no limit. With fewer rows, methods that choose the
        number of clusters may find fewer.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows, for the fits and for the Jaccard overlaps.
    random_state : int or None, default=0
        Seed of the resamples and of the refits. None draws a new one.
    n_jobs : int or None, default=None
        Number of refits at the same time, on threads: None is 1, and -1 means all cores. Each needs memory for its
        rows. The result does not depend on it.
    on_resample : callable ``(n_done) -> None``, optional
        Called after each resample with the number of resamples done so far.

    Returns
    -------
    Stability
        Number of clusters of each resample, overlaps and verdicts of the clusters, and the agreement of each row.

    See Also
    --------
    ravine.plot.stability : Draws the result.

    Notes
    -----
    Warnings of the refits are not shown. A refit that raises an error is counted in ``errors``. If all of them
    fail, the error of the first one is raised.

    References
    ----------
    Hennig, C. (2007). Cluster-wise assessment of cluster stability. Computational Statistics & Data Analysis, 52(1),
    258–271.

    Examples
    --------
    The last two of these clusters overlap.

    >>> from ravine import PDDP
    >>> from ravine.datasets import make_blobs
    >>> from ravine.evaluation import stability
    >>> X, y = make_blobs(400, centers=[[0, 0], [25, 0], [0, 25], [4, 25]], random_state=0)
    >>> found = stability(PDDP(), X, n_resamples=10)
    >>> found.counts
    {3: 6, 4: 4}
    >>> found.verdicts
    ['stable', 'stable', 'uncertain', 'uncertain']
    >>> found.mean_jaccard.round(2)
    array([1.  , 1.  , 0.69, 0.7 ])
    """
    _check(model, X, n_resamples)
    rows = _Rows(X, sample_weight)
    seeds = np.random.SeedSequence(random_state)
    if not is_fitted(model):
        model = rows.fit(_with_seeds(model, np.random.default_rng(seeds), replace=False), None)
    reference = _labels(model, X)
    n_drawn = max(round((SHARE[resample] if share is None else share) * len(rows.drawable)), 1)
    n_drawn = n_drawn if max_rows is None else min(n_drawn, max_rows)
    run = _Run(model, rows, reference, n_drawn, resample == "bootstrap", on_resample)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = map_items(run.compare, seeds.spawn(n_resamples), n_jobs)
    return run.result(outcomes)


def _check(model: Any, X: Any, n_resamples: int) -> None:
    if isinstance(model, type):
        raise TypeError(f"model is the class {model.__name__}: pass an instance, {model.__name__}()")
    if isinstance(n_resamples, bool):
        raise ValueError(f"n_resamples={n_resamples!r} must be an integer, not a bool")
    if is_classifier(model):
        raise TypeError(f"{type(model).__name__} is a classifier, whose clusters are given by labels: pass a clusterer")
    if is_out_of_core(X):
        raise TypeError("X is out-of-core data, of which rows cannot be drawn: pass a sample of the rows in memory")
    if sparse.issparse(X) and X.format not in ("csr", "csc"):
        raise TypeError(f"X is a sparse matrix in {X.format.upper()} format: pass X.tocsr()")
    if num_samples(X) < 2:
        raise ValueError(f"X has {num_samples(X)} rows: a resample needs at least two")


class _Rows:
    """The rows, and their weights."""

    def __init__(self, X: Any, sample_weight: ArrayLike | None) -> None:
        self.X, self.n_samples = X, num_samples(X)
        self.is_weighted = sample_weight is not None
        self.weights: Floats = np.ones(self.n_samples)
        if sample_weight is not None:
            self.weights = check_array(
                sample_weight, dtype=np.float64, ensure_2d=False, ensure_non_negative=True, input_name="sample_weight"
            )
        if self.weights.shape != (self.n_samples,):
            raise ValueError(f"sample_weight has shape {self.weights.shape}: pass one weight for each of the rows")
        self.drawable = np.flatnonzero(self.weights > 0)
        if not len(self.drawable):
            raise ValueError("sample_weight has no positive weight: leave it out, or give the rows a weight")

    def fit(self, model: Any, chosen: Ints | None) -> Any:
        """Fit a model to some rows, or to all."""
        X, weights = self.X, self.weights
        if chosen is not None:
            X, weights = safe_indexing(X, chosen), weights[chosen]
        return model.fit(X, **({_weight_name(model): weights} if self.is_weighted else {}))


def _weight_name(model: Any) -> str:
    """Return the name of the argument of `fit` for the weights; in a pipeline they are those of the last step."""
    name, last = model.steps[-1] if isinstance(model, Pipeline) else (None, model)
    if "sample_weight" not in inspect.signature(last.fit).parameters:
        raise TypeError(f"{type(last).__name__}.fit has no sample_weight: leave sample_weight out")
    return "sample_weight" if name is None else f"{name}__sample_weight"


def _labels(model: Any, X: Any) -> Ints:
    """Return the cluster of each row of X, by a fitted model, or for one that cannot predict by its `labels_`."""
    holder = model[-1] if isinstance(model, Pipeline) else model
    can_predict = hasattr(model, "predict")
    if not can_predict and not hasattr(holder, "labels_"):
        raise TypeError(f"{type(holder).__name__} has neither predict nor labels_: pass a clusterer")
    labels: NDArray[Any] = np.asarray(model.predict(X) if can_predict else holder.labels_)
    if labels.shape != (num_samples(X),):
        raise ValueError(
            f"{type(holder).__name__} has labels of shape {labels.shape} for {num_samples(X)} rows: pass the rows that "
            "it was fitted to, or a model that is not fitted"
        )
    if labels.dtype.kind not in "iu":
        raise TypeError(
            f"{type(holder).__name__} has labels of type {labels.dtype}: the labels of clusters are integers"
        )
    return labels.astype(np.int64)


@dataclass(frozen=True)
class _Outcome:
    """What is kept of a refit; `error` is set if it failed."""

    error: Exception | None = None
    n_clusters: int = 0
    ari: float = np.nan
    jaccard: Floats | None = None
    together: Floats | None = None


class _Run:
    """The comparison of refits with a reference, which counts how often the label of each row agrees."""

    def __init__(
        self,
        model: Any,
        rows: _Rows,
        reference: Ints,
        n_drawn: int,
        replace: bool,
        on_resample: Callable[[int], object] | None,
    ) -> None:
        self.model, self.rows, self.n_drawn, self.replace = model, rows, n_drawn, replace
        self.clusters, self.reference = positions(reference)
        self.on_resample = on_resample
        self.n_done = 0
        self.n_agreed, self.n_compared = (np.zeros(rows.n_samples, dtype=np.int32) for _ in range(2))
        self.lock = Lock()

    def compare(self, seed: np.random.SeedSequence) -> _Outcome:
        """Fit the model to a resample, and compare its clusters with the reference."""
        rng = np.random.default_rng(seed)
        chosen = self._draw(rng)
        try:
            compared, labels = self._refit(chosen, rng)
        except Exception as error:
            outcome = _Outcome(error)
        else:
            outcome = self._outcome(compared, labels)
        with self.lock:
            self.n_done += 1
            if self.on_resample is not None:
                self.on_resample(self.n_done)
        return outcome

    def _draw(self, rng: np.random.Generator) -> Ints:
        """Return the positions of the rows of a resample in their order, as the rows of a stream have one."""
        return np.sort(rng.choice(self.rows.drawable, self.n_drawn, replace=self.replace))

    def _refit(self, chosen: Ints, rng: np.random.Generator) -> tuple[Ints | slice, Ints]:
        """Return the rows to compare, and the labels of a refit for them."""
        fitted = self.rows.fit(_with_seeds(self.model, rng, replace=True), chosen)
        if hasattr(fitted, "predict"):
            return slice(None), _labels(fitted, self.rows.X)
        distinct, first = np.unique(chosen, return_index=True)
        return distinct, _labels(fitted, safe_indexing(self.rows.X, chosen))[first]

    def _outcome(self, compared: Ints | slice, labels: Ints) -> _Outcome:
        reference, weights = self.reference[compared], self.rows.weights[compared]
        clusters, found = positions(labels)
        here = overlap(reference, len(self.clusters), found, len(clusters), weights)
        agrees = np.where(reference < 0, found < 0, found == np.append(here.match, -1)[reference])
        with self.lock:
            self.n_agreed[compared] += agrees
            self.n_compared[compared] += 1
        has_weight = weights > 0
        ari = float(adjusted_rand_score(reference[has_weight], found[has_weight]))
        return _Outcome(None, len(clusters), ari, here.jaccard, here.together)

    def result(self, outcomes: list[_Outcome]) -> Stability:
        """Collect what the refits gave."""
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        done = [outcome for outcome in outcomes if outcome.error is None]
        if not done:
            raise ValueError(f"all {len(errors)} refits failed; the first error: {errors[0]}") from errors[0]
        n_compared = self.n_compared
        return Stability(
            clusters=self.clusters,
            sizes=np.bincount(self.reference + 1, minlength=len(self.clusters) + 1)[1:],
            n_clusters=np.array([outcome.n_clusters for outcome in done]),
            jaccard=np.array([outcome.jaccard for outcome in done]),
            ari=np.array([outcome.ari for outcome in done]),
            co_membership=_mean(np.array([outcome.together for outcome in done])),
            row_agreement=np.divide(
                self.n_agreed, n_compared, out=np.full(len(n_compared), np.nan), where=n_compared > 0
            ),
            n_fitted=self.n_drawn,
            errors=tuple(f"{type(error).__name__}: {error}" for error in errors),
        )


def _with_seeds(model: Any, rng: np.random.Generator, *, replace: bool) -> Any:
    """Return a clone in which every parameter `random_state` is a drawn number; or only where it is None."""
    params = sorted((item for item in model.get_params().items() if _is_seed(item[0])), key=lambda item: item[0])
    seeds = rng.integers(np.iinfo(np.int32).max, size=len(params)).tolist()
    drawn = {name: seed for (name, value), seed in zip(params, seeds, strict=True) if replace or value is None}
    return clone(model).set_params(**drawn)


def _is_seed(name: str) -> bool:
    return name.rpartition("__")[2] == "random_state"
