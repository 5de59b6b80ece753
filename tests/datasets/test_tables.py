import csv
import json
import os
import re
import subprocess
import sys
from collections import Counter
from datetime import datetime
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine.datasets import make_messy_table, random_messy_table
from ravine.datasets._mess import DATE_STYLES, GAPS
from ravine.datasets._themes import THEMES

THEME_NAMES = sorted(THEMES)
every_theme = pytest.mark.parametrize("theme", THEME_NAMES)

NO_MESS = {
    "formatted": 0,
    "rare_levels": 0,
    "missing": 0,
    "errors": 0,
    "stray_spaces": 0,
}
NUMBERS_ONLY = dict.fromkeys(
    [
        "n_noise",
        "n_copies",
        "n_sparse",
        "n_categories",
        "n_noise_categories",
        "n_long_categories",
        "n_booleans",
        "n_codes",
        "n_dates",
        "n_identifiers",
        "n_texts",
        "n_constants",
    ],
    0,
)


def of_role(table, role):
    return [name for name in table.columns if table.roles[name] == role]


def number_of(cell):
    """The number that a cell of any style is read as by a person."""
    digits = re.sub(r"[^0-9.,-]", "", cell.replace("/5", ""))
    if re.search(r",\d\d$", digits):
        digits = digits.replace(".", "").replace(",", ".")
    return float(digits.replace(",", ""))


@every_theme
def test_a_column_has_a_cell_for_each_row_and_a_role(theme):
    table = make_messy_table(50, theme=theme, random_state=0)
    assert {len(cells) for cells in table.columns.values()} == {50}
    assert all(isinstance(cell, str) for cells in table.columns.values() for cell in cells)
    assert list(table.roles) == list(table.columns)
    assert set(table.roles.values()) == {"number", "category", "date", "identifier", "text", "constant"}
    assert table.segment.shape == (50,)
    assert table.truth.shape == (50, 5)
    assert {table.roles[name] for name in table.truth_names} == {"number"}


def test_a_seed_decides_the_table():
    first, again, other = (make_messy_table(60, random_state=seed) for seed in (7, 7, 8))
    assert first.columns == again.columns
    assert list(first.columns) == list(again.columns)
    assert_array_equal(first.truth, again.truth)
    assert_array_equal(first.segment, again.segment)
    assert first.columns != other.columns


@pytest.fixture(scope="module")
def elsewhere():
    """A table that another process draws, where neither pandas nor pyarrow can be imported."""
    code = """
import json, sys
sys.modules |= {"pandas": None, "pyarrow": None}
from ravine.datasets import make_messy_table
print(json.dumps(["numba" in sys.modules, make_messy_table(20, random_state=3).columns]))
"""
    environment = os.environ | {"PYTHONHASHSEED": "3"}
    return json.loads(subprocess.check_output([sys.executable, "-c", code], text=True, env=environment))


def test_a_seed_decides_the_table_in_another_process_without_pandas(elsewhere):
    table = make_messy_table(20, random_state=3)
    assert list(elsewhere[1].items()) == list(table.columns.items())


def test_tables_are_drawn_without_numba(elsewhere):
    assert elsewhere[0] is False


def test_a_random_state_instance_moves_on_and_none_is_accepted():
    rng = np.random.RandomState(7)
    first, second = (make_messy_table(20, random_state=rng) for _ in range(2))
    assert first.columns == make_messy_table(20, random_state=7).columns
    assert first.columns != second.columns
    assert len(make_messy_table(20, random_state=None).segment) == 20


@pytest.mark.parametrize(
    "off", ["formatted", "rare_levels", "missing", "errors", "stray_spaces", "n_dates", "n_texts", "n_noise"]
)
def test_one_kind_of_mess_is_switched_off_without_a_change_of_the_rest(off):
    table, less = make_messy_table(300, random_state=1), make_messy_table(300, **{off: 0}, random_state=1)
    assert_array_equal(table.truth, less.truth)
    assert_array_equal(table.segment, less.segment)
    assert list(less.columns) == [name for name in table.columns if name in less.columns]
    touched = {"formatted": "number", "errors": "number", "stray_spaces": "number", "rare_levels": "category"}
    for name in less.columns:
        if off != "missing" and less.roles[name] != touched.get(off):
            assert less.columns[name] == table.columns[name]
    assert less.columns != table.columns


