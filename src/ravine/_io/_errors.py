"""Errors about tables. Each message is one line that says what is wrong and what to do."""


class DataError(ValueError):
    """The data cannot be used."""


class UsageError(ValueError):
    """A file, a column, a method or an option that the user named cannot be used."""


class OddCellError(DataError):
    """A cell does not have the type that the first rows of its column have.

    Attributes
    ----------
    column : str
        Name of the column.
    row : int
        Number of the row in its file, from 0.
    value : str
        The cell.
    """

    def __init__(self, message: str, column: str, row: int, value: str) -> None:
        super().__init__(message)
        self.column = column
        self.row = row
        self.value = value
