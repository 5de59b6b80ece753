import numpy as np
import pytest

from ravine.prepare import TableEncoder


def roles(table):
    return {column.name: (column.role, column.follows) for column in TableEncoder().fit(table).columns_}


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(50, 12, 500)


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: 1.19 * x,
        lambda x: (1.19 * x).round(1),
        lambda x: 200 - x,
        lambda x: 1.8 * x + 32,
        lambda x: np.where(np.arange(len(x)) % 3 == 0, np.nan, 2 * x),
        lambda x: np.where(np.arange(len(x)) == 5, 1e6, 2 * x),
        lambda x: [f"{value:,.2f} EUR" for value in 1000 * x],
    ],
)
def test_straight_line_function_is_a_copy(copy, x):
    assert roles({"x": x, "y": copy(x)}) == {"x": ("number", None), "y": ("copy", "x")}


@pytest.mark.parametrize(
    "other",
    [
        lambda x, r: x + r.normal(0, 1, len(x)),
        lambda x, r: x**2,
        lambda x, r: np.exp(x / 12),
        lambda x, r: r.integers(0, 5, len(x)),
        lambda x, r: (x / 12).round(),
    ],
)
def test_related_numbers_are_no_copies(other, x):
    found = roles({"x": x, "y": other(x, np.random.default_rng(1))})
    assert found["y"][0] != "copy"


def test_age_and_year_of_birth_are_copies():
    r = np.random.default_rng(0)
    born = 1940 + 60 * r.random(500)
    assert roles({"born": np.floor(born), "age": np.floor(2024.4 - born)})["age"] == ("copy", "born")


def test_categories_under_other_names_are_copies():
    code = np.random.default_rng(0).choice(["a", "b", "c"], 500)
    name = [{"a": "Anna", "b": "Bert", "c": "Carl"}[c] for c in code]
    name[3] = None
    found = roles({"z": np.random.default_rng(1).normal(size=500), "code": code, "name": name})
    assert found["name"] == ("copy", "code")


def test_coarser_categories_and_rare_flags_are_no_copies():
    r = np.random.default_rng(0)
    city = r.choice(["Bonn", "Rome", "Milan"], 500)
    land = np.where(city == "Bonn", "DE", "IT")
    flags = {f"flag {j}": np.where(r.random(500) < 0.02, "yes", "no") for j in range(3)}
    found = roles({"z": r.normal(size=500), "city": city, "land": land, **flags})
    assert "copy" not in {role for role, _ in found.values()}


def test_first_of_several_copies_is_followed(x):
    found = roles({"a": x, "b": 2 * x, "c": -x})
    assert found == {"a": ("number", None), "b": ("copy", "a"), "c": ("copy", "a")}


def test_two_hundred_columns_with_one_copy():
    rows = np.random.default_rng(0).normal(size=(300, 200))
    rows[:, 150] = 3 * rows[:, 20] + 1
    copies = [column for column in TableEncoder().fit(rows).columns_ if column.role == "copy"]
    assert [(column.name, column.follows) for column in copies] == [("x150", "x20")]
