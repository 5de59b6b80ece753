import sqlite3

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ravine.explain._sql import double_literal, identifier, table_identifier, text_literal


@given(st.text(), st.text(min_size=1))
def test_any_text_is_quoted(text, name):
    assume("\0" not in text + name)
    assume(not any("\ud800" <= letter <= "\udfff" for letter in text + name))
    with sqlite3.connect(":memory:") as connection:
        cursor = connection.execute(f"SELECT {text_literal(text)} AS {identifier(name)}")
        assert cursor.fetchone() == (text,)
        assert cursor.description[0][0] == name


@pytest.mark.parametrize("text", ["nul\0", "\ud800"])
def test_what_sql_cannot_have_is_refused(text):
    with pytest.raises(ValueError, match="rename it"):
        identifier(text)
    with pytest.raises(ValueError, match="rename it"):
        text_literal(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_a_double(number):
    text = double_literal(number)
    assert float(text) == number
    with sqlite3.connect(":memory:") as connection:
        found, kind = connection.execute(f"SELECT {text}, typeof({text})").fetchone()
    assert kind == "real"
    assert found == pytest.approx(number, rel=1e-14, abs=1e-300)


def test_a_table_may_have_a_schema():
    assert table_identifier(("main", 'a "b"')) == '"main"."a ""b"""'
