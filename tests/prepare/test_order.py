import numpy as np
import pandas as pd
import pytest

from ravine import IncrementalMDH
from ravine.prepare import TableEncoder
from ravine.prepare._order import evidence_of


def graded(n_columns=8, n_values=5, n=800, seed=0, names="x{}"):
    """Grades that rise and fall with one hidden number, with noise."""
    r = np.random.default_rng(seed)
    hidden = r.normal(size=n)
    table = {}
    for j in range(n_columns):
        value = (-1) ** j * hidden + 0.7 * r.normal(size=n)
        table[names.format(j)] = np.searchsorted(np.quantile(value, np.arange(1, n_values) / n_values), value)
    return table


def coded(table, seed=0):
    """The same table with the values of each column renamed at random."""
    r = np.random.default_rng(seed)
    return {name: r.permutation(cells.max() + 1)[cells] for name, cells in table.items()}


def roles(table, **options):
    return [column.role for column in TableEncoder(**options).fit(table).columns_]


@pytest.mark.parametrize("n_values", [3, 4, 5, 8])
@pytest.mark.parametrize("first", [0, 1])
def test_grades_are_numbers_and_the_same_values_in_other_orders_are_codes(n_values, first):
    # With three values, a third of all orders are those of the grades, so more columns are needed.
    grades = graded(40 if n_values == 3 else 12, n_values)
    codes = coded(grades)
    assert set(roles({name: cells + first for name, cells in grades.items()})) == {"number"}
    found = roles({name: cells + first for name, cells in codes.items()})
    assert np.mean([role == "category" for role in found]) >= 0.8


def test_codes_as_text_and_with_gaps_are_codes_too():
    gaps = np.random.default_rng(4).random((12, 800)) < 0.05
    codes = {
        name: np.where(is_gap, None, cells.astype(str).astype(object))
        for is_gap, (name, cells) in zip(gaps, coded(graded(12, 6)).items(), strict=True)
    }
    assert roles(codes).count("category") >= 10


def test_number_among_codes_stays_a_number():
    grades = graded(12, 8)
    table = coded(grades) | {"x3": grades["x3"], "y": np.random.default_rng(1).normal(size=800)}
    table["z"] = grades["x3"] + np.random.default_rng(2).normal(size=800)
    found = {column.name: column.role for column in TableEncoder().fit(table).columns_}
    assert [found[name] for name in ("x3", "y", "z")] == ["number"] * 3
    assert list(found.values()).count("category") >= 9


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(coded(graded(5, 8)), id="few other columns"),
        pytest.param(coded(graded(4, 4)) | {f"v{j}": np.arange(800.0) ** 0.5 for j in range(1, 4)}, id="few values"),
        pytest.param(coded(graded(names="n_things_{}")), id="names of counts"),
        pytest.param({f"x{j}": np.random.default_rng(j).integers(0, 9, 800) for j in range(9)}, id="unrelated columns"),
        pytest.param({name: 7 * cells for name, cells in coded(graded()).items()}, id="holes between the values"),
    ],
)
def test_without_evidence_whole_numbers_stay_numbers(table):
    assert "category" not in roles(table)


def test_reason_says_why_and_how_to_overrule():
    codes = coded(graded(12, 6, names="my column {}"))
    encoder = TableEncoder().fit(codes)
    reasons = {column.name: column.reason for column in encoder.columns_ if column.role == "category"}
    name, reason = next(iter(reasons.items()))
    assert reason == (
        "6 small whole numbers whose order says nothing about the other columns: read as codes; "
        f"overrule with --role '{name}'=number"
    )
    again = {column.name: column.role for column in TableEncoder(roles={name: "number"}).fit(codes).columns_}
    assert again[name] == "number"
    assert list(again.values()).count("category") == len(reasons) - 1


def test_clusters_of_codes_do_not_depend_on_their_numbers():
    r = np.random.default_rng(3)
    label = r.integers(0, 3, 900)
    draws = [np.where(r.random(900) < 0.85, (label * (1 + j % 2) + j) % 3, r.integers(0, 6, 900)) for j in range(12)]
    found = []
    for seed in (0, 1):
        table = pd.DataFrame(coded({f"x{j}": cells for j, cells in enumerate(draws)}, seed))
        found.append(IncrementalMDH(3, random_state=0).fit(TableEncoder().fit_transform(table)).labels_)
    assert pd.crosstab(found[0], found[1]).gt(0).sum().sum() == 3


def test_evidence_of_a_straight_line_and_of_no_order():
    r = np.random.default_rng(0)
    cells = r.integers(0, 7, 2000).astype(float)
    cells[::50] = np.nan
    line = np.nan_to_num(cells)[:, np.newaxis] + r.normal(size=(2000, 6))
    line = (line - line.mean(axis=0)) / line.std(axis=0)
    straight = evidence_of(cells, line)
    assert straight.n_values == 7
    assert straight.tells > 100
    assert straight.gain == pytest.approx(straight.most, rel=0.02)
    assert straight.is_number
    renamed = np.array([3.0, 0.0, 5.0, 1.0, 6.0, 2.0, 4.0, np.nan])[np.where(np.isnan(cells), 7, cells).astype(int)]
    assert evidence_of(renamed, line).gain < 0.25 * straight.most
    assert not evidence_of(renamed, line).is_number


def test_evidence_needs_values_and_other_columns_that_vary():
    cells = np.repeat([0.0, 1.0, 2.0], 20)
    assert evidence_of(cells, np.zeros((60, 3))) is None
    assert evidence_of(np.repeat([0.0, 1.0], 30), np.random.default_rng(0).normal(size=(60, 3))) is None
    assert evidence_of(cells, np.tile([[1.0], [-1.0]], (30, 1))).tells == 0
