"""Cluster handwritten digits without saying how many there are, and draw what was found."""

import time
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from ravine import NCutH, plot


def main() -> None:
    """Fit, print a table, write the picture."""
    digits = load_digits()
    start = time.perf_counter()
    model = NCutH().fit(digits.data)
    seconds = time.perf_counter() - start
    tree = model.tree_

    print(f"{len(digits.data)} images of handwritten digits, {digits.data.shape[1]} pixels each")
    print(f"{model.n_clusters_} clusters found in {seconds:.1f} s, compilation included\n")
    print("cluster   rows   commonest digit   its share")
    for label in range(model.n_clusters_):
        members = digits.target[model.labels_ == label]
        digit = max(range(10), key=lambda d, members=members: (members == d).sum())
        print(f"{label:7}  {len(members):5}   {digit:15}   {(members == digit).mean():9.0%}")
    nmi = normalized_mutual_info_score(digits.target, model.labels_)
    ari = adjusted_rand_score(digits.target, model.labels_)
    print(f"\nagainst the true digits, which the method did not see: NMI {nmi:.2f}, ARI {ari:.2f}")

    def draw_mean_image(axes, node):
        axes.imshow(tree.mean[node].reshape(8, 8), cmap="gray_r")
        axes.spines[:].set_visible(False)

    names = [f"pixel {row},{column}" for row in range(8) for column in range(8)]
    figure = plot.tree(model, digits.data, feature_names=names, draw_leaf=draw_mean_image)
    path = Path("demo/digits.png")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    print(f"\npicture: {path}")


if __name__ == "__main__":
    main()
