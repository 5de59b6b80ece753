"""A model as one CASE expression in SQL, over the columns that the user has.

Steps that are linear are folded into the coefficients, so the cuts are in the units of the table. The expression of the
label is that of `ravine.explain.tree_sql`.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ravine._matrix import LARGEST, Bools, Floats
from ravine.explain._sql import double_literal, identifier, table_identifier, text_literal
from ravine.explain._tree_sql import SqlRow, are_finite, checked_length, label_case, sum_of
from ravine.export._recipe import ExportError, InputColumn, Levels, Recipe, Scaling, Step, recipe_of

Dialect = Literal["standard", "duckdb", "sqlite"]

TEXT: dict[str, str] = {"standard": "VARCHAR(1000)", "duckdb": "VARCHAR", "sqlite": "TEXT"}
"""Type of a text in each dialect."""

FIRST_ROW: dict[str, str] = {"standard": "FETCH FIRST 1 ROW ONLY", "duckdb": "LIMIT 1", "sqlite": "LIMIT 1"}
"""What ends a SELECT of which only the first row counts."""

ALIAS = "t"
"""Name of the table in the query. SQLite reads `"name"` as a text if there is no such column, but not `t."name"`."""


def to_sql(
    model: Any,
    table: str | Sequence[str],
    dialect: Dialect = "standard",
    *,
    feature_names: Sequence[str] | None = None,
    column_name: str = "cluster",
    assign_labels: Literal["auto", "tree"] = "auto",
) -> str:
    """Write a model as a query in SQL that gives the labels of `predict`.

    Parameters
    ----------
    model : fitted estimator with a tree, Pipeline that ends with one, or HyperplaneTree
        The steps of a pipeline must be linear: scaling, the choice of columns, filled gaps, PCA and truncated SVD; or a
        `TableEncoder` of numbers and categories, with ``category_encoding="indicators"``.
    table : str or sequence of str
        Name of the table; a sequence has the name of its schema first.
    dialect : {"standard", "duckdb", "sqlite"}, default="standard"
        The database. "standard" is SQL:2008, which PostgreSQL and others read.
    feature_names : sequence of str, optional
        Names of the columns in the database. Default: the names of the columns in `fit`, or x0, x1 and so on.
    column_name : str, default="cluster"
        Name of the new column.
    assign_labels : {"auto", "tree"}, default="auto"
        What decides about labels. With "auto", it is what decides in `predict`: the mixture of the tree, if it has one
        that decides, or else the cuts. With "tree", it is the cuts: the query is shorter, and its labels are those of
        the leaves.

    Returns
    -------
    sql : str
        A SELECT statement without a semicolon: all columns of the table, and the label. Rows that `predict` refuses get
        NULL, such as rows with a NULL in a column that is used and not filled.

    See Also
    --------
    ravine.explain.tree_sql : Writes the query of a tree.
    within_rounding : Finds the rows whose label may depend on rounding.

    Notes
    -----
    Coefficients have all their digits. Names are quoted, so they may have any character. The database adds in another
    order than ravine, so rows that are within rounding of a cut or of a boundary may get another label.

    Examples
    --------
    A tree with a single cut:

    >>> import numpy as np
    >>> from ravine import PDDP
    >>> from ravine.cuts import Cut
    >>> from ravine.export import to_sql
    >>> tree = PDDP(n_clusters=1, criterion="mean").fit([[100.0], [900.0]]).tree_
    >>> tree = tree.split(0, Cut(np.array([1.0]), 499.5))
    >>> print(to_sql(tree, "customers", feature_names=["spend"]))
    SELECT t.*,
      CASE
        WHEN 0.0e0 + t."spend" BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308 THEN
          CASE WHEN 1.0e0 * t."spend" < 499.5e0 THEN
            0
          ELSE
            1
          END
        ELSE NULL
      END AS "cluster"
    FROM "customers" AS t
    """
    if dialect not in TEXT:
        raise ValueError(f"dialect={dialect!r} must be one of {', '.join(map(repr, TEXT))}")
    recipe = recipe_of(model)
    row = _RecipeRow(recipe, dialect, feature_names)
    case = label_case(recipe.tree, row, assign_labels=assign_labels, first_row=FIRST_ROW[dialect])
    case[-1] += f" AS {identifier(column_name)}"
    lines = [f"SELECT {ALIAS}.*,", *(f"  {line}" for line in case), f"FROM {table_identifier(table)} AS {ALIAS}"]
    return checked_length("\n".join(lines), recipe.tree, assign_labels)


class _RecipeRow(SqlRow):
    """The row that a tree sees, as linear expressions of the cells of a table."""

    def __init__(self, recipe: Recipe, dialect: str, feature_names: Sequence[str] | None) -> None:
        given = recipe.names if feature_names is None else list(feature_names)
        if len(given) != len(recipe.columns):
            raise ValueError(f"feature_names has {len(given)} entries, but the model has {len(recipe.columns)} columns")
        folded = _Folded.of(recipe)
        self._folded, self._most_estimated = folded, recipe.most_estimated
        self._ends = np.cumsum([0, *(column.n_numbers for column in recipe.columns)])
        self._cells = [
            _Cell(column, f"{ALIAS}.{identifier(str(name))}", dialect, float(folded.fill[start]))
            for column, name, start in zip(recipe.columns, given, self._ends[:-1], strict=True)
        ]

    def linear(self, coefficients: Floats, constant: float = 0.0) -> str:
        inner = coefficients @ self._folded.matrix
        constant += float(coefficients @ self._folded.shift)
        terms = []
        for cell, start, end in zip(self._cells, self._ends[:-1], self._ends[1:], strict=True):
            if inner[start:end].any():
                term, more = cell.term(inner[start:end])
                terms.append(term)
                constant += more
        terms += [double_literal(constant)] if constant != 0 or not terms else []
        return sum_of(terms)

    def has_label(self, is_used: Bools) -> str | None:
        used = np.flatnonzero(np.abs(self._folded.matrix[is_used]).sum(axis=0) > 0)
        cells = [
            cell
            for cell, start, end in zip(self._cells, self._ends[:-1], self._ends[1:], strict=True)
            if ((used >= start) & (used < end)).any()
        ]
        plain = [cell.expression for cell in cells if cell.column.encoding is None]
        conditions = [are_finite(plain)] if plain else []
        if self._most_estimated:
            counts = [cell.is_unknown for cell in self._cells if isinstance(cell.column.encoding, Scaling)]
            conditions.append(f"{sum_of(counts)} NOT BETWEEN 1 AND {self._most_estimated}")
        return " AND ".join(conditions) or None


class _Cell:
    """A cell of the table in SQL, with its column and what fills a gap."""

    def __init__(self, column: InputColumn, name: str, dialect: str, fill: float) -> None:
        self.column = column
        self.expression = name
        self._text = TEXT[dialect]
        if column.encoding is None and not np.isnan(fill):
            is_gap = f"{name} IS NULL OR isnan({name})" if dialect == "duckdb" else f"{name} IS NULL"
            self.expression = f"CASE WHEN {is_gap} THEN {double_literal(fill)} ELSE {name} END"

    def term(self, coefficients: Floats) -> tuple[str, float]:
        """Return the share of the cell in a linear function: a term, and a constant."""
        encoding = self.column.encoding
        if isinstance(encoding, Levels):
            return self._of_level(encoding, coefficients), 0.0
        factor = float(coefficients[0])
        if encoding is None:
            return f"{double_literal(factor)} * {self.expression}", 0.0
        factor *= encoding.weight / encoding.scale
        return f"{double_literal(factor)} * {self._inside(encoding)}", -factor * encoding.center

    def _of_level(self, levels: Levels, coefficients: Floats) -> str:
        word = f"LOWER(TRIM(CAST({self.expression} AS {self._text})))"
        numbers = (levels.numbers @ coefficients).tolist()
        other, gap = float(levels.other @ coefficients), float(levels.gap @ coefficients)
        whens = [
            f"WHEN {text_literal(name.lower())} THEN {double_literal(number)}"
            for name, number in zip(levels.names, numbers, strict=True)
        ]
        case = f"CASE {word} {' '.join(whens)} ELSE {double_literal(other)} END" if whens else double_literal(other)
        if other == gap:
            return case
        words = ", ".join(map(text_literal, levels.gap_words))
        return f"CASE WHEN COALESCE({word}, '') IN ({words}) THEN {double_literal(gap)} ELSE {case} END"

    def _forward(self, scaling: Scaling) -> str:
        if not scaling.is_log:
            return self.expression
        base = scaling.knee + scaling.offset
        knee, name = double_literal(scaling.knee), self.expression
        line = f"{double_literal(float(np.log(base)))} + ({name} - {knee}) / {double_literal(base)}"
        return f"(CASE WHEN {name} < {knee} THEN {line} ELSE LN({name} + {double_literal(scaling.offset)}) END)"

    def _edges(self, scaling: Scaling) -> tuple[str, str]:
        return double_literal(scaling.low - scaling.reach), double_literal(scaling.high + scaling.reach)

    def _is_gap(self, scaling: Scaling) -> str:
        largest = double_literal(LARGEST)
        codes = ", ".join(map(double_literal, scaling.gaps))
        is_code = f" OR {self.expression} IN ({codes})" if codes else ""
        return f"{self.expression} IS NULL OR {self.expression} NOT BETWEEN -{largest} AND {largest}{is_code}"

    def _inside(self, scaling: Scaling) -> str:
        """Return the cell after its transform, with the median in gaps, and moved in if it is far outside."""
        inner, (low, high) = self._forward(scaling), self._edges(scaling)
        fill = double_literal(float(_forward(scaling, scaling.fill)))
        return (
            f"CASE WHEN {self._is_gap(scaling)} THEN {fill} WHEN {inner} < {low} THEN {double_literal(scaling.low)} "
            f"WHEN {inner} > {high} THEN {double_literal(scaling.high)} ELSE {inner} END"
        )

    @property
    def is_unknown(self) -> str:
        """1 if the number of the cell is to be estimated, otherwise 0."""
        scaling = self.column.encoding
        assert isinstance(scaling, Scaling)
        low, high = self._edges(scaling)
        is_far = f"{self._forward(scaling)} NOT BETWEEN {low} AND {high}"
        return f"CASE WHEN {self._is_gap(scaling)} OR {is_far} THEN 1 ELSE 0 END"


def _forward(scaling: Scaling, cell: float) -> float:
    if not scaling.is_log:
        return cell
    base = scaling.knee + scaling.offset
    return float(np.log(base) + (cell - scaling.knee) / base if cell < scaling.knee else np.log(cell + scaling.offset))


class _Folded:
    """The steps of a recipe as one linear map of its numbers, ``matrix @ x + shift``, and what fills gaps of x."""

    def __init__(self, matrix: Floats, shift: Floats, fill: Floats) -> None:
        self.matrix, self.shift, self.fill = matrix, shift, fill

    @classmethod
    def of(cls, recipe: Recipe) -> "_Folded":
        n_numbers = sum(column.n_numbers for column in recipe.columns)
        return cls(np.eye(n_numbers), np.zeros(n_numbers), np.full(n_numbers, np.nan))._after(recipe.steps)

    def _after(self, steps: tuple[Step, ...]) -> "_Folded":
        folded = self
        for step in steps:
            folded = folded._then(step)
        return folded

    def _then(self, step: Step) -> "_Folded":
        values, matrix, shift = step.values, self.matrix, self.shift
        match step.kind:
            case "subtract":
                return _Folded(matrix, shift - values, self.fill)
            case "add":
                return _Folded(matrix, shift + values, self.fill)
            case "multiply":
                return _Folded(matrix * values[:, np.newaxis], shift * values, self.fill)
            case "divide":
                return _Folded(matrix / values[:, np.newaxis], shift / values, self.fill)
            case "choose":
                return _Folded(matrix[values], shift[values], self.fill)
            case "project":
                return _Folded(values @ matrix, values @ shift, self.fill)
            case "fill":
                return self._filled(values)
            case "normalize":
                raise ExportError(
                    "a row divided by its length is not linear in the columns, so it cannot be exported to SQL: export "
                    "to ONNX, Python or JSON, or store rows of length 1 and export the model of these"
                )
            case "join":
                parts = [
                    _Folded(matrix[columns], shift[columns], self.fill)._after(inner) for columns, inner in step.parts
                ]
                return self._joined(parts)
        raise ExportError(
            "MinMaxScaler(clip=True) is not linear, so it cannot be exported to SQL: fit with clip=False, or export to "
            "ONNX, Python or JSON"
        )

    def _filled(self, values: Floats) -> "_Folded":
        """Return the map with gaps filled: a number is filled before the steps, so it depends on one column only."""
        fill = self.fill.copy()
        for row, offset, value in zip(self.matrix, self.shift, values, strict=True):
            columns = np.flatnonzero(row)
            if len(columns) > 1:
                raise ExportError(
                    "gaps are filled after a projection, which cannot be exported to SQL: fill them first"
                )
            if len(columns) and np.isnan(fill[columns[0]]):
                fill[columns[0]] = (value - offset) / row[columns[0]]
        return _Folded(self.matrix, self.shift, fill)

    def _joined(self, parts: "list[_Folded]") -> "_Folded":
        fill = self.fill
        for part in parts:
            is_other = ~np.isnan(part.fill) & ~np.isnan(fill) & (part.fill != fill)
            if is_other.any():
                raise ExportError("two parts of a ColumnTransformer fill gaps of a column with different numbers")
            fill = np.where(np.isnan(fill), part.fill, fill)
        matrix = np.vstack([part.matrix for part in parts])
        return _Folded(matrix, np.concatenate([part.shift for part in parts]), fill)
