import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.explain.forms import labels_in_python, labels_in_sqlite

from ravine.explain import Condition, Rule, Rules


def conditions():
    """Conditions of every kind on the columns of `TABLE`."""
    bounds = st.one_of(st.none(), st.sampled_from([-1.5, 0.0, 0.1, 2.0, 1e22]))
    days = st.one_of(st.none(), st.sampled_from([1.7e15, 1709251200e6, 1709301600e6, 1709301600e6 + 500_000]))
    levels = st.lists(st.sampled_from(["a", "b'", '"', "ü", ""]), min_size=1, max_size=3, unique=True).map(tuple)
    either = st.booleans()
    return st.one_of(
        st.builds(Condition, st.just("n"), st.just("number"), bounds, bounds, or_missing=either),
        st.builds(Condition, st.just("d"), st.just("date"), days, days, or_missing=either),
        st.builds(Condition, st.just("c"), st.just("category"), levels=levels, is_negated=either, or_missing=either),
        st.builds(
            Condition,
            st.just("b"),
            st.just("boolean"),
            levels=st.sampled_from([("yes",), ("no",)]),
            is_negated=either,
            or_missing=either,
        ),
        st.builds(
            Condition, st.sampled_from("ndcb"), st.just("category"), levels=st.just(()), or_missing=st.just(True)
        ).map(lambda c: Condition(c.column, KINDS[c.column], levels=(), or_missing=True)),
    )


KINDS = {"n": "number", "d": "date", "c": "category", "b": "boolean"}

TABLE = {
    "n": np.array([np.nan, -2.0, -1.5, 0.0, 0.1, 1.0, 2.0, 1e22, np.nan, 3.0]),
    "d": np.array(
        [
            "NaT",
            "2023-11-14",
            "2024-03-01",
            "2024-03-01T14:00",
            "2024-03-01T14:00:00.500",
            "2024-03-02",
            "NaT",
            "2024-02-29",
            "2024-03-01T13:59:59",
            "2025-01-01",
        ],
        dtype="datetime64[us]",
    ),
    "c": np.array(["a", None, "b'", '"', "ü", "other", "", "a", None, "b'"], dtype=object),
    "b": np.array([True, False, None, True, False, None, True, False, None, True], dtype=object),
}


@given(st.lists(conditions(), min_size=1, max_size=3), st.lists(conditions(), min_size=1, max_size=2))
def test_every_condition_is_the_same_in_all_forms(some, others):
    assume(all(c.or_missing is False or c != Condition(c.column, c.kind, or_missing=True) for c in (*some, *others)))
    figures = (1, 1.0, 1.0, 1.0, 1.0)
    found = Rules((Rule(0, tuple(some), *figures), Rule(1, tuple(others), *figures)), 1.0)
    expected = found.predict(TABLE).tolist()
    assert labels_in_sqlite(found, TABLE) == expected
    assert labels_in_python(found, TABLE) == expected
    masks = [np.all([c.mask(TABLE[c.column]) for c in part], axis=0) for part in (some, others)]
    assert np.select(masks, [0, 1], -1).tolist() == expected


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Condition("a", "number", low=0.5), "a >= 0.5"),
        (Condition("a", "number", high=1e6), "a < 1000000"),
        (Condition("a", "number", low=1.0, high=2.0), "1 <= a < 2"),
        (Condition("a", "date", low=1709251200e6), "a >= 2024-03-01"),
        (Condition("a", "category", levels=("u",)), "a = 'u'"),
        (Condition("a", "category", levels=("u", "v"), is_negated=True), "a not in ('u', 'v')"),
        (Condition("a", "boolean", levels=("no",), is_negated=True), "a is yes"),
        (Condition("a", "number"), "a is not missing"),
        (Condition("a", "category", levels=(), or_missing=True), "a is missing"),
        (Condition("a", "category", levels=("u",), or_missing=True), "(a = 'u' or a is missing)"),
    ],
)
def test_conditions_as_text(condition, text):
    assert condition.to_text() == text


def test_truth_values_of_a_database_are_numbers():
    condition = Condition("b", "boolean", levels=("yes",))
    assert condition.mask([1, 0, None]).tolist() == [True, False, False]
