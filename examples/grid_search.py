"""
Using a tree in a pipeline and a grid search
============================================

Every estimator follows scikit-learn's conventions, and the tree methods are transformers too. Their output
columns are the signed distances of a row to the cuts on its path, and 0 for all other cuts of the tree. Here
:class:`ravine.NCutH` makes features for a linear classifier. A grid search chooses the number of clusters and
the bandwidth factor.
"""

# %%
# One hyperplane cannot separate even from odd digits: 0, 2, 4, 6 and 8 have little in common. Half of the images
# are for training. ``NCutH`` does not see the classes; its cuts depend on the rows only.

from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ravine import NCutH

X, digit = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, digit % 2, train_size=900, random_state=0, stratify=digit)

pipeline = make_pipeline(NCutH(), StandardScaler(), RidgeClassifier())
grid = {"ncuth__n_clusters": [10, 20, 40, 80], "ncuth__bandwidth_factor": [10.0, 100.0]}
search = GridSearchCV(pipeline, grid, cv=3).fit(X_train, y_train)
print(search.best_params_)

# %%
# For comparison we fit the same linear classifier on the pixels, and a support vector machine with a Gaussian
# kernel.

rivals = {
    "linear, on the pixels": make_pipeline(StandardScaler(), RidgeClassifier()).fit(X_train, y_train),
    "linear, on distances to cuts": search.best_estimator_,
    "Gaussian kernel, on the pixels": make_pipeline(StandardScaler(), SVC()).fit(X_train, y_train),
}
score = {name: model.score(X_test, y_test) for name, model in rivals.items()}
for name, accuracy in score.items():
    print(f"{name:31s} accuracy {accuracy:.3f}")

# %%
# With the distances as features, the boundary of a linear classifier can bend at every cut. It is more accurate
# than on the pixels. The Gaussian kernel is better still. The advantage of the cuts is that you can look at each
# feature, as in the example about images. The names of the features say where they come from:

print(search.best_estimator_[0].get_feature_names_out()[:4])

# %%
# The plot shows the scores of the grid search.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
result = search.cv_results_
for factor, color, marker in ((10.0, "#4477aa", "o"), (100.0, "#ee7733", "^")):
    here = result["param_ncuth__bandwidth_factor"] == factor
    mean, deviation = result["mean_test_score"][here], result["std_test_score"][here]
    number = result["param_ncuth__n_clusters"][here].astype(float)
    ax.errorbar(number, mean, deviation, color=color, marker=marker, capsize=3, label=f"distances, factor {factor:g}")
ax.axhline(score["linear, on the pixels"], color="#222222", linestyle=(0, (3, 2)), label="pixels, on the test rows")
ax.set(xscale="log", xticks=[10, 20, 40, 80], xlabel="number of clusters", ylabel="accuracy, three folds")
ax.xaxis.set_major_formatter("{x:.0f}")
ax.minorticks_off()
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
