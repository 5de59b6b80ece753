from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import seeds

from ravine._convex import CERTIFICATE, Certificate
from ravine._convex._certificate import certify
from ravine._convex._solution import solve_pairs


def clusters_of(sizes, d, seed):
    """Rows about the mean of their cluster, the cluster of each, and places for the means at which they overlap."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    spread = rng.uniform(-1, 1, (len(labels), d))
    means = np.array([spread[labels == k].mean(axis=0) for k in range(len(sizes))])
    return spread - means[labels], labels, rng.normal(size=(len(sizes), d))


def groups_at(X, lam):
    return solve_pairs(X, np.ones(len(X)), lam, 1e-11, 50_000, 1e-3).group


partitions = st.builds(
    clusters_of,
    st.tuples(st.integers(2, 6), st.integers(1, 5)) | st.lists(st.integers(2, 5), min_size=3, max_size=4),
    st.integers(1, 3),
    seeds,
)


@given(partitions, st.sampled_from([1.1, 3.0]))
def test_partition_that_satisfies_the_theorem_is_recovered_at_both_ends_of_the_interval(partition, room):
    spread, labels, places = partition
    lower, upper, _ = naive.recovery_bounds(spread + places[labels], labels)
    X = spread + room * lower / upper * places[labels]
    certificate = certify(X, np.ones(len(X)), labels, 0.0)
    lower, upper = certificate.interval
    for lam in (1.01 * lower, 0.99 * upper):
        assert_array_equal(groups_at(X, lam), labels)
        assert replace(certificate, lam=lam).holds
        assert replace(certificate, lam=lam).holds_coarsely
        assert not replace(certificate, lam=lam).failing
    for lam in (0.99 * lower, 1.01 * upper):
        assert not replace(certificate, lam=lam).holds
        assert len(replace(certificate, lam=lam).failing) == 1


@given(partitions)
def test_unions_of_clusters_two_at_least_are_recovered_up_to_the_coarse_bound(partition):
    spread, labels, places = partition
    lower, _, upper_any = naive.recovery_bounds(spread + places[labels], labels)
    X = spread + 1.2 * lower / upper_any * places[labels]
    certificate = certify(X, np.ones(len(X)), labels, 0.0)
    for lam in (1.02 * certificate.lower, 0.98 * certificate.upper_any):
        group = groups_at(X, lam)
        assert group.max() >= 1
        assert all(len(set(group[labels == k])) == 1 for k in range(labels.max() + 1))
        assert replace(certificate, lam=lam).holds_coarsely
    assert not replace(certificate, lam=1.01 * certificate.upper_any).holds_coarsely


@given(partitions)
def test_bounds_agree_with_those_of_the_paper(partition):
    spread, labels, places = partition
    X = spread + places[labels]
    certificate = certify(X, np.ones(len(X)), labels, 0.5)
    assert certificate.lam == 0.5
    bounds = certificate.lower, certificate.upper, certificate.upper_any
    assert_allclose(bounds, naive.recovery_bounds(X, labels), rtol=1e-9)


def test_masses_count_as_repeated_rows(rng):
    X, labels, copies = rng.normal(size=(12, 2)), np.arange(12) % 3, rng.integers(1, 4, 12)
    ours = certify(X, copies.astype(float), labels, 1.0)
    repeated = naive.recovery_bounds(np.repeat(X, copies, axis=0), np.repeat(labels, copies))
    assert_allclose((ours.lower, ours.upper, ours.upper_any), repeated, rtol=1e-9)


def test_one_cluster_has_no_upper_bound():
    certificate = certify(np.array([[0.0], [3.0]]), np.ones(2), np.zeros(2, dtype=np.int64), 2.0)
    assert certificate == Certificate(2.0, 1.5, np.inf, 0.0)
    assert certificate.holds
    assert not certificate.holds_coarsely
    assert not replace(certificate, lam=1.4).holds


def test_certificate_says_what_fails_and_by_how_much():
    inside, low, high = (Certificate(lam, 1.0, 2.0, 3.0) for lam in (1.5, 0.5, 2.5))
    assert str(inside) == "proved for 1 <= lam <= 2, which lam=1.5 is in"
    assert low.failing == {"lower <= lam": 2.0}
    assert high.failing == {"lam <= upper": 1.25}
    assert "lower <= lam fails by a factor of 2" in str(low)
    assert "some of these clusters are proved to be apart" not in str(low)
    assert "some of these clusters are proved to be apart" in str(high)
    never = Certificate(1.5, 3.0, 0.5, 0.0)
    assert never.interval is None
    assert never.failing == {"lower <= lam": 2.0, "lam <= upper": 3.0}
    assert str(never).startswith("proved for no lam; at lam=1.5, lower <= lam fails by a factor of 2 and lam <= upper")
    assert Certificate(0.0, 1.0, 2.0, 3.0).failing == {"lower <= lam": np.inf}


def test_certificate_is_read_back_from_its_fields():
    certificate = Certificate(1.0, 0.5, np.inf, 0.0)
    assert Certificate(**CERTIFICATE.checked(asdict(certificate))) == certificate


@pytest.mark.parametrize("name", ["lam", "lower", "upper", "upper_any"])
@pytest.mark.parametrize("value", [-1.0, np.nan, "1", None, 1])
def test_certificate_refuses_what_is_no_number_from_nought(name, value):
    with pytest.raises(ValueError, match=f"field '{name}' must be a float, from 0 to inf"):
        CERTIFICATE.checked({"lam": 1.0, "lower": 1.0, "upper": 1.0, "upper_any": 1.0} | {name: value})