def test_what_is_switched_off_is_not_there():
    table = make_messy_table(100, **NO_MESS, **NUMBERS_ONLY, random_state=0)
    assert set(table.columns) == set(table.truth_names)
    clean = np.array([table.columns[name] for name in table.truth_names], dtype=float).T
    is_log = np.isclose(np.log(np.maximum(clean, 1e-9)), table.truth, rtol=0.05, atol=0.05).mean(axis=0) > 0.9
    assert is_log.sum() == 2  # half of five, rounded to the even number
    assert_allclose(clean[:, ~is_log], table.truth[:, ~is_log], atol=0.51)


def test_segments_have_the_stated_sizes_and_centers_far_apart():
    table = make_messy_table(4000, n_segments=5, imbalance=4, separation=6, lognormal=0, random_state=2)
    sizes = np.bincount(table.segment)
    assert sizes[0] / sizes[-1] == pytest.approx(4, rel=0.02)
    assert (np.diff(sizes) < 0).all()
    within = np.mean([table.truth[table.segment == k].std(axis=0) for k in range(5)], axis=0)
    centers = np.array([table.truth[table.segment == k].mean(axis=0) / within for k in range(5)])
    distance = [np.linalg.norm(centers[i] - centers[j]) for i, j in product(range(5), repeat=2) if i < j]
    assert 5 < min(distance) < 8


def test_one_segment_is_a_single_gaussian():
    table = make_messy_table(5000, n_segments=1, random_state=0)
    assert not table.segment.any()
    standard = (table.truth - table.truth.mean(axis=0)) / table.truth.std(axis=0)
    assert_allclose((standard**3).mean(axis=0), 0, atol=0.2)
    assert_allclose((standard**4).mean(axis=0), 3, atol=0.4)


@every_theme
def test_numbers_written_as_text_are_those_of_the_truth(theme):
    clean = NO_MESS | {"formatted": 1}
    table = make_messy_table(400, theme=theme, **clean, n_informative=12, lognormal=0.5, random_state=3)
    for name, truth in zip(table.truth_names, table.truth.T, strict=True):
        read = np.array([number_of(cell) for cell in table.columns[name]])
        closeness = [np.corrcoef(read, truth)[0, 1], np.corrcoef(np.log(np.maximum(read, 0.01)), truth)[0, 1]]
        assert max(closeness) > 0.99, (name, table.columns[name][:3])


def test_every_style_of_number_is_used():
    tables = [
        make_messy_table(200, theme=theme, formatted=1, n_noise=9, random_state=s)
        for s in range(6)
        for theme in THEME_NAMES
    ]
    cells = " | ".join(cell for table in tables for name in of_role(table, "number") for cell in table.columns[name])
    for style in (r"€\d,\d{3}\.\d\d", r"\d\.\d{3},\d\d", r"\d %", r"\| \d,\d{3} \|", r"\d kg", r"\$\d"):
        assert re.search(style, cells), style


def test_a_column_has_one_style():
    table = make_messy_table(
        500, theme="shop", formatted=1, missing=0, n_sparse=0, errors=0, stray_spaces=0, random_state=0
    )
    for name in of_role(table, "number"):
        units = {re.sub(r"[0-9.,]", "", cell) for cell in table.columns[name]}
        assert len(units) == 1


def test_prices_without_tax_and_duplicates_follow_their_columns():
    table = make_messy_table(300, **NO_MESS, n_copies=7, lognormal=1, random_state=0)
    assert len(table.copies) == 7
    for copy, source in table.copies.items():
        one, other = (np.array(table.columns[name], dtype=float) for name in (copy, source))
        assert_allclose(one, other / 1.19 if copy.endswith("_net") else other, atol=0.006)
    assert {name.rpartition("_")[2] for name in table.copies} == {"net", "copy"}


def test_strong_categories_follow_the_segments_and_noise_categories_do_not():
    table = make_messy_table(
        4000, **NO_MESS, n_categories=1, category_strength=1, n_noise_categories=1, n_levels=6, n_booleans=0,
        n_codes=0, random_state=0,
    )  # fmt: skip
    frame = pd.DataFrame({name: table.columns[name] for name in of_role(table, "category")})
    shares = {name: pd.crosstab(table.segment, frame[name], normalize="index") for name in frame}
    purest = {name: table.to_numpy().max(axis=1).min() for name, table in shares.items()}
    spread = {name: np.ptp(table.to_numpy(), axis=0).max() for name, table in shares.items()}
    (strong,) = (name for name in frame if purest[name] == 1)
    assert all(spread[name] < 0.1 for name in frame if name != strong)


