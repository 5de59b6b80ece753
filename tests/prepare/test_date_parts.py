"""Parts of dates that return: the hour of the day, the day of the week and the month of the year."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine import IncrementalMDH, load, save
from ravine.explain import profile, rules, sentence
from ravine.prepare import TableEncoder
from ravine.prepare._date_parts import encoded_ring, readable, ring, split_role, turns

DATES = np.array(["1970-01-01T00:00", "2024-02-29T06:30", "2023-12-31T23:59", "NaT"], dtype="M8[s]")
DAYS = np.where(np.isnat(DATES), np.nan, DATES.astype(np.int64) / 86400)


def dates(n_rows, seed, hour=None):
    """Dates of two years, at random hours or at these."""
    random = np.random.default_rng(seed)
    hours = random.random(n_rows) * 24 if hour is None else hour
    seconds = random.integers(0, 730, n_rows) * 86400 + (np.asarray(hours) % 24 * 3600).astype(np.int64)
    return (np.datetime64("2023-01-01T00:00:00") + seconds).astype("M8[s]")


def test_parts_are_those_of_pandas():
    when = dates(500, 0)
    days, known = when.astype(np.int64) / 86400, pd.DatetimeIndex(when)
    assert readable(days, "weekday").tolist() == known.day_name().tolist()
    assert readable(days, "month").tolist() == known.month_name().tolist()
    assert_allclose(readable(days, "hour"), known.hour + known.minute / 60 + known.second / 3600, atol=1e-6)


def test_a_few_dates_by_hand():
    assert_allclose(turns(DAYS, "hour"), [0, 6.5 / 24, 1439 / 1440, np.nan], atol=1e-9)
    assert_allclose(turns(DAYS, "weekday") * 7, [3, 3, 6, np.nan])
    assert_allclose(turns(DAYS, "month") * 12, [0, 1, 11, np.nan])
    assert readable(DAYS, "weekday").tolist() == ["Thursday", "Thursday", "Sunday", None]
    assert readable(DAYS, "month").tolist() == ["January", "February", "December", None]
    assert_allclose(ring(DAYS, "weekday")[0], [np.cos(6 * np.pi / 7), np.sin(6 * np.pi / 7)])


def test_dates_before_1970_are_in_the_right_part():
    days = np.array([-1.0, -0.25])  # 1969-12-31, a Wednesday, at midnight and at 18:00
    assert readable(days, "weekday").tolist() == ["Wednesday"] * 2
    assert readable(days, "month").tolist() == ["December"] * 2
    assert_allclose(readable(days, "hour"), [0, 18])


def test_midnight_is_near_midnight():
    late, early, noon = (ring(np.array([hour / 24]), "hour")[0] for hour in (23.9, 0.1, 12.0))
    assert np.linalg.norm(late - early) < 0.1 < 1.9 < np.linalg.norm(late - noon)


@pytest.mark.parametrize("parts", ["hour", "weekday,month", "days,hour", "days, hour, weekday, month"])
@pytest.mark.parametrize("encoding", ["spread", "indicators"])
def test_a_date_weighs_no_more_than_a_number(parts, encoding):
    table = {"when": dates(4000, 1), "x": np.random.default_rng(2).normal(size=4000)}
    encoder = TableEncoder(roles={"when": f"date:{parts}"}, category_encoding=encoding)
    rows = np.asarray(encoder.fit_transform(table))
    assert_allclose(rows[:, -1].var(), 1.0, atol=0.05)
    assert 0.9 < rows[:, :-1].var(axis=0).sum() <= 1.05
    assert_allclose(rows[:, :-1].mean(axis=0), 0, atol=0.05)


def test_names_and_values_are_readable():
    table = {"when": DATES[:3], "x": [1.0, 2.0, 4.0]}
    encoder = TableEncoder(roles={"when": "date:hour,weekday,days"}).fit(table)
    assert encoder.get_feature_names_out().tolist() == [
        "when",
        *(f"{part} of when={axis}" for part in ("hour", "weekday") for axis in ("cosine", "sine")),
        "x",
    ]
    assert encoder.summary()[0]["treatment"] == "days before 2024-02-29, hour, weekday"
    values = encoder.values(table)
    assert list(values) == ["when", "hour of when", "weekday of when", "x"]
    assert values["weekday of when"].tolist() == ["Thursday", "Thursday", "Sunday"]
    assert_allclose(values["hour of when"], [0, 6.5, 24 * 1439 / 1440])


def test_without_days_the_date_itself_does_not_matter():
    table = {"when": dates(300, 3), "x": np.random.default_rng(4).normal(size=300)}
    encoder = TableEncoder(roles={"when": "date:hour"}, category_encoding="indicators").fit(table)
    later = {**table, "when": table["when"] + np.timedelta64(7, "D")}
    assert_allclose(encoder.transform(later), encoder.transform(table), atol=1e-9)


@pytest.mark.parametrize("encoding", ["spread", "indicators"])
def test_cosines_and_sines_come_back_in_their_own_units(encoding):
    table = {"when": dates(5000, 5, hour=np.random.default_rng(6).normal(9, 2, 5000)), "x": np.arange(5000.0)}
    encoder = TableEncoder(roles={"when": "date:days,hour"}, category_encoding=encoding).fit(table)
    rows = np.asarray(encoder.transform(table))
    days = table["when"].astype(np.int64) / 86400
    cosine = np.asarray(encoder.in_units("hour of when=cosine", rows[:, 1])).mean()
    share = np.sqrt(np.pi) / 2 if encoding == "spread" else 1.0
    assert_allclose(cosine, share * ring(days, "hour")[:, 0].mean(), atol=0.02)
    assert_array_equal(encoder.in_units("when", rows[:, 0]), table["when"])


def test_gaps_are_in_the_middle_of_the_others():
    days = dates(200, 7, hour=np.full(200, 9.0)).astype(np.int64) / 86400
    days[:50] = np.nan
    mean = ring(days[50:], "hour").mean(axis=0)
    assert_array_equal(encoded_ring(days, "hour", mean, None, 0)[:50], 0)
    assert_allclose(encoded_ring(days, "hour", mean, None, 0), 0, atol=1e-9)


def test_the_result_for_a_row_does_not_depend_on_the_others():
    table = pd.DataFrame({"when": dates(100, 8), "x": np.random.default_rng(9).normal(size=100)})
    encoder = TableEncoder(roles={"when": "date:days,hour,month"}).fit(table)
    assert_array_equal(encoder.transform(table)[::-1], encoder.transform(table[::-1]))


@pytest.mark.parametrize("kind", ["every hour", "every day of the week"])
def test_a_part_that_has_nothing_to_do_with_the_numbers_makes_no_clusters(kind):
    """A plain ring of hours is cut through its hole; a filled one is not."""
    random = np.random.default_rng(10)
    table = {f"v{j}": random.normal(size=1500) for j in range(4)} | {"when": dates(1500, 11)}
    role = "date:hour" if kind == "every hour" else "date:weekday"
    assert IncrementalMDH().fit(TableEncoder(roles={"when": role}).fit_transform(table)).n_clusters_ == 1
    if kind == "every hour":
        plain = TableEncoder(roles={"when": role}, category_encoding="indicators").fit_transform(table)
        with pytest.warns(UserWarning, match="the number of clusters comes from the elbow"):
            assert IncrementalMDH().fit(plain).n_clusters_ > 1


def shifts():
    random = np.random.default_rng(12)
    late = np.repeat([False, True], 400)
    hours = np.where(late, 20, 8) + random.normal(0, 1.2, 800)
    return {"when": dates(800, 13, hour=hours), "x": random.normal(size=800) + 3 * late}, late


def test_clusters_that_differ_in_the_hour_are_found_and_described():
    table, late = shifts()
    encoder = TableEncoder(roles={"when": "date:hour"})
    labels = IncrementalMDH(random_state=0).fit(encoder.fit_transform(table)).labels_
    assert len(set(labels)) == 2
    assert max((labels == late).mean(), (labels != late).mean()) > 0.95
    values = encoder.values(table)
    assert "hour of when" in sentence(profile(values, labels), 0)
    assert "hour of when" in rules(values, labels).to_text()


def test_a_saved_encoder_is_the_same_to_the_last_bit(tmp_path):
    from sklearn.pipeline import make_pipeline

    table, _ = shifts()
    roles = {"when": "date:hour,weekday,days"}
    pipe = make_pipeline(TableEncoder(roles=roles), IncrementalMDH(random_state=0)).fit(table)
    save(pipe, tmp_path / "m.ravine")
    again = load(tmp_path / "m.ravine")
    assert again[0].columns_ == pipe[0].columns_
    assert again[0].roles == roles
    assert_array_equal(again[0].transform(table), pipe[0].transform(table))
    assert_array_equal(again.predict(table), pipe.predict(table))


def test_files_of_earlier_versions_have_no_parts():
    table, _ = shifts()
    encoder = TableEncoder().fit(table)
    state = encoder._state(resume=False)
    for column in state["columns"]:
        del column["parts"], column["part_means"]
    again = TableEncoder()
    again.n_features_in_ = 2
    again._restore(TableEncoder._schema.checked(state, encoder._sizes()))
    assert again.columns_ == encoder.columns_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": ["hour"], "part_means": []}, "part_means.* has 0 entries, not 2"),
        ({"parts": ["minute"], "part_means": [0.0, 0.0]}, "has an entry that is not a part"),
        ({"parts": ["hour"], "part_means": [2.0, 0.0]}, "not from -1 to 1"),
        ({"parts": ["hour", "hour"], "part_means": [0.0, 0.0]}, "has an entry that is not a part"),
        ({"role": "number", "kind": "number", "parts": ["hour"], "part_means": [0.0, 0.0]}, "not empty for a number"),
    ],
)
def test_damaged_parts_are_refused(change, message):
    encoder = TableEncoder(roles={"when": "date:hour"}).fit(shifts()[0])
    state = encoder._state(resume=False)
    state["columns"][0].update(change)
    with pytest.raises(ValueError, match=message):
        TableEncoder._schema.checked(state, encoder._sizes())


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (
            {"when": "date:minute"},
            "the role of 'when': a date has no part 'minute': choose from days, hour, weekday, month",
        ),
        ({"when": "date:"}, "a date has no part ''"),
        ({"x": "number:hour"}, "the role of 'x': the role 'number:hour' has parts, but only a date has"),
        ({"when": "day:hour"}, "the role of 'when' must be one of"),
        ({"when": 3}, "the role of 'when' must be one of .*, not 3"),
        ({"x": "date:hour"}, "column 'x' cannot be a date"),
    ],
)
def test_bad_parts_are_refused(roles, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(roles=roles).fit({"when": DATES, "x": [1.5, 2.5, 4.5, 6.5]})


def test_a_column_with_the_name_of_a_part_is_refused():
    table = {"when": DATES, "hour of when": [1.0, 2.0, 3.0, 4.0]}
    with pytest.raises(
        ValueError, match="the table has a column 'hour of when', the name of a part of 'when': rename it"
    ):
        TableEncoder(roles={"when": "date:hour"}).fit(table)


def test_roles_are_split():
    assert split_role("date: hour , hour,month") == ("date", ("hour", "month"))
    assert split_role("category") == ("category", ())
