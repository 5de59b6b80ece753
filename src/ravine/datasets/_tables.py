"""Tables as they come from a shop, a factory or a hospital: segments that are known, under every usual kind of mess.

Segments are Gaussian in the number columns, or in their logarithms. The mess comes afterwards, see
:mod:`ravine.datasets._mess`.
"""

import csv
import io
from dataclasses import dataclass, field
from numbers import Integral, Real
from os import PathLike
from typing import Any, Literal, TextIO

import numpy as np
from sklearn.utils import check_random_state

from ravine._sklearn import Interval, StrOptions, validate_params
from ravine.datasets import _mess
from ravine.datasets._mess import Cells, Floats, Labels
from ravine.datasets._params import Seed
from ravine.datasets._themes import THEMES


@dataclass(frozen=True, eq=False)
class MessyTable:
    """A table with known segments, as `make_messy_table` draws it.

    Parameters
    ----------
    columns : dict of str to list of str
        The cells of each column, as they are written in a file.
    segment : ndarray of shape (n_samples,)
        Segment of each row, 0…n_segments - 1; the largest is 0.
    truth : ndarray of shape (n_samples, n_informative)
        The number columns that carry the segments, before any mess: logarithms where a column is lognormal.
    truth_names : tuple of str
        Names of the columns of `truth`.
    roles : dict of str to str
        What each column is: "number", "category", "date", "identifier", "text" or "constant". Codes and booleans are
        categories.
    copies : dict of str to str
        Columns that are a function of another column, and the name of that other column.
    parameters : dict
        The parameters with which the table was drawn.

    Examples
    --------
    >>> from ravine.datasets import make_messy_table
    >>> table = make_messy_table(100, random_state=0)
    >>> table.truth.shape
    (100, 5)
    >>> table.roles["customer_id"], len(table.columns["customer_id"])
    ('identifier', 100)
    """

    columns: dict[str, Cells] = field(repr=False)
    segment: Labels = field(repr=False)
    truth: Floats = field(repr=False)
    truth_names: tuple[str, ...]
    roles: dict[str, str]
    copies: dict[str, str]
    parameters: dict[str, Any]

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the columns to a CSV file, without the segments.

        Parameters
        ----------
        path : str or path-like
            The file, in UTF-8; an existing one is replaced.
        """
        with open(path, "w", encoding="utf-8", newline="") as file:
            self._write(file)

    def to_pandas(self) -> Any:
        """Return the frame that `pandas.read_csv` reads from the file of :meth:`to_csv`.

        Returns
        -------
        pandas.DataFrame
            Columns have the types that pandas finds.
        """
        import pandas as pd

        file = io.StringIO(newline="")
        self._write(file)
        file.seek(0)
        return pd.read_csv(file)

    def _write(self, file: TextIO) -> None:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(zip(*self.columns.values(), strict=True))


_COUNT = [Interval(Integral, 0, None, closed="left")]
_AT_LEAST_ONE = [Interval(Integral, 1, None, closed="left")]
_SHARE = [Interval(Real, 0, 1, closed="both")]
_NOT_NEGATIVE = [Interval(Real, 0, None, closed="left")]


@validate_params(
    {
        "n_samples": _AT_LEAST_ONE,
        "theme": [StrOptions(set(THEMES))],
        "n_segments": _AT_LEAST_ONE,
        "separation": _NOT_NEGATIVE,
        "imbalance": [Interval(Real, 1, None, closed="left")],
        "n_informative": _AT_LEAST_ONE,
        "n_noise": _COUNT,
        "lognormal": _SHARE,
        "formatted": _SHARE,
        "n_copies": _COUNT,
        "n_sparse": _COUNT,
        "n_categories": _COUNT,
        "category_strength": _SHARE,
        "n_noise_categories": _COUNT,
        "n_levels": [Interval(Integral, 2, None, closed="left")],
        "n_long_categories": _COUNT,
        "rare_levels": _SHARE,
        "n_booleans": _COUNT,
        "n_codes": _COUNT,
        "n_dates": _COUNT,
        "date_strength": _NOT_NEGATIVE,
        "n_identifiers": _COUNT,
        "n_texts": _COUNT,
        "n_constants": _COUNT,
        "missing": _SHARE,
        "gap_spellings": ["boolean"],
        "errors": _SHARE,
        "stray_spaces": _SHARE,
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_messy_table(
    n_samples: int = 2000,
    *,
    theme: Literal["shop", "machines", "patients"] = "shop",
    n_segments: int = 4,
    separation: float = 4.0,
    imbalance: float = 3.0,
    n_informative: int = 5,
    n_noise: int = 2,
    lognormal: float = 0.5,
    formatted: float = 0.5,
    n_copies: int = 1,
    n_sparse: int = 1,
    n_categories: int = 2,
    category_strength: float = 0.6,
    n_noise_categories: int = 1,
    n_levels: int = 5,
    n_long_categories: int = 1,
    rare_levels: float = 0.01,
    n_booleans: int = 1,
    n_codes: int = 1,
    n_dates: int = 2,
    date_strength: float = 1.0,
    n_identifiers: int = 2,
    n_texts: int = 1,
    n_constants: int = 1,
    missing: float = 0.03,
    gap_spellings: bool = True,
    errors: float = 0.001,
    stray_spaces: float = 0.01,
    random_state: Seed = None,
) -> MessyTable:
    """Generate a table with known segments, as messy as one from a shop.

    The number columns, or their logarithms, are Gaussian in each segment. Categories, booleans and dates may depend on
    the segment too. Then comes the mess. Each kind of it is switched off by 0 or False, which leaves the rest of the
    table as it is.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows.
    theme : {"shop", "machines", "patients"}, default="shop"
        What the table is about. It decides the names, units and levels.
    n_segments : int, default=4
        Number of segments; with 1, the table has no clusters.
    separation : float, default=4.0
        Minimum distance between the centers of two segments, in standard deviations of a segment.
    imbalance : float, default=3.0
        Size of the largest segment by the size of the smallest.
    n_informative : int, default=5
        Number of number columns that depend on the segment.
    n_noise : int, default=2
        Number of number columns that do not.
    lognormal : float, default=0.5
        Share of the number columns that are lognormal; the others are Gaussian.
    formatted : float, default=0.5
        Share of the number columns written as text, such as "€1,234.50", "1.234,50", "12 %", "1,234" or "3.2 kg". A
        column has one format.
    n_copies : int, default=1
        Number of columns that are a function of another one: a price without tax, or the same numbers again.
    n_sparse : int, default=1
        Number of number columns that are mostly gaps. They do not depend on the segment.
    n_categories : int, default=2
        Number of categories that depend on the segment.
    category_strength : float, default=0.6
        How much they depend on it: from 0, not at all, to 1, where a segment has one level only.
    n_noise_categories : int, default=1
        Number of categories that do not depend on the segment.
    n_levels : int, default=5
        Maximum number of levels of these categories. A theme has three to eight for each.
    n_long_categories : int, default=1
        Number of further categories that do not depend on the segment, of 40 levels each.
    rare_levels : float, default=0.01
        Share of the cells of a category with a level that is rare: a misspelled or capitalized one, or "other".
    n_booleans : int, default=1
        Number of columns of "yes" and "no". They depend on the segment half as much as a category.
    n_codes : int, default=1
        Number of columns of codes such as postcodes, which look like numbers. They do not depend on the segment.
    n_dates : int, default=2
        Number of date columns, each in one of five formats.
    date_strength : float, default=1.0
        Standard deviation of the middle dates of the segments, in standard deviations of a segment; with 0, dates do
        not depend on the segment.
    n_identifiers : int, default=2
        Number of identifiers: a customer number such as C-004711, a sequence, a UUID, and again.
    n_texts : int, default=1
        Number of columns of free text.
    n_constants : int, default=1
        Number of columns in which all cells are equal.
    missing : float, default=0.03
        Share of the cells that are missing at random; identifiers and constants have no gaps.
    gap_spellings : bool, default=True
        Whether gaps are also written as "NA", "n/a" and "-". A column has one to three spellings.
    errors : float, default=0.001
        Share of the cells of a number column that are wrong: 999 or a million times too large, or -999.
    stray_spaces : float, default=0.01
        Share of the cells of a number column with a space before or after the number.
    random_state : int, RandomState instance or None, default=None
        Controls everything random. Pass an int for reproducible output.

    Returns
    -------
    MessyTable
        The cells, the segments and what is behind them.

    See Also
    --------
    random_messy_table : Draws the parameters, too.

    Examples
    --------
    >>> from ravine.datasets import make_messy_table
    >>> table = make_messy_table(200, n_segments=3, random_state=0)
    >>> frame = table.to_pandas()
    >>> frame.shape
    (200, 21)
    >>> sorted(set(table.roles.values()))
    ['category', 'constant', 'date', 'identifier', 'number', 'text']
    """
    parameters = {name: value for name, value in locals().items() if name != "random_state"}
    words, draw = THEMES[theme], _mess.Draw.of(n_samples, n_segments, imbalance, random_state)
    truth, noise = _mess.number_columns(draw, words, n_informative, n_noise, lognormal, separation)
    copies = _mess.copies_of([*truth, *noise], n_copies)
    sparse = _mess.sparse_columns(draw, words, n_sparse)
    categories = [
        *((spec, n_levels, category_strength) for spec in _mess.picked(draw, words.categories, n_categories)),
        *((spec, n_levels, 0.0) for spec in _mess.picked(draw, words.noise_categories, n_noise_categories)),
        *((spec, len(spec.levels), 0.0) for spec in _mess.picked(draw, words.long_categories, n_long_categories)),
    ]
    groups = {
        "identifier": _mess.identifiers(draw, words, n_identifiers),
        "constant": _mess.constants(draw, words, n_constants),
        "number": {
            column.name: _mess.written(draw, column, formatted, errors, stray_spaces)
            for column in (*truth, *noise, *copies.values(), *sparse)
        },
        "category": {
            **{spec.name: _mess.category(draw, spec, size, by, rare_levels) for spec, size, by in categories},
            **_mess.booleans(draw, words, n_booleans, category_strength / 2),
            **_mess.codes(draw, words, n_codes),
        },
        "date": _mess.dates(draw, words, n_dates, date_strength),
        "text": _mess.texts(draw, words, n_texts),
    }
    columns = {name: cells for group in groups.values() for name, cells in group.items()}
    roles = {name: role for role, group in groups.items() for name in group}
    gaps = {name: missing for name, role in roles.items() if role not in ("identifier", "constant")}
    gaps |= {column.name: column.gaps for column in sparse}
    for name, share in gaps.items():
        columns[name] = _mess.with_gaps(draw, name, columns[name], share, gap_spellings)
    others = [name for name in columns if name not in groups["identifier"]]
    order = [*groups["identifier"], *_mess.in_random_order(draw, others)]
    return MessyTable(
        columns={name: columns[name] for name in order},
        segment=draw.segment,
        truth=np.column_stack([column.scale for column in truth]),
        truth_names=tuple(column.name for column in truth),
        roles={name: roles[name] for name in order},
        copies={copy.name: source for source, copy in copies.items()},
        parameters=parameters,
    )


@validate_params({"random_state": ["random_state"]}, prefer_skip_nested_validation=True)
def random_messy_table(random_state: Seed = None, **fixed: Any) -> MessyTable:
    """Generate a messy table whose parameters are random, too.

    Two to six segments in three to seven number columns, and every kind of mess at a random level, from none at all to
    a few times the default of `make_messy_table`.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Controls the parameters and the table. Pass an int for reproducible output.
    **fixed : object
        Parameters of :func:`make_messy_table` that are not random. They do not change the others.

    Returns
    -------
    MessyTable
        The table; its attribute `parameters` says what was drawn.

    See Also
    --------
    make_messy_table : With parameters of your own.

    Examples
    --------
    >>> from ravine.datasets import random_messy_table
    >>> table = random_messy_table(3, n_samples=300)
    >>> table.truth.shape == (300, table.parameters["n_informative"])
    True
    """
    rng = check_random_state(random_state)
    drawn: dict[str, Any] = {
        "theme": sorted(THEMES)[rng.randint(len(THEMES))],
        "n_samples": int(round(rng.uniform(1500, 5000), -2)),
        "n_segments": rng.randint(2, 7),
        "separation": round(rng.uniform(3.6, 4.6), 2),
        "imbalance": round(rng.uniform(1, 4), 1),
        "n_informative": rng.randint(3, 8),
        "n_noise": rng.randint(0, 5),
        "lognormal": round(rng.uniform(0, 1), 1),
        "formatted": round(rng.uniform(0, 1), 1),
        "n_copies": rng.randint(0, 3),
        "n_sparse": rng.randint(0, 3),
        "n_categories": rng.randint(0, 4),
        "category_strength": round(rng.uniform(0.3, 0.9), 1),
        "n_noise_categories": rng.randint(0, 4),
        "n_levels": rng.randint(3, 9),
        "n_long_categories": rng.randint(0, 2),
        "rare_levels": rng.choice([0.0, 0.01, 0.02]).item(),
        "n_booleans": rng.randint(0, 3),
        "n_codes": rng.randint(0, 3),
        "n_dates": rng.randint(0, 4),
        "date_strength": rng.choice([0.0, 1.0, 2.0]).item(),
        "n_identifiers": rng.randint(1, 4),
        "n_texts": rng.randint(0, 2),
        "n_constants": rng.randint(0, 3),
        "missing": rng.choice([0.0, 0.01, 0.02, 0.05]).item(),
        "gap_spellings": bool(rng.randint(2)),
        "errors": rng.choice([0.0, 0.001, 0.003]).item(),
        "stray_spaces": rng.choice([0.0, 0.01, 0.03]).item(),
    }
    return make_messy_table(**{**drawn, **fixed}, random_state=rng)
