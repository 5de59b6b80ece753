"""Every export at work: the labels that it gives for rows, with -2 for a row without a label."""

import json
import math
import sqlite3

import duckdb
import numpy as np
import onnxruntime
import pyarrow as pa

from ravine.explain._sql import identifier
from ravine.export import to_json, to_onnx, to_python, to_sql

NONE = -2


def names_of(model, X):
    first = model[0] if hasattr(model, "steps") else model
    return list(getattr(first, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])]))


def outputs_of(graph, feed):
    return onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)


def by_onnx(model, X):
    return outputs_of(to_onnx(model), {"X": np.asarray(X, dtype=np.float64)})[0]


def by_python(model, X):
    scope = {}
    exec(to_python(model), scope)
    found = [scope["cluster_of"](row) for row in np.asarray(X, dtype=np.float64).tolist()]
    return np.array([NONE if label is None else label for label in found])


def by_json(model, X):
    document = json.loads(to_json(model))
    return np.array([label_of(document, row) for row in np.asarray(X, dtype=np.float64).tolist()])


def by_sqlite(model, X, names=None, table="rows", **options):
    names = names or names_of(model, X)
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE {identifier(table)} ({', '.join(f'{identifier(n)} REAL' for n in names)})")
        rows = [[None if cell != cell else cell for cell in row] for row in np.asarray(X, dtype=np.float64).tolist()]
        connection.executemany(f"INSERT INTO {identifier(table)} VALUES ({', '.join('?' * len(names))})", rows)
        found = [row[-1] for row in connection.execute(to_sql(model, table, "sqlite", feature_names=names, **options))]
    return np.array([NONE if label is None else label for label in found])


def by_duckdb(model, X, names=None, table="rows", dialect="duckdb", **options):
    names = names or names_of(model, X)
    columns = [pa.array(column) for column in np.asarray(X, dtype=np.float64).T]
    return in_duckdb(to_sql(model, table, dialect, feature_names=names, **options), pa.table(columns, names), table)


def in_duckdb(sql, arrow, table="rows"):
    with duckdb.connect() as connection:
        connection.register("given", arrow)
        connection.execute(f"CREATE TABLE {identifier(table)} AS SELECT * FROM given")
        found = connection.execute(sql).fetchall()
        assert len(connection.execute(f"SELECT * FROM {identifier(table)}").fetchall()) == len(found)
    return np.array([NONE if row[-1] is None else row[-1] for row in found])


READERS = {"onnx": by_onnx, "python": by_python, "json": by_json, "sqlite": by_sqlite, "duckdb": by_duckdb}


# A reader of the JSON document as somebody else would write it, from its description alone


def label_of(document, row):
    x = numbers_of(document, row)
    if x is None:
        return NONE
    x = after(document["steps"], x)
    node = document["nodes"][0]
    while "label" not in node:
        node = document["nodes"][node["left"] if goes_left(node, x) else node["right"]]
    return label_by(document["mixture"], node["label"], x)


def dot(a, b):
    total = 0.0
    for one, other in zip(a, b, strict=False):
        total += one * other
    return total


def goes_left(node, x):
    if "normal" in node:
        return dot(node["normal"], x) < node["offset"]
    at, nearest = [dot(direction, x) for direction in node["directions"]], {True: math.inf, False: math.inf}
    for position, side in zip(node["positions"], node["is_left"], strict=True):
        apart = [a - b for a, b in zip(at, position, strict=True)]
        nearest[side] = min(nearest[side], math.sqrt(dot(apart, apart)))
    return nearest[True] - nearest[False] < 0


def after(steps, x):
    for step in steps:
        values = step.get("values")
        match step["do"]:
            case "subtract":
                x = [a - b for a, b in zip(x, values, strict=True)]
            case "add":
                x = [a + b for a, b in zip(x, values, strict=True)]
            case "multiply":
                x = [a * b for a, b in zip(x, values, strict=True)]
            case "divide":
                x = [a / b for a, b in zip(x, values, strict=True)]
            case "fill":
                x = [b if a != a and b is not None else a for a, b in zip(x, values, strict=True)]
            case "clip":
                x = [min(max(a, low), high) for a, low, high in zip(x, *values, strict=True)]
            case "choose":
                x = [x[j] for j in values]
            case "project":
                x = [dot(row, x) for row in values]
            case "normalize":
                size = [abs(a) for a in x]
                norm = {"l2": math.sqrt(dot(x, x)), "l1": sum(size), "max": max(size)}[step["norm"]]
                x = [a / norm for a in x] if norm != 0 else x
            case "join":
                whole = x
                x = [a for part in step["parts"] for a in after(part["steps"], [whole[j] for j in part["columns"]])]
    return x


def label_by(mixture, label, x):
    if mixture is None:
        return label
    components, freedom = mixture["components"], mixture["freedom"]

    def square(component):
        apart = [a - b for a, b in zip(x, component["mean"], strict=True)]
        along = [dot(row, apart) for row in mixture["factors"][component["factor"]]]
        return dot(along, along)

    def density(component):
        if freedom is None:
            apart = [a - b for a, b in zip(x, mixture["center"], strict=True)]
            return dot(component["direction"], apart) + component["constant"]
        return component["constant"] - mixture["power"] * math.log1p(square(component) / freedom)

    densities = [density(component) for component in components]
    is_known = all(map(math.isfinite, densities)) if freedom is None else max(densities) > -math.inf
    clusters = [component["cluster"] for component in components]
    best = components[densities.index(max(densities)) if is_known else clusters.index(label)]
    if "limit" in best and not math.sqrt(square(best)) <= best["limit"]:
        return -1
    return best["cluster"] if mixture["decides"] else label


def numbers_of(document, row):
    x, n_unknown = [], 0
    for column, cell in zip(document["columns"], row, strict=True):
        if "levels" in column:
            word = " ".join(str("" if cell is None else cell).split()).lower()
            known = {level["word"]: level["numbers"] for level in column["levels"]}
            x += known.get(word, column["gap"] if word in column["gap_words"] else column["other"])
        elif "scaling" in column:
            number, is_unknown = scaled(column["scaling"], cell)
            x.append(number)
            n_unknown += is_unknown
        else:
            x.append(float(cell))
    return None if 1 <= n_unknown <= document["most_estimated"] else x


def scaled(scaling, cell):
    a = math.nan if cell is None else float(cell)
    is_gap = not abs(a) <= 1e150 or a in scaling["gaps"]
    a = scaling["fill"] if is_gap else a
    if "log" in scaling:
        knee, offset = scaling["log"]["knee"], scaling["log"]["offset"]
        base = knee + offset
        a = math.log(base) + (a - knee) / base if a < knee else math.log(a + offset)
    low, high, reach = scaling["low"], scaling["high"], scaling["reach"]
    is_far = a < low - reach or a > high + reach
    a = low if low - a > reach else high if a - high > reach else a
    return scaling["weight"] * ((a - scaling["center"]) / scaling["scale"]), is_gap or is_far
