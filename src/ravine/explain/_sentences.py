"""Clusters in words: a sentence with the columns in which a cluster differs most, and a short name."""

from typing import Any

import numpy as np

from ravine.explain._format import Units, date_text, name_text, number_text, share_text
from ravine.explain._profiles import ColumnProfile, Profiles, typical_level
from ravine.explain._table import NO, YES

CLEAR = 0.1
"""A column in which a cluster differs by less is not mentioned."""

MAIN_PART = 0.8
"""If gaps alone make up this share of the difference, the gaps are mentioned."""

ONE_SIDED = 0.5
"""If the values of a cluster are not higher or lower by this share of the difference, their range is mentioned."""

MOST_WORDS = 4
"""A name has at most this many parts; after that a number makes it unique."""

FAR, APART = 0.9, 0.6
"""From these directions on, values are called very high and high, or very low and low."""

LEAST_SHARE = 0.5
"""A level that fewer rows of a cluster have does not name it alone."""


def sentence(profiles: Profiles, cluster: int, n: int = 3, *, units: Units | None = None) -> str:
    """Describe a cluster by the columns in which it differs most from the other rows.

    Parameters
    ----------
    profiles : Profiles
        Result of `profile`.
    cluster : int
        Label of the cluster.
    n : int, default=3
        Maximum number of columns to mention.
    units : dict of str to (str, str), optional
        Text before and after the numbers of some columns, by name.

    Returns
    -------
    sentence : str
        Parts separated by semicolons. The numbers after "against" are those of all rows.

    See Also
    --------
    profile : Computes the profiles.
    cluster_names : Gives each cluster a short name.

    Examples
    --------
    >>> from ravine.explain import profile, sentence
    >>> table = {
    ...     "spend": [240, 310, 280, 1180, 1240, 1420],
    ...     "newsletter": [False, False, True, True, True, True],
    ... }
    >>> profiles = profile(table, [0, 0, 0, 1, 1, 1])
    >>> sentence(profiles, 1, units={"spend": ("€", "")})
    'median spend €1,240, against €745 for all; newsletter is yes for 100 %, against 67 %'
    """
    at = profiles.position(cluster)
    parts: list[str] = []
    for j in profiles.ranked_columns(cluster):
        column = profiles.columns[j]
        if len(parts) == n or column.difference[at] < CLEAR:
            break
        said = _part(column, at, (units or {}).get(column.name, ("", "")))
        if said is not None:
            what, here, there = said
            parts.append(f"{what} {here}, against {there}{'' if parts else ' for all'}")
    return "; ".join(parts) or "much like all rows"


def _part(column: ColumnProfile, at: int, unit: tuple[str, str]) -> tuple[str, str, str] | None:
    """Return what is said of a column, and its text for the cluster and for all rows; None if the two are equal."""
    name = name_text(column.name)
    for what, here, there in _candidates(column, at, name, unit):
        if here != there:
            return what, here, there
    return None


def _candidates(column: ColumnProfile, at: int, name: str, unit: tuple[str, str]) -> list[tuple[str, str, str]]:
    """Return what could be said of a column, the most telling first."""
    gaps = f"{name} is missing for", share_text(column.gap_share[at]), share_text(column.gap_share[-1])
    if differs_by_gaps(column, at):
        return [gaps]
    if not column.is_ordered:
        level = typical_level(column, at)
        if level is None:
            return [gaps]
        shares = share_text(column.shares[at, level]), share_text(column.shares[-1, level])
        return [(f"{name} is {name_text(column.levels[level])} for", *shares)]

    def both(values: Any) -> tuple[str, str]:
        return value_text(column, values[at], unit), value_text(column, values[-1], unit)

    low, middle, high = (both(column.quartiles[:, k]) for k in range(3))
    median = f"median {name}", *middle
    half = f"half of the values of {name} between", *(f"{low[k]} and {high[k]}" for k in range(2))
    mean = f"mean {name}", *both(column.mean)
    is_one_sided = abs(column.direction[at]) >= ONE_SIDED * column.difference[at]
    return [median, half, mean, gaps] if is_one_sided else [half, median, mean, gaps]  # type: ignore[list-item]


