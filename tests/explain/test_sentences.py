import numpy as np
import pytest

from ravine.explain import cluster_names, profile, sentence
from ravine.explain._format import number_text

N = 100
LABELS = np.repeat([0, 1, 2], N)


def three(*values):
    """A column with a value in each of three clusters; of a pair, one half of the rows each."""
    parts = [np.resize(np.array(value if isinstance(value, tuple) else (value,), dtype=object), N) for value in values]
    return np.concatenate(parts)


def test_numbers_have_units():
    profiles = profile({"spend": three((300, 310), (305, 315), (1230.4, 1249.6))}, LABELS)
    assert sentence(profiles, 2, units={"spend": ("€", "")}) == "median spend €1,240, against €312 for all"


def test_categories_have_shares():
    profiles = profile({"channel": three("web", "web", ("app", "app", "app", "web"))}, LABELS)
    assert sentence(profiles, 2) == "channel is app for 75 %, against 25 % for all"


def test_truth_values_are_yes_or_no():
    profiles = profile({"newsletter": three(False, False, True)}, LABELS)
    assert sentence(profiles, 2) == "newsletter is yes for 100 %, against 33 % for all"
    assert cluster_names(profiles) == {
        0: "not newsletter (cluster 0)",
        1: "not newsletter (cluster 1)",
        2: "newsletter",
    }


def test_gaps_are_told():
    profiles = profile({"age": three((30, 40), (30, 40), (None, None, None, 35))}, LABELS)
    assert sentence(profiles, 2) == "age is missing for 75 %, against 25 % for all"
    assert cluster_names(profiles)[2] == "no age"


def test_dates_are_dates():
    days = np.repeat(np.array(["2020-01-01", "2020-02-01", "2024-03-01"], dtype="datetime64[D]"), N)
    profiles = profile({"joined": days}, LABELS)
    assert sentence(profiles, 2) == "median joined 2024-03-01, against 2020-02-01 for all"
    assert cluster_names(profiles)[2] == "very late joined"


def test_years_have_no_separator():
    profiles = profile({"year": three((1990, 1991), (1995, 1996), (2015, 2016))}, LABELS)
    assert sentence(profiles, 2) == "median year 2016, against 1996 for all"


def test_a_cluster_in_the_middle_has_a_range():
    profiles = profile({"age": three((20, 21), (70, 71), (44, 45, 46, 47))}, LABELS)
    assert sentence(profiles, 2) == ("half of the values of age between 44.5 and 46.5, against 21 and 70 for all")
    assert cluster_names(profiles)[2] == "mid-range age"


def test_equal_medians_are_not_compared():
    """Few rows have a value other than zero: the medians are equal, the means are not."""
    profiles = profile({"returns": three(0, 0, (0, 0, 0, 0, 5))}, LABELS)
    assert sentence(profiles, 2) == "mean returns 1, against 0.333 for all"


def test_no_difference_is_said_so(rng):
    profiles = profile({"a": rng.normal(size=300)}, LABELS)
    assert sentence(profiles, 0) == "much like all rows"
    assert cluster_names(profiles)[0].startswith("average")


def test_the_number_of_columns():
    table = {f"c{j}": three(0, 0, j + 1) for j in range(5)}
    profiles = profile(table, LABELS)
    assert [sentence(profiles, 2, n).count("against") for n in (1, 3, 9)] == [1, 3, 5]


def test_names_are_unique_and_become_longer_where_needed():
    table = {"spend": three(1, 9, 9), "age": three(20, (60, 61), (60, 61)), "channel": three("web", "app", "shop")}
    names = cluster_names(profile(table, LABELS), n=1)
    assert len(set(names.values())) == 3
    assert "(cluster" not in "".join(names.values())


@pytest.mark.parametrize("n_clusters", [1, 2, 500])
def test_names_of_many_clusters_are_unique(rng, n_clusters):
    labels = np.arange(1500) % n_clusters
    table = {"a": labels + rng.normal(size=1500), "b": rng.choice(["u", "v"], 1500), "c": rng.normal(size=1500)}
    names = cluster_names(profile(table, labels))
    assert len(set(names.values())) == len(names) == n_clusters
    assert all(names.values())


def test_names_of_levels_that_say_nothing_have_the_column():
    profiles = profile({"grade": three("1", "2", "3"), "paid": three("yes", "no", "no")}, LABELS)
    assert cluster_names(profiles, n=1)[2] == "grade 3"
    assert cluster_names(profiles)[0] in ("grade 1, paid yes", "paid yes, grade 1")


def test_control_characters_are_escaped():
    profiles = profile({"two\nlines": three(1, 1, 9), "": three("", "", "\x1b[31m")}, LABELS)
    told = sentence(profiles, 2) + cluster_names(profiles)[2]
    assert told.isprintable()
    assert r"two\nlines" in told
    assert "(empty) is" in told


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (999.6, 0, "1,000"),
        (12.0, 0, "12"),
        (0.000012345, 0, "0.0000123"),
        (1e-9, 0, "1e-09"),
        (-0.001, 10, "0"),
        (1013.25, 8, "1,013.2"),
        (123456, 20, "123,456"),
        (np.nan, 0, "missing"),
        (-np.inf, 0, "-∞"),
    ],
)
def test_numbers_as_text(value, spread, text):
    assert number_text(value, spread) == text