def test_rare_levels_are_rare():
    plain = make_messy_table(2000, rare_levels=0, missing=0, n_codes=0, random_state=0)
    table = make_messy_table(2000, rare_levels=0.02, missing=0, n_codes=0, random_state=0)
    for name in of_role(table, "category"):
        changed = np.mean([a != b for a, b in zip(table.columns[name], plain.columns[name], strict=True)])
        assert changed == 0 if set(table.columns[name]) == {"yes", "no"} else 0.005 < changed < 0.03


def test_codes_are_digits_with_leading_zeros():
    table = make_messy_table(2000, missing=0, n_codes=1, random_state=0)
    assert all(re.fullmatch(r"\d{5}", cell) for cell in table.columns["postcode"])
    assert any(cell.startswith("0") for cell in table.columns["postcode"])


@pytest.mark.parametrize("strength", [0, 2])
def test_dates_are_dates_in_order_and_depend_on_the_segment_only_if_asked(strength):
    table = make_messy_table(1500, missing=0, n_dates=2, date_strength=strength, random_state=5)
    read = {}
    for name in of_role(table, "date"):
        formats = ["%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%Y-%m-%d %H:%M:%S", "%b %d, %Y"]
        for form, style in zip(formats, DATE_STYLES, strict=True):
            try:
                days = [datetime.strptime(cell, form) for cell in table.columns[name]]
            except ValueError:
                continue
            assert [style(day) for day in days] == table.columns[name]
            read[name] = np.array([day.timestamp() / 86_400 for day in days])
    assert list(read) == of_role(table, "date")
    assert (read["signup_date"] < read["last_order"]).mean() > 0.98
    assert max(days.max() for days in read.values()) <= datetime(2025, 7, 1).timestamp() / 86_400
    for days in read.values():
        middles = [days[table.segment == k].mean() for k in range(4)]
        assert (np.ptp(middles) > 100) == (strength > 0)


def test_identifiers_are_distinct_and_of_three_kinds():
    table = make_messy_table(3000, n_identifiers=4, random_state=0)
    assert list(table.columns)[:4] == of_role(table, "identifier") == [
        "customer_id", "row_id", "session_uuid", "customer_id_2"
    ]  # fmt: skip
    assert all(len(set(table.columns[name])) == 3000 for name in of_role(table, "identifier"))
    assert all(re.fullmatch(r"C-\d{6}", cell) for cell in table.columns["customer_id"])
    assert table.columns["row_id"][:2] == ["1", "2"]


def test_texts_are_mostly_distinct_and_constants_are_constant():
    table = make_messy_table(2000, missing=0, n_texts=2, n_constants=2, random_state=0)
    assert all(len(set(table.columns[name])) > 1500 for name in of_role(table, "text"))
    assert [len(set(table.columns[name])) for name in of_role(table, "constant")] == [1, 1]


def test_gaps_have_their_share_and_spellings():
    table = make_messy_table(4000, missing=0.1, n_sparse=2, random_state=0)
    used = Counter()
    for name, cells in table.columns.items():
        gaps = [cell for cell in cells if cell in GAPS]
        used.update(set(gaps))
        if table.roles[name] in ("identifier", "constant"):
            assert not gaps
        elif name in THEMES["shop"].sparse:
            assert 0.65 < len(gaps) / 4000 < 1
        else:
            assert len(gaps) / 4000 == pytest.approx(0.1, abs=0.03)
    assert set(used) == set(GAPS)
    one = make_messy_table(400, missing=0.1, gap_spellings=False, random_state=0)
    assert {cell for cells in one.columns.values() for cell in cells if cell in GAPS} == {""}


def test_errors_are_few_and_large_or_codes():
    plain = make_messy_table(5000, **NO_MESS, n_sparse=0, random_state=0)
    table = make_messy_table(5000, **NO_MESS | {"errors": 0.004}, n_sparse=0, random_state=0)
    ratios = []
    for name in of_role(table, "number"):
        pairs = [(a, b) for a, b in zip(table.columns[name], plain.columns[name], strict=True) if a != b]
        assert 5 <= len(pairs) <= 45
        ratios += [a if a == "-999" else round(float(a) / float(b)) for a, b in pairs]
    assert set(ratios) == {"-999", 999, 1_000_000}


