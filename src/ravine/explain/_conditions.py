"""A condition on one column, as a mask of rows, as text, as SQL and as Python.

All forms agree, also on gaps: a gap satisfies a condition only if the condition says so.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.explain._format import name_text, plain_date, plain_number
from ravine.explain._sql import identifier, text_literal
from ravine.explain._table import NO, YES, Column, column_of

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Condition:
    """A condition on the values of one column.

    A value satisfies the condition if it is in the range, and in the list of levels, where these are given.

    Parameters
    ----------
    column : str
        Name of the column.
    kind : {"number", "date", "category", "boolean"}
        Kind of the column.
    low, high : float, optional
        The value is at least `low` and less than `high`. Dates are in microseconds since 1970.
    levels : tuple of str, optional
        The value is one of these. Truth values are "yes" and "no". An empty tuple excludes every value.
    is_negated : bool, default=False
        Whether the value must be none of the levels.
    or_missing : bool, default=False
        Whether a row without a value satisfies the condition.

    See Also
    --------
    Rule : Conditions that describe a cluster.

    Examples
    --------
    >>> from ravine.explain import Condition
    >>> condition = Condition("age", "number", low=18.0, high=31.0, or_missing=True)
    >>> condition.to_text()
    '(18 <= age < 31 or age is missing)'
    >>> condition.to_sql()
    '(("age" >= 18 AND "age" < 31) OR "age" IS NULL)'
    """

    column: str
    kind: str
    low: float | None = None
    high: float | None = None
    levels: tuple[str, ...] | None = None
    is_negated: bool = False
    or_missing: bool = False

    @property
    def is_only_missing(self) -> bool:
        """Whether only rows without a value satisfy the condition."""
        return self.levels == () and not self.is_negated

    @property
    def is_only_present(self) -> bool:
        """Whether all rows with a value satisfy the condition, and no others."""
        return self.low is None and self.high is None and self.levels is None and not self.or_missing

    def to_text(self) -> str:
        """Return the condition as text.

        Returns
        -------
        text : str
            Text for people, such as ``spend >= 820``.
        """
        name = name_text(self.column)
        if self.is_only_missing:
            return f"{name} is missing"
        if self.is_only_present:
            return f"{name} is not missing"
        if self.levels is not None:
            text = self._levels_text(name)
        elif self.low is not None and self.high is not None:
            text = f"{self._plain(self.low)} <= {name} < {self._plain(self.high)}"
        else:
            text = (
                f"{name} >= {self._plain(self.low)}" if self.low is not None else f"{name} < {self._plain(self.high)}"
            )
        return f"({text} or {name} is missing)" if self.or_missing else text

    def _levels_text(self, name: str) -> str:
        assert self.levels is not None
        if self.kind == "boolean":
            return f"{name} is {name_text(self._truth())}"
        texts = [f"'{name_text(level)}'" for level in self.levels]
        if len(texts) == 1:
            return f"{name} {'!=' if self.is_negated else '='} {texts[0]}"
        return f"{name} {'not in' if self.is_negated else 'in'} ({', '.join(texts)})"

    def _truth(self) -> str:
        """Return the one truth value that satisfies the condition."""
        assert self.levels is not None
        return self.levels[0] if not self.is_negated else {YES: NO, NO: YES}[self.levels[0]]

    def _plain(self, bound: float | None) -> str:
        assert bound is not None
        return plain_date(bound) if self.kind == "date" else plain_number(bound)

    def to_sql(self) -> str:
        """Return the condition as SQL.

        Returns
        -------
        sql : str
            An expression that is true for the rows that satisfy the condition, and false or NULL for all others.
        """
        name = identifier(self.column)
        if self.is_only_missing:
            return f"{name} IS NULL"
        if self.is_only_present:
            return f"{name} IS NOT NULL"
        parts = []
        for sign, bound in ((">=", self.low), ("<", self.high)):
            if bound is not None:
                literal = text_literal(plain_date(bound)) if self.kind == "date" else plain_number(bound)
                parts.append(f"{name} {sign} {literal}")
        if self.levels is not None:
            parts.append(self._levels_sql(name))
        text = " AND ".join(parts)
        if not self.or_missing:
            return text
        return f"({f'({text})' if len(parts) > 1 else text} OR {name} IS NULL)"

    def _levels_sql(self, name: str) -> str:
        assert self.levels is not None
        if self.kind == "boolean":
            return f"{name} = {'TRUE' if self._truth() == YES else 'FALSE'}"
        literals = [text_literal(level) for level in self.levels]
        if len(literals) == 1:
            return f"{name} {'<>' if self.is_negated else '='} {literals[0]}"
        return f"{name} {'NOT IN' if self.is_negated else 'IN'} ({', '.join(literals)})"

    def to_python(self) -> str:
        """Return the condition as Python.

        Returns
        -------
        source : str
            An expression of a dict ``row`` and of a function ``missing``, see `Rules.to_python`.
        """
        value = f"row[{self.column!r}]"
        if self.is_only_missing:
            return f"missing({value})"
        if self.is_only_present:
            return f"not missing({value})"
        parts = []
        for sign, bound in ((">=", self.low), ("<", self.high)):
            if bound is not None and self.kind == "date":
                parts.append(f"moment({value}) {sign} {plain_date(bound, is_short=True)!r}")
            elif bound is not None:
                parts.append(f"{value} {sign} {plain_number(bound)}")
        if self.levels is not None:
            parts.append(self._levels_python(value))
        if not self.or_missing:
            return " and ".join([f"not missing({value})", *parts])
        text = " and ".join(parts)
        return f"(missing({value}) or {f'({text})' if len(parts) > 1 else text})"

    def _levels_python(self, value: str) -> str:
        assert self.levels is not None
        if self.kind == "boolean":
            return f"bool({value})" if self._truth() == YES else f"not bool({value})"
        levels = ", ".join(map(repr, self.levels))
        return f"str({value}) {'not in' if self.is_negated else 'in'} ({levels},)"

    def mask(self, column: Any) -> Bools:
        """Return which rows satisfy the condition.

        Parameters
        ----------
        column : array-like of shape (n_samples,)
            Values of the column.

        Returns
        -------
        mask : ndarray of shape (n_samples,)
            True for the rows that satisfy the condition.
        """
        return mask_of(self, column_of(self.column, column))


def mask_of(condition: Condition, column: Column) -> Bools:
    """Return which rows of a column that has been read satisfy a condition."""
    if condition.kind == "boolean" and column.is_ordered:  # 0 and 1
        codes = np.where(column.is_gap, -1, column.values != 0)
        column = Column(column.name, "boolean", codes=codes.astype(np.int64), levels=(NO, YES))
    if (condition.kind in ("number", "date")) != column.is_ordered and not column.is_gap.all():
        raise ValueError(
            f"the column {name_text(condition.column)!r} is a {column.kind}, but the rule needs a {condition.kind}"
        )
    holds = ~column.is_gap
    if condition.levels is not None and column.is_ordered:
        holds &= condition.is_negated
    elif condition.levels is not None:
        listed = set(condition.levels)
        is_listed = np.array([level in listed for level in column.levels] + [False])
        holds &= is_listed[column.codes_of_levels] != condition.is_negated
    if condition.low is not None:
        holds &= column.values >= condition.low
    if condition.high is not None:
        holds &= column.values < condition.high
    return holds | column.is_gap if condition.or_missing else holds
