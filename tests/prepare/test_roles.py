import datetime
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn import datasets
from tests.prepare.tables import ROLES, customers, machines

from ravine.prepare import TableEncoder

RANDOM = np.random.default_rng(0)
N = 500
NUMBER = RANDOM.normal(size=N)


def column_of(cells, name="x", **options):
    """The column of these cells beside a number."""
    return TableEncoder(**options).fit({name: cells, "a number": NUMBER[: len(cells)]}).columns_[0]


def test_customers_have_the_roles_that_a_person_would_give():
    table, _ = customers()
    assert {line["name"]: line["role"] for line in TableEncoder().fit(table).summary()} == ROLES


def test_machines_have_the_roles_that_a_person_would_give():
    table, _ = machines()
    found = {line["name"]: line["role"] for line in TableEncoder().fit(table).summary()}
    assert found == {
        "serial": "identifier",
        "temperature": "number",
        "fahrenheit": "copy",
        "load": "number",
        "measured": "date",
        "plant": "category",
        "line": "number",
        "ok": "boolean",
    }


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "linnerud", "diabetes"])
def test_measurements_are_numbers(name):
    frame = getattr(datasets, f"load_{name}")(as_frame=True).data
    found = {column.name: column.role for column in TableEncoder().fit(frame).columns_}
    assert set(found.values()) <= {"number"} | ({"boolean"} if name == "diabetes" else set())
    assert name != "diabetes" or found["sex"] == "boolean"


@pytest.mark.parametrize(
    "cells",
    [
        [str(uuid.UUID(int=int(i) * 10**30)) for i in range(1, N + 1)],
        [f"C-{i:06d}" for i in range(N)],
        np.arange(N),
        np.arange(1000, 1000 + 5 * N, 5),
        RANDOM.permutation(10 * N)[:N],
        [f"{i}@example.org" for i in range(N)],
        RANDOM.choice(9 * 10**7, N, replace=False) + 10**7,
    ],
)
def test_columns_that_name_rows_are_identifiers(cells):
    assert column_of(cells).role == "identifier"


@pytest.mark.parametrize(
    "cells",
    [
        RANDOM.normal(size=N),
        RANDOM.lognormal(10, 1, N).round(),
        RANDOM.lognormal(10, 1, N),
        RANDOM.random(N) * 1e-9,
        [f"{value:.6f}" for value in RANDOM.normal(size=N)],
        RANDOM.poisson(3, N),
        RANDOM.integers(1, 6, N),
        RANDOM.integers(1950, 2005, N),
        RANDOM.normal(175, 8, N).round().astype(int),
        [f"{value}" if i % 11 else "unknown" for i, value in enumerate(RANDOM.integers(18, 80, N))],
    ],
)
def test_measurements_and_counts_are_numbers(cells):
    assert column_of(cells).role == "number"


def test_cells_that_are_no_numbers_are_counted():
    cells = [f"{value:.2f}" for value in RANDOM.normal(size=N)]
    cells[:4] = ["see remark", "12;5", "x", "1.2.3"]
    column = column_of(cells)
    assert column.role == "number"
    assert "4 cells are no number" in column.reason
    assert column.n_gaps == 4
    cells[:20] = [f"word {i}" for i in range(20)]
    assert column_of(cells).role in ("text", "identifier")


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        (RANDOM.integers(1, 40, N), "store"),
        (RANDOM.integers(1, 5, N), "region code"),
        ([f"{value:05d}" for value in RANDOM.choice([1099, 4711, 80331], N)], "x"),
        (RANDOM.choice([1004, 2311, 4711, 8802], N), "x"),
        (RANDOM.choice(["red", "green", "blue"], N), "x"),
    ],
)
def test_codes_and_words_are_categories(cells, name):
    assert column_of(cells, name).role == "category"


@pytest.mark.parametrize(
    "pair", [("no", "yes"), ("FALSE", "TRUE"), ("0", "1"), (0, 1), (False, True), (1.0, 2.0), ("n", "Y")]
)
def test_two_values_are_a_boolean(pair):
    column = column_of([pair[i % 2] for i in range(N)])
    assert column.role == "boolean"
    assert len(column.feature_names) == 1


