import numpy as np
import pytest

from ravine.prepare import _integers


@pytest.mark.parametrize("name", ["customer_id", "CustomerID", "Order No.", "id", "uuid", "machine key", "userId"])
def test_names_of_identifiers(name):
    assert _integers.names_rows(name)


@pytest.mark.parametrize("name", ["paid", "n_id", "number of orders", "width", "", "_", "12", "humidity"])
def test_other_names_are_not_those_of_identifiers(name):
    assert not _integers.names_rows(name)


@pytest.mark.parametrize(
    "name", ["zip", "ZIP code", "postcode", "PLZ", "store", "storeNumber", "product_id", "Filiale", "gender"]
)
def test_names_of_codes(name):
    assert _integers.names_codes(name)


@pytest.mark.parametrize(
    "name", ["orders", "n_stores", "store_sales", "items per order", "age", "number of stores", "year", "x0"]
)
def test_counts_do_not_have_names_of_codes(name):
    assert not _integers.names_codes(name)


def test_sequences_are_drawn_without_replacement():
    r = np.random.default_rng(0)
    for cells in (np.arange(500.0), np.arange(0, 5000.0, 10), r.permutation(5000)[:1000].astype(float)):
        assert _integers.is_sequence(cells, len(np.unique(cells)))
    repeated = np.append(np.arange(990.0), np.arange(10.0))
    assert _integers.is_sequence(repeated, 990)


def test_measured_whole_numbers_are_no_sequence():
    r = np.random.default_rng(0)
    for cells in (r.lognormal(10, 0.5, 1000).round(), r.normal(1e6, 1e5, 1000).round(), r.integers(0, 500, 1000)):
        assert not _integers.is_sequence(cells.astype(float), len(np.unique(cells)))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1004.0, 2311.0, 4711.0, 8802.0], True),
        (np.arange(1950.0, 2005.0), False),
        (np.arange(150.0, 200.0), False),
        ([1000.0, 2000.0, 5000.0, 9000.0], False),
        ([1.0, 2.0, 7.0], False),
    ],
)
def test_shape_of_codes(values, expected):
    assert _integers.has_shape_of_codes("x0", np.array(values), 2000) == expected


def test_measurements_by_name_have_no_shape_of_codes():
    assert not _integers.has_shape_of_codes("price", np.array([1099.0, 2311.0, 4711.0, 8802.0]), 2000)