def test_stray_spaces_are_around_numbers_only():
    table = make_messy_table(2000, stray_spaces=0.05, missing=0, n_sparse=0, random_state=0)
    for name, cells in table.columns.items():
        share = np.mean([cell != cell.strip() for cell in cells])
        assert 0.03 < share < 0.07 if table.roles[name] == "number" else share == 0


@every_theme
def test_names_are_distinct_if_a_theme_has_too_few(theme):
    counts = dict.fromkeys(NUMBERS_ONLY, 25)
    table = make_messy_table(3, theme=theme, n_informative=40, **counts, random_state=0)
    assert len(table.columns) == 40 + 12 * 25
    assert len(table.truth_names) == 40


@pytest.mark.parametrize("n_samples", [1, 2, 5])
def test_few_rows_are_drawn(n_samples):
    table = make_messy_table(n_samples, n_segments=4, random_state=0)
    assert len(table.to_pandas()) == n_samples
    assert np.isfinite(table.truth).all()


@pytest.mark.parametrize("off", ["missing", "errors", "rare_levels", "stray_spaces", "formatted"])
def test_all_cells_may_be_messy(off):
    table = make_messy_table(20, **{off: 1.0}, random_state=0)
    assert len(table.columns) == 21
    assert table.columns != make_messy_table(20, random_state=0).columns


def test_the_file_has_every_cell_and_pandas_reads_it(tmp_path):
    table = make_messy_table(300, random_state=0)
    table.to_csv(tmp_path / "table.csv")
    with open(tmp_path / "table.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == list(table.columns)
    assert [list(cells) for cells in zip(*rows, strict=True)] == list(table.columns.values())
    pd.testing.assert_frame_equal(table.to_pandas(), pd.read_csv(tmp_path / "table.csv"))


def test_a_single_column_of_gaps_keeps_its_rows(tmp_path):
    table = make_messy_table(
        10, **NO_MESS | NUMBERS_ONLY | {"missing": 1}, n_informative=1, gap_spellings=False, random_state=0
    )
    table.to_csv(tmp_path / "table.csv")
    with open(tmp_path / "table.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[1:] == [[""]] * 10


def test_the_words_of_a_table_do_not_include_its_cells():
    assert len(repr(make_messy_table(500, random_state=0))) < 3000


def test_random_tables_differ_in_their_parameters_and_are_reproducible():
    tables = [random_messy_table(seed, n_samples=40) for seed in range(40)]
    assert {table.parameters["theme"] for table in tables} == set(THEMES)
    assert {table.parameters["n_segments"] for table in tables} == {2, 3, 4, 5, 6}
    assert len({tuple(table.parameters.items()) for table in tables}) == 40
    assert random_messy_table(3, n_samples=40).columns == tables[3].columns


def test_parameters_of_a_random_table_can_be_fixed_without_a_change_of_the_others():
    table, fixed = random_messy_table(5, n_samples=40), random_messy_table(5, n_samples=40, missing=0.5)
    assert fixed.parameters == table.parameters | {"missing": 0.5}
    assert_array_equal(fixed.truth, table.truth)


def test_a_table_is_drawn_again_from_its_parameters():
    table = random_messy_table(2, n_samples=30)
    rows = make_messy_table(**table.parameters, random_state=1)
    assert rows.parameters == table.parameters
    assert list(rows.columns)[:1] == list(table.columns)[:1]


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_samples", 0),
        ("theme", "garden"),
        ("n_segments", 0),
        ("separation", -1.0),
        ("imbalance", 0.5),
        ("n_informative", 0),
        ("lognormal", 1.5),
        ("n_levels", 1),
        ("missing", -0.1),
        ("errors", np.nan),
        ("gap_spellings", "many"),
        ("random_state", "seven"),
    ],
)
def test_bad_parameters_are_named_in_the_error(parameter, value):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of make_messy_table"):
        make_messy_table(**{parameter: value})


def test_a_category_has_at_most_as_many_levels_as_asked_and_as_its_theme_has():
    for n_levels, fewest, most in ((2, 2, 2), (50, 3, 8)):
        table = make_messy_table(
            3000, n_levels=n_levels, n_categories=5, n_noise_categories=5, n_long_categories=0, n_codes=0, n_booleans=0,
            rare_levels=0, missing=0, random_state=0,
        )  # fmt: skip
        assert all(fewest <= len(set(table.columns[name])) <= most for name in of_role(table, "category"))
