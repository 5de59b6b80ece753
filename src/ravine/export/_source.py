"""Pieces of the functions that `to_python` writes: lists of lines, and a format of a line for each kind of step."""

from ravine._matrix import LARGEST

STEPS = {
    "subtract": "x = [a - b for a, b in zip(x, {})]",
    "add": "x = [a + b for a, b in zip(x, {})]",
    "multiply": "x = [a * b for a, b in zip(x, {})]",
    "divide": "x = [a / b for a, b in zip(x, {})]",
    "fill": "x = [b if a != a and b is not None else a for a, b in zip(x, {})]",
    "clip": "x = [min(max(a, low), high) for a, low, high in zip(x, *{})]",
    "choose": "x = [x[j] for j in {}]",
    "project": "x = [dot(row, x) for row in {}]",
}

NORMALIZE = {
    "l2": ["norm = sqrt(dot(x, x))", "x = [a / norm for a in x] if norm else x"],
    "l1": ["norm = sum(map(abs, x))", "x = [a / norm for a in x] if norm else x"],
    "max": ["norm = max(map(abs, x))", "x = [a / norm for a in x] if norm else x"],
}

DOT = """\

def dot(a, b):
    total = 0.0
    for one, other in zip(a, b):
        total += one * other
    return total

""".splitlines()

NUMBER = f"""\
def number(cell, gaps, log_of, low, high, reach, center, scale, weight, fill):
    a = nan if cell is None else float(cell)
    is_gap = not -{LARGEST!r} <= a <= {LARGEST!r} or a in gaps
    a = fill if is_gap else a
    if log_of is not None:
        knee, offset = log_of
        a = log(knee + offset) + (a - knee) / (knee + offset) if a < knee else log(a + offset)
    is_unknown = is_gap or not low - reach <= a <= high + reach
    a = low if low - a > reach else high if a - high > reach else a
    return weight * ((a - center) / scale), is_unknown

""".splitlines()

WORD = """\
def word(cell):
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return " ".join(str(cell).split()).lower()

""".splitlines()

WALK = """\
node = NODES[0]
while isinstance(node, tuple):
    normal, offset, left, right = node
    node = NODES[left if dot(normal, x) < offset else right]
""".splitlines()

NEAREST = """\
def nearest(at, positions, is_left, side):
    least = inf
    for position, one in zip(positions, is_left):
        apart = [a - b for a, b in zip(at, position)]
        least = min(least, dot(apart, apart)) if one == side else least
    return sqrt(least)

""".splitlines()

CURVED_WALK = """\
node = NODES[0]
while isinstance(node, tuple):
    if len(node) == 4:
        normal, offset, left, right = node
        node = NODES[left if dot(normal, x) < offset else right]
    else:
        directions, positions, is_left, left, right = node
        at = [dot(direction, x) for direction in directions]
        height = nearest(at, positions, is_left, True) - nearest(at, positions, is_left, False)
        node = NODES[left if height < 0 else right]
""".splitlines()

SQUARE = """\
def square(k):
    apart = [a - b for a, b in zip(x, MEANS[k])]
    along = [dot(row, apart) for row in FACTORS[k if len(FACTORS) > 1 else 0]]
    return dot(along, along)

""".splitlines()

LIKELIEST = """\
most = max(density)
best = density.index(most) if most > -inf else CLUSTERS.index(node)
""".splitlines()
