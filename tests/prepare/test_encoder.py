import math
import random
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.prepare.tables import customers, machines

from ravine import IncrementalMDH
from ravine.prepare import TableEncoder
from ravine.prepare._state import COLUMNS

TABLE, GROUP = customers()


@parametrize_with_checks([TableEncoder(), TableEncoder(category_encoding="indicators")])
def test_contract_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


@pytest.fixture
def encoder():
    return TableEncoder().fit(TABLE)


def test_rows_are_finite_with_unit_variance(encoder):
    rows = encoder.transform(TABLE)
    assert rows.dtype == np.float64
    assert rows.flags.c_contiguous
    assert np.isfinite(rows).all()
    names = encoder.get_feature_names_out().tolist()
    assert names == ["spend", "age", "since", "country=DE", "country=FR", "country=IT", "newsletter=yes", "orders"]
    assert_allclose(rows[:, [0, 1, 2, 7]].std(axis=0), 1, atol=0.05)
    assert_allclose(rows[:, [3, 4, 5, 6]].var(axis=0), [1 / 6, 1 / 6, 1 / 6, 0.5], rtol=0.2)


def test_clusters_of_the_encoded_rows_are_those_that_made_the_table(encoder):
    for standardize in (True, False):
        labels = IncrementalMDH(standardize=standardize, random_state=0).fit_predict(encoder.transform(TABLE))
        assert adjusted_rand_score(GROUP, labels) > 0.97


def test_clusters_of_machines_are_their_states():
    table, state = machines()
    pipeline = make_pipeline(TableEncoder(), IncrementalMDH(random_state=0))
    assert adjusted_rand_score(state, pipeline.fit_predict(table)) > 0.9


def test_categories_without_clusters_give_one_cluster():
    r = np.random.default_rng(3)
    table = {f"v{j}": r.normal(size=1500) for j in range(4)}
    table |= {"a": r.choice(["x", "y"], 1500), "b": r.choice(list("abcd"), 1500, p=[0.5, 0.3, 0.15, 0.05])}
    assert IncrementalMDH(random_state=0).fit(TableEncoder().fit_transform(table)).n_clusters_ == 1


def test_table_of_categories_only_is_encoded_by_indicators():
    r = np.random.default_rng(0)
    group = r.integers(0, 3, 900)
    table = {
        f"c{j}": [f"level {v}" for v in np.where(r.random(900) < 0.9, group, r.integers(0, 3, 900))] for j in range(6)
    }
    encoder = TableEncoder().fit(table)
    rows = encoder.transform(table)
    assert {column.encoding for column in encoder.columns_} == {"indicators"}
    assert_allclose(rows.reshape(900, 6, 3).var(axis=0).sum(axis=1), 1)
    assert adjusted_rand_score(group, IncrementalMDH(standardize=False, random_state=0).fit_predict(rows)) > 0.97


def test_result_of_a_row_does_not_depend_on_the_batch(encoder):
    table = pa.table(TABLE).slice(0, 60)
    whole = encoder.transform(table)
    for size in (1, 7, 25):
        parts = [encoder.transform(table.slice(start, size)) for start in range(0, 60, size)]
        assert_array_equal(np.concatenate(parts), whole)


def test_order_of_columns_and_more_columns_do_not_matter(encoder):
    shuffled = {name: TABLE[name] for name in reversed(TABLE)} | {"new": ["?"] * len(GROUP)}
    assert_array_equal(encoder.transform(shuffled), encoder.transform(TABLE))


def test_columns_that_are_not_used_may_be_missing(encoder):
    used = {column.name: TABLE[column.name] for column in encoder.columns_ if column.is_used}
    assert_array_equal(encoder.transform(used), encoder.transform(TABLE))


def test_all_missing_columns_are_named(encoder):
    with pytest.raises(ValueError, match="lacks columns that were there in the fit: 'spend', 'orders'"):
        encoder.transform({name: cells for name, cells in TABLE.items() if name not in ("spend", "orders")})


