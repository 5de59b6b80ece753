"""
Clustering text and naming the clusters
=======================================

TF-IDF and a truncated singular value decomposition turn documents into rows. A cut in that space also gives a
weight to each word. So you can read a tree of documents: each cut shows which words lead left and which lead
right.
"""

# %%
# We generate 3,000 short documents from eight topics. A topic has words of its own and shares some with the other
# topics of its field (``kitchen`` and ``garden`` are closer to each other than to ``court``). A quarter of the
# words are common to all documents, and some documents mix two topics.

import numpy as np

FIELDS = """
home: house family summer morning fresh small
public: city people report office public year
science: measure model energy field theory scale
"""
TOPICS = """
kitchen home: bread oven butter flour salt pepper onion garlic soup knife
garden home: soil seed rose root leaf water prune compost shade hedge
court public: judge appeal verdict lawyer trial witness statute sentence jury claim
election public: vote party ballot campaign senate poll candidate coalition seat majority
transport public: train bus ticket station delay track route driver fare tunnel
stars science: galaxy star orbit telescope planet redshift comet nebula spectrum dust
cells science: protein gene enzyme cell membrane mutation tissue virus receptor antibody
weather science: rain wind storm pressure cloud front humidity forecast temperature flood
"""
COMMON = "time way thing day part work place case number point group fact week hand side"

fields = {name: words.split() for name, words in (line.split(": ") for line in FIELDS.split("\n") if line)}
topics = [line.split(": ") for line in TOPICS.split("\n") if line]
names = [title.split()[0] for title, _ in topics]
rng = np.random.default_rng(0)


def draw_word(topic):
    """Draw a word of a topic, of its field, or of all documents; early words of a list are more frequent."""
    title, own = topics[topic]
    words = (own.split(), fields[title.split()[1]], COMMON.split())[rng.choice(3, p=[0.55, 0.2, 0.25])]
    return words[min(rng.geometric(0.2) - 1, len(words) - 1)]


topic = rng.choice(8, 3_000, p=np.array([6, 5, 4, 4, 3, 3, 2, 1]) / 28)
second = np.where(rng.random(3_000) < 0.1, rng.integers(8, size=3_000), topic)
documents = [
    " ".join(draw_word(a if rng.random() < 0.7 else b) for _ in range(rng.integers(30, 80)))
    for a, b in zip(topic, second, strict=True)
]
print(documents[0])

# %%
# The rows have length 1 before the decomposition, as is usual for text. ``NCutH`` chooses the number of clusters
# automatically. ``KMeans`` gets the number of topics, eight.

from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score

from ravine import NCutH

vectorizer = TfidfVectorizer(sublinear_tf=True)
counts = vectorizer.fit_transform(documents)
svd = TruncatedSVD(20, random_state=0)
X = svd.fit_transform(counts)
model = NCutH().fit(X)
kmeans = KMeans(8, n_init=10, random_state=0).fit(X)
print(f"NCutH finds {model.n_clusters_} clusters, ARI {adjusted_rand_score(topic, model.labels_):.3f}")
print(f"KMeans(8) has ARI {adjusted_rand_score(topic, kmeans.labels_):.3f}")

# %%
# We name a cluster by the words whose mean weight exceeds that of all documents the most. A cut is a direction in
# the space of the decomposition. ``components_`` maps it back to words: those that pull to the left and those
# that pull to the right.

words = vectorizer.get_feature_names_out()
mean = np.asarray(counts.mean(axis=0)).ravel()
labels = []
for cluster in range(model.n_clusters_):
    here = model.labels_ == cluster
    above = np.asarray(counts[here].mean(axis=0)).ravel() - mean
    labels.append(", ".join(words[np.argsort(-above)[:3]]))
    most = np.bincount(topic[here], minlength=8)
    print(
        f"{cluster}: {here.sum():4d} documents, {labels[-1]:32s} {most.max() / here.sum():.0%} {names[most.argmax()]}"
    )

tree = model.tree_
for cut in tree.cuts[np.argsort(tree.rank[tree.cuts])][:4]:
    weight = tree.normal[cut] @ svd.components_
    order = np.argsort(weight)
    print(f"cut {cut}: {' '.join(words[order[:5]])}  |  {' '.join(words[order[:-6:-1]])}")

# %%
# The first cuts separate the fields, and the later ones the topics within them. The code below draws the tree from
# its arrays. ``left`` and ``right`` are the children of a node, children come after their parents, and leaves are
# ordered from left to right.

import matplotlib.pyplot as plt

x = np.where(tree.is_leaf, tree.label, 0.0)
for cut in tree.cuts[::-1]:
    x[cut] = (x[tree.left[cut]] + x[tree.right[cut]]) / 2
y = -np.where(tree.is_leaf, tree.depth.max(), tree.depth)

fig, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
for cut in tree.cuts:
    weight = tree.normal[cut] @ svd.components_
    for child, pull in ((tree.left[cut], words[np.argsort(weight)]), (tree.right[cut], words[np.argsort(-weight)])):
        ax.plot([x[cut], x[child], x[child]], [y[cut], y[cut], y[child]], color="#999999", linewidth=1, zorder=1)
        middle = (x[cut] + x[child]) / 2
        ax.text(middle, y[cut] + 0.06, "\n".join(pull[:2]), ha="center", va="bottom", fontsize=8.5)
ax.scatter(x, y, s=500 * tree.count / tree.count[0], color="#4477aa", zorder=2)
for leaf in tree.leaves:
    text = labels[tree.label[leaf]].replace(", ", "\n") + f"\n{tree.count[leaf]:,.0f}"
    ax.annotate(text, (x[leaf], y[leaf]), (0, -12), textcoords="offset points", ha="center", va="top")
ax.set(ylim=(-tree.depth.max() - 1.1, 0.5), xlim=(-0.6, tree.n_clusters - 0.4))
ax.set_axis_off()
