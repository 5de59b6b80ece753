"""
Looking at cuts as images
=========================

A cut is a hyperplane in the columns of the data. If the columns are pixels, the normal of a cut is an image.
Ink in the red pixels sends an image to the right, and ink in the blue pixels sends it to the left.
"""

# %%
# The data are 1,797 images of handwritten digits, 8 by 8 pixels. ``NCutH`` chooses the number of clusters
# automatically.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from ravine import NCutH

X, digit = load_digits(return_X_y=True)
model = NCutH().fit(X)
kmeans = KMeans(10, n_init=10, random_state=0).fit(X)
for name, labels in ((f"NCutH, {model.n_clusters_} clusters", model.labels_), ("KMeans(10)", kmeans.labels_)):
    nmi, ari = normalized_mutual_info_score(digit, labels), adjusted_rand_score(digit, labels)
    print(f"{name:20s} NMI {nmi:.2f}, ARI {ari:.2f}")

# %%
# ``KMeans``, with the number of clusters given, is about as good by these scores. But it gives no reason for a
# cluster. The plot shows the first six cuts, in the order in which they were made. The middle row has their
# normals. Above and below are the mean images of the two sides, with the digits that have most of their images
# there.

tree = model.tree_
first = tree.cuts[np.argsort(tree.rank[tree.cuts])][:6]
on_path = tree.decision_path(X).toarray()


def digits_at(node):
    """Name the digits that have most of their images at a node."""
    here = np.bincount(digit[on_path[:, node]], minlength=10)
    return " ".join(str(d) for d in range(10) if here[d] > 0.5 * np.bincount(digit)[d])


fig, axes = plt.subplots(3, 6, figsize=(9, 4.9), layout="constrained")
for (left, normal, right), cut in zip(axes.T, first, strict=True):
    reach = abs(tree.normal[cut]).max()
    normal.imshow(tree.normal[cut].reshape(8, 8), cmap="RdBu_r", vmin=-reach, vmax=reach)
    normal.set_title(f"cut {cut}", fontsize=9)
    for ax, side, child in ((left, "left", tree.left[cut]), (right, "right", tree.right[cut])):
        ax.imshow(tree.mean[child].reshape(8, 8), cmap="gray_r")
        ax.set_title(f"{side}: {digits_at(child)}", fontsize=9)
for ax in axes.ravel():
    ax.set(xticks=[], yticks=[])

# %%
# The next plot shows the mean image of each cluster and the share of its most frequent digit. Most clusters are
# one way of writing one digit, for instance sevens with and without a bar. The method fails on the eights: most
# of them are in a cluster with the ones or the threes, and no cut that separates them has enough evidence.

size = tree.count[tree.leaves]
fig, axes = plt.subplots(2, 8, figsize=(9, 3.1), layout="constrained")
for ax in axes.ravel():
    ax.set_axis_off()
for cluster, ax in zip(range(model.n_clusters_), axes.ravel(), strict=False):
    most = np.bincount(digit[model.labels_ == cluster]).max() / size[cluster]
    name = np.bincount(digit[model.labels_ == cluster]).argmax()
    ax.imshow(tree.mean[tree.leaves[cluster]].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{size[cluster]:.0f} images\n{most:.0%} are {name}", fontsize=9)
