"""The two pictures of the README: `IncrementalMDH` beside KMeans and beside HDBSCAN, on generated data.

Run `python docs/figures/versus.py`. It writes the pictures to `docs/images` and prints the scores that the README
quotes: means over 20 draws of the data. The pictures show the first draw.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from _drawing import draw_in_a_square, draw_rows
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score

from ravine import IncrementalMDH

IMAGES = Path(__file__).parents[1] / "images"

N_DRAWS = 20

MIN_CLUSTER_SIZES = (5, 10, 25, 50, 100)
"""Values that HDBSCAN may choose from. The true classes pick the best one for each draw, which favors HDBSCAN."""


def long_clusters(seed):
    """Three long parallel clusters of 600, 400 and 200 rows, turned by 45 degrees."""
    rng = np.random.default_rng(seed)
    y = np.repeat(range(3), (600, 400, 200))
    X = rng.normal(size=(len(y), 2)) * [3, 0.6]
    X[:, 1] += 3.5 * (y - 1)
    return X @ np.array([[1, 1], [-1, 1]]) / np.sqrt(2), y


def close_clusters(seed):
    """Three normal clusters of 400 rows each, about four standard deviations apart."""
    rng = np.random.default_rng(seed)
    y = np.repeat(range(3), 400)
    return np.array([[0, 0], [4, 0], [2, 3.5]])[y] + rng.normal(size=(len(y), 2)), y


def kmeans_labels(X, y):
    """Labels of KMeans with the true number of clusters and ten starts."""
    return KMeans(len(np.unique(y)), n_init=10, random_state=0).fit_predict(X)


def hdbscan_labels(X, y):
    """Labels of HDBSCAN with the `min_cluster_size` that scores best against the true classes."""
    tried = [HDBSCAN(min_cluster_size=size, copy=True).fit_predict(X) for size in MIN_CLUSTER_SIZES]
    return max(tried, key=lambda labels: adjusted_rand_score(y, labels))


def draw(ax, X, labels, title):
    """Rows by cluster, with rows that are noise in gray."""
    noise = labels < 0
    draw_in_a_square(ax, X, np.zeros(len(X), dtype=int), size=0)  # sets the limits, from all rows
    draw_rows(ax, X[~noise], labels[~noise], size=5, alpha=0.7)
    ax.scatter(*X[noise].T, s=4, color="#b5b5b5", linewidth=0)
    ax.set_title(title, size=9)


def scores(make, peer):
    """Scores of both methods, one line a draw.

    A line has our number of clusters, whether the valley test chose it, our ARI, our ARI on new rows, the peer's ARI
    and its share of noise.
    """
    lines = []
    for seed in range(N_DRAWS):
        X, y = make(seed)
        new, of_new = make(1000 + seed)
        model, labels = IncrementalMDH().fit(X), peer(X, y)
        ours, later = adjusted_rand_score(y, model.labels_), adjusted_rand_score(of_new, model.predict(new))
        tested = model.selection_ == "evidence"
        lines.append((model.n_clusters_, tested, ours, later, adjusted_rand_score(y, labels), np.mean(labels < 0)))
    return np.array(lines)


def compare(make, peer, name, file):
    """Draw the first draw with both methods, and print the scores of all."""
    X, y = make(0)
    model, labels = IncrementalMDH().fit(X), peer(X, y)
    share = f", {np.mean(labels < 0):.0%} noise" if (labels < 0).any() else ""
    _, (left, right) = plt.subplots(1, 2, figsize=(4, 2.35), layout="constrained")
    draw(left, X, labels, f"{name}\nARI {adjusted_rand_score(y, labels):.2f}{share}")
    ours = adjusted_rand_score(y, model.labels_)
    draw(right, X, model.labels_, f"IncrementalMDH()\nARI {ours:.2f}, {model.n_clusters_} found")
    plt.savefig(IMAGES / file, dpi=200)
    plt.close()
    table = scores(make, peer)
    _, _, ours, later, theirs, noise = table.mean(axis=0)
    right_number, tested = np.sum(table[:, 0] == len(np.unique(y))), int(table[:, 1].sum())
    print(f"{file}: {name} ARI {theirs:.2f}, noise {noise:.0%}")
    print(f"  IncrementalMDH() ARI {ours:.2f}, on new rows {later:.2f}; right number {right_number} of {N_DRAWS} times")
    print(f"  number chosen by the valley test {tested} of {N_DRAWS} times, else by the elbow, with a warning")


if __name__ == "__main__":
    compare(long_clusters, kmeans_labels, "KMeans(3)", "versus-kmeans.png")
    compare(close_clusters, hdbscan_labels, "HDBSCAN, best of 5", "versus-hdbscan.png")