@pytest.mark.parametrize(
    "cells",
    [
        pd.date_range("2020-01-01", periods=N, freq="7h"),
        [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(d)) for d in RANDOM.integers(0, 900, N)],
        [f"{d % 28 + 1}.{d % 12 + 1}.{2000 + d % 20}" for d in RANDOM.integers(0, 9999, N)],
        [20200000 + 100 * (d % 12 + 1) + d % 28 + 1 for d in RANDOM.integers(0, 9999, N)],
    ],
)
def test_dates_are_days_before_the_latest(cells):
    column = column_of(cells)
    assert column.role == "date"
    assert column.treatment.startswith("days before 20")


def test_placeholder_dates_are_gaps():
    cells = [str(np.datetime64("2024-01-01") + int(d)) for d in RANDOM.integers(0, 300, N)]
    cells[:10] = ["1900-01-01"] * 10
    column = column_of(cells)
    assert column.n_gaps == 10
    assert "1900-01-01 stand for gaps" in column.reason


def test_text_empty_and_constant_are_ignored():
    texts = [f"the {i}th customer wrote about {i % 7} things that went wrong" for i in range(N)]
    assert column_of(texts).role == "text"
    assert column_of([None] * 300 + ["x", "y"] * 100).role == "empty"
    assert column_of([None] * N).role == "empty"
    assert column_of(["n/a"] * N).role == "empty"
    assert column_of(["A"] * N).role == "constant"
    assert column_of([5.0] * (N - 1) + [6.0]).role == "constant"
    assert column_of([[1, 2]] * N).role == "text"


def test_many_rare_words_are_no_category():
    cells = [f"word {i % 160}" for i in range(N)]
    assert column_of(cells).role == "text"


def test_rare_levels_are_one():
    cells = ["a"] * 250 + ["b"] * 200 + ["c"] * 44 + ["d", "e", "f", "g", "h", "i"]
    column = column_of(cells, category_encoding="indicators")
    assert column.feature_names == ("x=a", "x=b", "x=c", "x=other")
    assert column.shares == (0.5, 0.4, 0.088, pytest.approx(0.012))


def test_level_of_the_name_other_joins_the_rare_ones():
    cells = ["a"] * 300 + ["Other"] * 195 + ["d", "e", "f", "g", "h"]
    column = column_of(cells, category_encoding="indicators")
    assert column.feature_names == ("x=a", "x=other")


def test_mixed_units_are_explained():
    cells = [f"{value:.2f} {'kg' if i % 2 else 'g'}" for i, value in enumerate(RANDOM.normal(50, 5, N))]
    column = column_of(cells)
    assert column.role == "text"
    assert "different units (g, kg)" in column.reason


@pytest.mark.parametrize(
    ("role", "cells"),
    [
        ("category", RANDOM.integers(0, 5, N)),
        ("number", [f"{i:05d}" for i in range(N)]),
        ("date", ["2024-01-01", "whatever"] * (N // 2)),
        ("boolean", ["a", "b"] * (N // 2)),
        ("identifier", NUMBER[::-1]),
        ("text", NUMBER[::-1]),
        ("ignore", NUMBER[::-1]),
    ],
)
def test_role_that_is_asked_for_is_taken(role, cells):
    column = column_of(cells, roles={"x": role})
    assert column.role == role
    assert column.reason.startswith("you ")


@pytest.mark.parametrize("role", ["number", "date", "boolean"])
def test_role_that_no_cell_has_is_an_error(role):
    with pytest.raises(ValueError, match="column 'x' cannot be a"):
        column_of(["one", "two", "three"] * 100, roles={"x": role})


def test_mostly_gaps_can_be_used_on_request():
    cells = [None] * 400 + list(range(100))
    assert column_of(cells).role == "empty"
    assert column_of(cells, roles={"x": "number"}).role == "number"


def test_large_integers_are_not_rounded_together():
    column = column_of(pa.array([2**60 + i for i in range(N)], pa.int64()), "account_id")
    assert column.role == "identifier"
