"""The banner of a report says no more than the tests of the model do."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_wine
from tests.strategies import random_tree

from ravine import HSDC, PDDP, IncrementalMDH, MDHClassifier, NCutH, SumOfNorms, SupportVectorClustering
from ravine.datasets import make_blobs
from ravine.report._count_reason import CountReason, _rest, choice_of
from ravine.report._trust import NOT_REAL, UNCONFIRMED, finding, is_confirmed, trust_of
from ravine.tree import HyperplaneTree

pytestmark = pytest.mark.filterwarnings("ignore")


def banner(model):
    tree = model if isinstance(model, HyperplaneTree) else getattr(model, "tree_", None)
    return trust_of(model, tree, choice_of(model, tree))


def blobs(n_centers, n=400):
    return make_blobs(n, centers=[[0, 0], [20, 0], [0, 20], [20, 20], [60, 0]][:n_centers], random_state=0)[0]


@pytest.mark.parametrize(("n_centers", "text"), [(2, "the split"), (5, "all 4 splits")])
def test_confirmed_splits_are_said_to_be(n_centers, text):
    found = banner(PDDP().fit(blobs(n_centers)))
    assert (found["level"], found["text"]) == ("good", f"Held-out rows confirm {text}.")


def test_no_clusters_are_said_to_be_none():
    found = banner(PDDP().fit(blobs(1)))
    assert (found["level"], found["text"]) == ("none", "No clusters were found.")


def banner_with(*p_values):
    tree = random_tree(len(p_values), 2, 3)
    found = np.ones(tree.n_nodes)
    found[tree.cuts] = p_values
    model = PDDP(significance=0.05)
    model.tree_ = replace(tree, p_value=found)
    level, confirmed = model._tested_levels()
    reason = CountReason("evidence", "", level, confirmed, _rest(model.tree_, confirmed))
    return trust_of(model, model.tree_, reason)


def test_splits_that_are_not_confirmed_are_counted():
    some = banner_with(1e-9, 0.9)
    assert (some["level"], some["text"]) == (
        "partly",
        "Held-out rows confirm 1 of 2 splits. The other one is not confirmed.",
    )
    below = banner_with(0.4, 1e-9)
    assert below["text"].endswith("The other one is kept because a split below it is confirmed.")
    none = banner_with(0.9, 0.9)
    assert (none["level"], none["text"]) == ("unsure", UNCONFIRMED)


def test_given_numbers_and_elbows_are_not_confirmed():
    X = blobs(3)
    asked = banner(NCutH(n_clusters=3).fit(X))
    assert (asked["level"], asked["note"]) == ("unsure", NOT_REAL)
    assert asked["text"].startswith("3 clusters were asked for")
    elbow = banner(NCutH(selection="elbow").fit(X))
    assert (elbow["level"], elbow["text"]) == ("unsure", UNCONFIRMED)
    assert "without a test" in elbow["note"]
    antimode = banner(PDDP(selection="antimode").fit(X))
    assert NOT_REAL in antimode["text"]
    assert NOT_REAL in banner(PDDP().fit(X).tree_)["text"]


def test_unconfirmed_clusters_of_real_rows():
    found = banner(IncrementalMDH().fit(load_wine().data))
    assert (found["level"], found["text"]) == ("unsure", UNCONFIRMED)
    assert "more clustered than rows without clusters" in found["note"]


@pytest.mark.parametrize("method", [SumOfNorms, SupportVectorClustering])
def test_models_without_a_tree(method):
    X = np.random.default_rng(0).normal(size=(100, 2))
    assert banner(method().fit(X))["text"] == "No clusters were found."
    apart = method().fit(X + np.repeat([[0.0], [20.0]], 50, axis=0))
    assert banner(apart)["level"] == "good"


def test_classes_and_streams_have_a_banner():
    X = blobs(3)
    labels = np.where(np.arange(len(X)) < 60, (X[:, 0] > 10).astype(int), -1)
    assert banner(MDHClassifier().fit(X, labels))["text"]
    assert banner(HSDC().fit(X))["level"] in ("good", "partly", "unsure")


def test_doubt_is_read_first_with_its_reason_and_trust_second():
    X = blobs(3)
    confirmed = PDDP().fit(X)
    assert finding(confirmed, "3 clusters") == "3 clusters\nHeld-out rows confirm all 2 splits."
    assert is_confirmed(confirmed)
    without_tree = SumOfNorms().fit(X)
    assert finding(without_tree, "3 clusters").startswith(
        "3 clusters\nThe clusters are stronger than those that chance"
    )
    assert is_confirmed(without_tree)
    for doubtful, reason in ((PDDP(3).fit(X), NOT_REAL), (PDDP().fit(blobs(1)), "no valley between two groups.")):
        first, second = finding(doubtful, "some clusters").splitlines()
        assert first.endswith(reason)
        assert second == "some clusters"
        assert not is_confirmed(doubtful)
