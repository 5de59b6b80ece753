"""Figures of the page on explanations: what chance gives, how good rules are, and what all of it costs.

Run `python -m benchmarks.explanations`: a minute on one core. The table of customers has 20 columns, of which 14 are
numbers, 4 categories, one a date and one a truth value.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

from ravine.explain import _measure, _rules, _search, cluster_names, profile, rules, sentence

Rows = NDArray[np.float64]
Labels = NDArray[np.int64]


def customers(n: int, n_clusters: int, seed: int = 0, noise: float = 1.0) -> tuple[dict[str, Any], Labels]:
    """Customers of several kinds, with gaps."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, n_clusters, n)
    table: dict[str, Any] = {}
    for j in range(12):
        table[f"number {j}"] = rng.normal(0, 2.5, n_clusters)[kind] + noise * rng.normal(size=n)
    table["spend"] = np.round(np.exp(rng.normal(5, 1, n_clusters)[kind] + 0.4 * rng.normal(size=n)), 2)
    table["spend"][rng.random(n) < 0.05] = np.nan
    table["age"] = np.floor(np.clip(rng.normal(20 + 30 * rng.random(n_clusters)[kind], 6), 18, 99))
    for j in range(4):
        levels = np.array([f"level {i}" for i in range(6 * (j + 1))], dtype=object)
        up_to = rng.dirichlet(np.full(len(levels), 0.4), n_clusters).cumsum(axis=1)
        drawn = (rng.random(n)[:, np.newaxis] > up_to[kind]).sum(axis=1)
        table[f"category {j}"] = levels[np.minimum(drawn, len(levels) - 1)]
        table[f"category {j}"][rng.random(n) < 0.03] = None
    days = (rng.random(n_clusters)[kind] * 1000 + 100 * rng.random(n)).astype(int)
    table["joined"] = np.datetime64("2020-01-01") + days
    table["newsletter"] = rng.random(n) < rng.random(n_clusters)[kind]
    return table, kind


def numbers_of(table: dict[str, Any]) -> Rows:
    return np.column_stack([table[f"number {j}"] for j in range(12)])


def chance() -> None:
    """Mean difference of clusters that are drawn at random, before and after chance is subtracted."""
    rng, n = np.random.default_rng(0), 20_000
    levels = [f"level {i}" for i in range(30)]
    table = {"number": rng.normal(size=n), "30 levels": rng.choice(levels, n), "yes or no": rng.random(n) < 0.3}
    print("rows of a cluster:", *(f"{name} before, after" for name in table), sep=" | ")
    for n_clusters in (4, 40, 400, 2000):
        labels = rng.integers(0, n_clusters, n)
        after = profile(table, labels).difference.mean(axis=0)
        kept, _measure.MOST_CHANCE = _measure.MOST_CHANCE, 0.0
        before = profile(table, labels).difference.mean(axis=0)
        _measure.MOST_CHANCE = kept
        print(n // n_clusters, *(f"{a:.3f}, {b:.3f}" for a, b in zip(before, after, strict=True)), sep=" | ")


def f1(precision: float, coverage: float) -> float:
    return 2 * precision * coverage / (precision + coverage) if precision + coverage > 0 else 0.0


def f1_of_rules(X: Rows, labels: Labels, width: int) -> tuple[float, float, float]:
    """Mean F1 on held-out rows, mean number of conditions, and processor time."""
    kept, _search.WIDTH = _search.WIDTH, width
    start = time.process_time()
    found = rules(X, labels).rules
    seconds = time.process_time() - start
    _search.WIDTH = kept
    scores = [f1(rule.held_out_precision, rule.held_out_coverage) for rule in found]
    return float(np.mean(scores)), float(np.mean([len(rule.conditions) for rule in found])), seconds


def f1_of_trees(X: Rows, labels: Labels) -> float:
    """Mean F1 on held-out rows of the best node of a decision tree of depth 3 for each cluster."""
    rows, weights = _rules._sample(labels)
    held_out = np.setdiff1d(np.arange(len(labels)), rows)
    scores = []
    for cluster in np.unique(labels):
        is_in = labels == cluster
        tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[rows], is_in[rows], sample_weight=weights)
        passes = tree.decision_path(X[rows]).toarray().astype(bool)
        hits, total = (weights * is_in[rows]) @ passes, weights @ passes
        node = int(np.argmax(2 * hits / (total + (weights * is_in[rows]).sum())))
        holds = tree.decision_path(X[held_out]).toarray().astype(bool)[:, node]
        here = is_in[held_out]
        scores.append(f1(here[holds].mean() if holds.any() else 0.0, holds[here].mean()))
    return float(np.mean(scores))


def search() -> None:
    """F1 on held-out rows, with beams of three widths, and of decision trees."""
    loaders = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
    data = {name: loader(return_X_y=True) for name, loader in loaders.items()}
    for n, n_clusters, noise in ((20_000, 8, 2.0), (100_000, 200, 1.0)):
        table, labels = customers(n, n_clusters, 1, noise)
        data[f"12 numbers, {n_clusters} clusters"] = numbers_of(table), labels
    print("data", "width 1", "width 5", "width 20", "decision tree", sep=" | ")
    for name, (X, labels) in data.items():
        found = [f1_of_rules(X, labels, width) for width in (1, 5, 20)]
        texts = [f"{score:.3f} ({n:.1f} conditions, {seconds:.1f} s)" for score, n, seconds in found]
        print(name, *texts, f"{f1_of_trees(X, labels):.3f}", sep=" | ", flush=True)


def cost() -> None:
    """Processor time for a table of 100,000 rows and 20 columns."""
    for n_clusters in (8, 500):
        table, labels = customers(100_000, n_clusters)
        marks = [time.process_time()]
        profiles = profile(table, labels)
        marks.append(time.process_time())
        cluster_names(profiles)
        for cluster in profiles.clusters:
            sentence(profiles, int(cluster))
        marks.append(time.process_time())
        _ = profiles.cluster_order, profiles.column_order
        marks.append(time.process_time())
        found = rules(table, labels)
        marks.append(time.process_time())
        seconds = ", ".join(
            f"{what} {end - begin:.2f} s"
            for what, begin, end in zip(("profiles", "words", "order", "rules"), marks, marks[1:], strict=False)
        )
        print(f"{n_clusters} clusters: {seconds}; agreement of the rules {found.agreement:.2f}")


if __name__ == "__main__":
    chance()
    search()
    cost()
