"""What can be wrong with a table, told in one line that says what to do."""


class DataError(ValueError):
    """The data cannot be used as they are."""


class UsageError(ValueError):
    """What was asked for does not exist: a file, a column, a method."""