def differs_by_gaps(column: ColumnProfile, at: int) -> bool:
    """Return whether it is the gaps in which the cluster differs from the other rows."""
    others = column.count[-1] - column.count[at] + column.gaps[-1] - column.gaps[at]
    more = column.gap_share[at] - (column.gaps[-1] - column.gaps[at]) / max(others, 1e-300)
    return bool(more > CLEAR and more >= MAIN_PART * column.difference[at]) or not column.count[at] > 0


def value_text(column: ColumnProfile, value: Any, unit: tuple[str, str]) -> str:
    """Return a value of a column in its units."""
    if column.kind == "date":
        return date_text(value, column.spread)
    return number_text(float(value), column.spread, column.is_year, unit)


def cluster_names(profiles: Profiles, n: int = 2) -> dict[int, str]:
    """Give each cluster a short name, made of the columns in which it differs most.

    Parameters
    ----------
    profiles : Profiles
        Result of `profile`.
    n : int, default=2
        Number of parts of a name. Names that would be equal have more parts, and at last the number of the cluster.

    Returns
    -------
    names : dict of int to str
        Name of each cluster by its label; no two are equal.

    See Also
    --------
    sentence : Describes a cluster in a sentence.

    Examples
    --------
    >>> from ravine.explain import cluster_names, profile
    >>> table = {
    ...     "spend": [240, 310, 280, 1180, 1240, 1420],
    ...     "channel": ["web", "web", "web", "app", "app", "web"],
    ... }
    >>> cluster_names(profile(table, [0, 0, 0, 1, 1, 1]))
    {0: 'very low spend, web', 1: 'very high spend, app'}
    """
    words = {int(cluster): _words(profiles, int(cluster)) for cluster in profiles.clusters}
    names = {cluster: ", ".join(parts[:n]) for cluster, parts in words.items()}
    for length in range(n + 1, MOST_WORDS + 1):
        names |= {cluster: ", ".join(words[cluster][:length]) for cluster in _with_twins(names)}
    names |= {cluster: f"{names[cluster]} (cluster {cluster})" for cluster in _with_twins(names)}
    return names


def _with_twins(names: dict[int, str]) -> list[int]:
    """Return the clusters whose name another cluster has."""
    seen: dict[str, int] = {}
    for name in names.values():
        seen[name] = seen.get(name, 0) + 1
    return [cluster for cluster, name in names.items() if seen[name] > 1]


def _words(profiles: Profiles, cluster: int) -> list[str]:
    """Return the parts of the name of a cluster, the most telling first."""
    at = profiles.position(cluster)
    words: list[str] = []
    for j in profiles.ranked_columns(cluster):
        column = profiles.columns[j]
        if column.difference[at] < CLEAR or len(words) == MOST_WORDS:
            break
        word = _word(column, at)
        if word not in words:
            words.append(word)
    return words or ["average"]


def _word(column: ColumnProfile, at: int) -> str:
    name = name_text(column.name)
    if differs_by_gaps(column, at):
        return f"no {name}"
    if column.is_ordered:
        return f"{_height(column, at)} {name}"
    level = typical_level(column, at)
    if level is None:
        return f"no {name}"
    text = name_text(column.levels[level])
    if column.kind == "boolean":
        word = {YES: name, NO: f"not {name}"}[column.levels[level]]
    else:
        word = text if any(letter.isalpha() for letter in text) and text.lower() not in (YES, NO) else f"{name} {text}"
    return word if column.shares[at, level] >= LEAST_SHARE else f"more {word}"


def _height(column: ColumnProfile, at: int) -> str:
    """Return how high the values of a cluster are: from "very low" to "very high"."""
    direction = float(np.round(column.direction[at], 6))
    if abs(direction) < ONE_SIDED * column.difference[at]:
        return "mid-range"
    words = ("early", "late") if column.kind == "date" else ("low", "high")
    size = "very " if abs(direction) >= FAR else "" if abs(direction) >= APART else "rather "
    return size + words[direction > 0]