def test_all_columns_of_another_type_are_named(encoder):
    n = len(GROUP)
    changed = TABLE | {"spend": ["high"] * n, "since": np.arange(n), "country": np.arange(n)}
    with pytest.raises(ValueError, match=r"'spend' has words instead of numbers; 'since' .*; 'country' has int64"):
        encoder.transform(changed)


def test_new_words_and_unreadable_cells_are_gaps():
    encoder = TableEncoder(category_encoding="indicators").fit(TABLE)
    row = {name: cells[:1] for name, cells in TABLE.items()}
    gap = encoder.transform(row | {"country": [None], "spend": [None], "since": [None]})
    new = encoder.transform(row | {"country": ["Atlantis"], "spend": ["a lot"], "since": ["long ago"]})
    assert_array_equal(new, gap)
    alone = TableEncoder().fit({"spend": TABLE["spend"]})
    assert alone.in_units("spend", alone.transform({"spend": [None]})[0, 0]) == pytest.approx(alone.columns_[0].fill)


def test_other_scale_is_a_warning_with_both_medians(encoder):
    changed = TABLE | {"age": [12 * int(a) if a.isdigit() else a for a in TABLE["age"]]}
    with pytest.warns(UserWarning, match=r"another scale .* the median of 'age' is 5\d\d, and was 4\d"):
        encoder.transform(changed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform({name: cells[:100] for name, cells in TABLE.items()})


def test_one_cluster_alone_is_on_the_same_scale(encoder):
    table = pa.table(TABLE).filter(pa.array(GROUP == 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(encoder.transform(table)) == (GROUP == 2).sum()


def test_values_are_in_the_units_of_the_table(encoder):
    values = encoder.values(TABLE)
    assert list(values) == list(TABLE)
    assert values["spend"].dtype == np.float64
    assert values["since"].dtype == np.dtype("M8[D]")
    assert values["customer"].dtype == object
    row = next(i for i, cell in enumerate(TABLE["spend"]) if cell.startswith("€"))
    assert values["spend"][row] == float(TABLE["spend"][row].replace("€", "").replace(",", ""))
    assert str(values["since"][0]) == TABLE["since"][0]
    gap = next(i for i, cell in enumerate(TABLE["country"]) if cell in ("", "-", "n/a", "NULL"))
    assert values["country"][gap] is None


def test_encoded_numbers_return_to_their_units(encoder):
    rows, values = encoder.transform(TABLE), encoder.values(TABLE)
    known = ~np.isnan(values["spend"])
    assert_allclose(encoder.in_units("spend", rows[known, 0]), values["spend"][known])
    assert_array_equal(encoder.in_units("since", rows[:, 2]), values["since"])
    assert isinstance(encoder.in_units("spend", 0.0), float)
    with pytest.raises(ValueError, match="no encoded column 'land'"):
        encoder.in_units("land", 0.0)


def test_mean_of_a_level_returns_to_its_share(encoder):
    rows, country = encoder.transform(TABLE), encoder.values(TABLE)["country"]
    some = np.flatnonzero([word is not None for word in country])[:400]
    share = np.mean([country[i].upper() == "DE" for i in some])
    assert encoder.in_units("country=DE", rows[some, 3].mean()) == pytest.approx(share, abs=0.05)


def test_restored_encoder_gives_the_same_bits(encoder):
    other = clone(encoder)
    other.n_features_in_ = encoder.n_features_in_
    other._set_feature_names(list(encoder.feature_names_in_))
    other._restore(other._schema.checked(encoder._state(resume=True), other._sizes()))
    assert other.columns_ == encoder.columns_
    assert_array_equal(other.transform(TABLE), encoder.transform(TABLE))


def test_fit_depends_on_the_contents_only(encoder):
    again = TableEncoder().fit(pd.DataFrame(TABLE))
    assert again.columns_ == encoder.columns_


def test_set_output_gives_frames(encoder):
    frame = clone(encoder).set_output(transform="pandas").fit(TABLE).transform(pd.DataFrame(TABLE))
    assert list(frame.columns) == list(encoder.get_feature_names_out())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "minimum of 1 is required"),
        ({"a": []}, "minimum of 1 is required"),
        ({"a": [1.0]}, "no column is left to cluster: 'a' is constant"),
        ({"a": [None, None], "b": ["x", "x"]}, "no column is left"),
    ],
)
def test_tables_without_columns_to_cluster_are_errors(table, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(table)


def test_bad_roles_are_errors():
    with pytest.raises(ValueError, match="columns that the table does not have: 'nope'"):
        TableEncoder(roles={"nope": "number"}).fit(TABLE)
    with pytest.raises(ValueError, match="the role of 'age' must be one of"):
        TableEncoder(roles={"age": "numeric"}).fit(TABLE)


def test_failed_fit_leaves_the_encoder_as_it_was(encoder):
    before = encoder.columns_
    with pytest.raises(ValueError, match="no column is left"):
        encoder.fit({"a": [1.0]})
    assert encoder.columns_ is before


def test_names_and_cells_of_any_script_are_kept():
    r = np.random.default_rng(0)
    table = {"größe 📏": r.normal(size=100), "都市": r.choice(["東京", "大阪"], 100).tolist()}
    encoder = TableEncoder().fit(table)
    assert encoder.get_feature_names_out()[0] == "größe 📏"
    assert set(encoder.values(table)["都市"]) == {"東京", "大阪"}


@pytest.mark.parametrize("field", ["role", "kind", "scale", "levels", "shares", "offset", "name", "n_gaps"])
def test_damaged_columns_are_errors(encoder, field):
    state = encoder._state(resume=False)
    for bad in (None, -1.0, "?", float("nan"), [1], {}):
        columns = [dict(one) for one in state["columns"]]
        if columns[1][field] == bad or (field == "name" and isinstance(bad, str)):
            continue
        columns[1][field] = bad
        with pytest.raises(ValueError, match="invalid column 1"):
            COLUMNS.convert(columns)


CELLS = (
    lambda r: r.gauss(0, 1),
    lambda r: r.randint(0, 5),
    lambda r: r.choice(["a", "b", "C", "c ", ""]),
    lambda r: f"€{r.random() * 1e4:,.2f}",
    lambda r: r.choice(["1", "2.5", "x", "1,5", "1.000", "-", "½", "٣", "1e999", "Infinity"]),
    lambda r: r.choice([1e308, -1e308, 5e-324, -0.0, math.nan, math.inf, 3.0]),
    lambda r: r.choice(["2024-01-01", "31/12/2020", "12/31/2020", "9999-12-31", "0001-01-01"]),
    lambda r: r.randint(-(2**62), 2**62),
    lambda r: r.choice([1, "a", None, 2.5]),
    lambda r: "".join(r.choice("A\U0001f600\u0660\u202e\0\n.,'()-01%€") for _ in range(r.randint(0, 6))),
)
"""Functions that draw a cell of a column."""


def test_any_table_gives_finite_rows_that_stand_alone_or_an_error():
    n_fitted = 0
    for seed in range(40):
        r = random.Random(seed)
        draws = [r.choice(CELLS) for _ in range(r.randint(2, 5))]
        table = {f"c{j}": [None if r.random() < 0.1 else draw(r) for _ in range(40)] for j, draw in enumerate(draws)}
        try:
            encoder = TableEncoder().fit(table)
        except ValueError as error:
            assert "no column is left" in str(error)  # noqa: PT017
            continue
        n_fitted += 1
        rows = encoder.transform(table)
        assert np.isfinite(rows).all()
        assert len(set(encoder.get_feature_names_out())) == rows.shape[1]
        assert_array_equal(encoder.transform({name: cells[:1] for name, cells in table.items()})[0], rows[0])
        assert set(encoder.values(table)) == set(table)
    assert n_fitted > 30
