"""Errors about tables. Each message is one line that says what is wrong and what to do."""


class DataError(ValueError):
    """The data cannot be used."""


class UsageError(ValueError):
    """A file, a column, a method or an option that the user named cannot be used."""
