"""The labels that rules give in SQL and in Python."""

import datetime
import sqlite3

import numpy as np
import pandas as pd

from ravine.explain._sql import identifier


def plain(value):
    """A value as a database gets it."""
    if value is None or value != value:
        return None
    if isinstance(value, datetime.date | np.datetime64 | pd.Timestamp):
        return str(value).replace("T", " ")
    return value.item() if hasattr(value, "item") else value


def labels_in_sqlite(found, table, table_name="rows", **options):
    names = list(table)
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE {identifier(table_name)} ({', '.join(map(identifier, names))})")
        marks = ", ".join("?" * len(names))
        rows = [tuple(map(plain, row)) for row in zip(*table.values(), strict=True)]
        connection.executemany(f"INSERT INTO {identifier(table_name)} VALUES ({marks})", rows)
        return [row[-1] for row in connection.execute(found.to_sql(table_name, **options))]


def labels_in_python(found, table):
    scope = {}
    exec(found.to_python("label_of"), scope)
    return [scope["label_of"](dict(zip(table, row, strict=True))) for row in zip(*table.values(), strict=True)]
