"""The search for the shortest good description of a cluster: a few conditions, each on one column.

A rule is scored by F1, the harmonic mean of precision and coverage, minus a price for each condition. A beam search
adds one condition at a time. All candidates of a column come from counts in bins. For numbers, they are ranges between
quantiles of the cluster's own values. For categories, the levels are in the order of their precision: the best set for
F1 is always a beginning of this order. Then the bounds are moved to the best of all values, and to the roundest number
that is about as good.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine.explain._bins import Bins, bins_of, sums
from ravine.explain._conditions import Bools, Condition, mask_of
from ravine.explain._format import roundest, roundest_date
from ravine.explain._table import Column, Floats, Ints

PRICE, LEVEL_PRICE, MISSING_PRICE = 0.02, 0.005, 0.01
"""What F1 has to gain for one more bound, or list of levels; for one more level in a list; and for "or is missing"."""

WIDTH = 5
"""Number of rules that the search keeps after each condition."""

QUANTILES = np.array([0.0, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9])
"""Shares of a cluster below a candidate for a lower bound, and above a candidate for an upper bound."""

MOST_LISTED = 8
"""A list of levels has at most this many."""

KEPT, MOST_KEPT = 0.01, 0.025
"""A rounder bound may cost the first number of F1, of precision and of coverage, or one row of the cluster if that is
more, but no more than the second number."""


@dataclass(frozen=True)
class Found:
    """A rule while it is searched: its conditions by column, its score, and the rows among which it was found."""

    conditions: tuple[tuple[int, Condition], ...]
    score: float
    rows: Ints


class Search:
    """The search for rules of all clusters on the same rows."""

    def __init__(self, columns: Sequence[Column], weights: Floats) -> None:
        self.columns, self.weights = columns, weights
        self.bins = [bins_of(column, weights) for column in columns]
        sizes = np.array([bins.n_bins + 1 for bins in self.bins], dtype=np.int64)
        self.first = np.append(0, np.cumsum(sizes))
        codes = [bins.code + first for bins, first in zip(self.bins, self.first, strict=False)]
        self.codes = np.stack(codes, axis=1) if codes else np.empty((len(weights), 0), dtype=np.int64)
        self.all_rows = np.arange(len(weights))
        self.all_counts = self._count(self.all_rows)
        self.ordered = [j for j, column in enumerate(columns) if column.is_ordered and self.bins[j].n_bins]
        self.others = [j for j, column in enumerate(columns) if not column.is_ordered and self.bins[j].n_bins]

    def rule(self, is_in: Bools, max_conditions: int) -> tuple[Condition, ...]:
        """Return the conditions of the best rule for the cluster of some rows; none if no condition helps."""
        size = float(self.weights[is_in].sum())
        inside = self.all_rows[is_in]
        bounds = self._candidate_bounds(self._count(inside))
        beam, best = [Found((), 0.0, self.all_rows)], None
        for _ in range(max_conditions):
            grown: dict[frozenset[Condition], Found] = {}
            for found in beam:
                if best is not None and self._most(found, is_in, size) <= round(best.score, 9):
                    continue
                for one in self._extensions(found, is_in, size, bounds):
                    grown.setdefault(frozenset(condition for _, condition in one.conditions), one)
            beam = sorted(grown.values(), key=lambda one: -round(one.score, 9))[:WIDTH]
            if not beam or (best is not None and round(beam[0].score, 9) <= round(best.score, 9)):
                break
            best = beam[0]
            beam = [replace(one, rows=self._last_satisfied(one)) for one in beam]
        return () if best is None else self._finished(best.conditions, is_in, size)

    def _most(self, found: Found, is_in: Bools, size: float) -> float:
        """Return the most that one more condition could bring: all other rows excluded, at the lowest price."""
        hits = float(self.weights[found.rows[is_in[found.rows]]].sum())
        paid = sum(price(condition) for _, condition in found.conditions)
        return 2 * hits / (hits + size) - paid - PRICE

    def _last_satisfied(self, found: Found) -> Ints:
        """Return the rows that satisfy the last condition of a rule, among those that satisfy the others."""
        j, condition = found.conditions[-1]
        return found.rows[mask_of(condition, part_of(self.columns[j], found.rows))]

    # Candidates

    def _count(self, rows: Ints) -> Floats:
        """Return the weight of some rows in each bin of each column, one column after the other."""
        codes = self.codes[rows]
        weights = np.repeat(self.weights[rows], codes.shape[1])
        return sums(codes.ravel(), weights, int(self.first[-1]))

    def _candidate_bounds(self, counts: Floats) -> tuple[Ints, Ints]:
        """Return candidates for the first bin of a range, and for the bin after its last one, of each ordered column.

        The first ones are open: a range from the first bin on, and a range up to the last bin.
        """
        lows = np.zeros((len(self.ordered), len(QUANTILES) + 1), dtype=np.int64)
        highs = np.zeros_like(lows)
        for i, j in enumerate(self.ordered):
            inside = counts[self.first[j] : self.first[j] + self.bins[j].n_bins]
            up_to = np.cumsum(inside)
            total = up_to[-1]
            if total <= 0:
                highs[i] = len(inside)
                continue
            lows[i, 1:] = np.searchsorted(up_to, (QUANTILES + 1e-9) * total, side="right")
            highs[i, 1:] = np.searchsorted(up_to, (1 - QUANTILES - 1e-9) * total) + 1
            highs[i, 0] = len(inside)
        return lows, highs

    def _extensions(self, found: Found, is_in: Bools, size: float, bounds: tuple[Ints, Ints]) -> list[Found]:
        """Return a rule with one more condition for each column: the best one on this column."""
        total = self.all_counts if not found.conditions else self._count(found.rows)
        inside = self._count(found.rows[is_in[found.rows]])
        used = {j for j, _ in found.conditions}
        paid = sum(price(condition) for _, condition in found.conditions)
        candidates = [*self._ranges(inside, total, size, bounds), *self._sets(inside, total, size)]
        return [
            Found((*found.conditions, (j, condition)), score - paid, found.rows)
            for j, score, condition in candidates
            if j not in used
        ]

    def _ranges(
        self, inside: Floats, total: Floats, size: float, bounds: tuple[Ints, Ints]
    ) -> list[tuple[int, float, Condition]]:
        """Return the best range of each ordered column, with its score."""
        if not self.ordered:
            return []
        lows, highs = bounds
        gap_at = np.array([self.first[j] + self.bins[j].n_bins for j in self.ordered])
        found_sums = []
        for counts in (inside, total):
            up_to = np.append(0.0, np.cumsum(counts))
            start = self.first[self.ordered][:, np.newaxis]
            ranges = up_to[start + highs][:, np.newaxis, :] - up_to[start + lows][:, :, np.newaxis]
            gaps = counts[gap_at][:, np.newaxis, np.newaxis]
            found_sums.append(np.stack([ranges, ranges + gaps, np.broadcast_to(gaps, ranges.shape)]))
        is_low = (lows > 0)[:, :, np.newaxis]
        is_high = (highs < highs[:, :1])[:, np.newaxis, :]
        has_gaps = (total[gap_at] > 0)[:, np.newaxis, np.newaxis]
        n_bounds = is_low.astype(float) + is_high
        cost = np.stack([
            np.where(n_bounds > 0, PRICE * n_bounds, np.where(has_gaps, PRICE, np.inf)),
            np.where(has_gaps & (n_bounds > 0), PRICE * n_bounds + MISSING_PRICE, np.inf),
            np.where(has_gaps & (n_bounds == 0), PRICE, np.inf),
        ])  # fmt: skip
        cost = np.where(lows[:, :, np.newaxis] < highs[:, np.newaxis, :], cost, np.inf)
        score = np.round(_f1(found_sums[0], found_sums[1], size) - cost, 9)
        flat = np.moveaxis(score, 1, 0).reshape(len(self.ordered), -1)
        found = []
        for i, place in enumerate(flat.argmax(axis=1)):
            if np.isfinite(flat[i, place]):
                way, a, b = (int(k) for k in np.unravel_index(place, (3, *score.shape[2:])))
                j = self.ordered[i]
                low = self._start(j, int(lows[i, a])) if lows[i, a] > 0 and way < 2 else None
                high = self._start(j, int(highs[i, b])) if highs[i, b] < highs[i, 0] and way < 2 else None
                levels = () if way == 2 else None
                column = self.columns[j]
                condition = Condition(column.name, column.kind, low, high, levels, or_missing=way > 0)
                found.append((j, float(flat[i, place]), condition))
        return found

    def _start(self, j: int, position: int) -> float:
        return float(self.bins[j].starts[position])

    def _sets(self, inside: Floats, total: Floats, size: float) -> list[tuple[int, float, Condition]]:
        """Return the best set of levels of each column that is not ordered, with its score."""
        found = []
        for j in self.others:
            here = slice(self.first[j], self.first[j + 1])
            best = _best_set(inside[here], total[here], size, self.bins[j], self.columns[j])
            if best is not None:
                found.append((j, *best))
        return found

    # Exact and round bounds

    def _finished(self, chosen: Sequence[tuple[int, Condition]], is_in: Bools, size: float) -> tuple[Condition, ...]:
        """Return the conditions with exact, round bounds, without those that are not worth their price."""
        conditions = dict(chosen)
        for j in list(conditions):
            if self.columns[j].is_ordered and conditions[j].levels is None:
                rest = self._satisfying({i: one for i, one in conditions.items() if i != j})
                part, may_vanish = part_of(self.columns[j], rest), len(conditions) > 1
                conditions[j] = _round_bounds(conditions[j], part, is_in[rest], self.weights[rest], size, may_vanish)
        for j in list(conditions):
            without = {i: one for i, one in conditions.items() if i != j}
            if without and self._score(without, is_in, size) >= self._score(conditions, is_in, size) - 1e-9:
                conditions = without
        return tuple(conditions.values())

    def _satisfying(self, conditions: dict[int, Condition]) -> Ints:
        rows = self.all_rows
        for j, condition in conditions.items():
            rows = rows[mask_of(condition, part_of(self.columns[j], rows))]
        return rows

    def _score(self, conditions: dict[int, Condition], is_in: Bools, size: float) -> float:
        rows = self._satisfying(conditions)
        inside, total = self.weights[rows[is_in[rows]]].sum(), self.weights[rows].sum()
        return float(_f1(inside, total, size)) - sum(map(price, conditions.values()))


def price(condition: Condition) -> float:
    """Return the price of a condition."""
    missing = MISSING_PRICE if condition.or_missing and not condition.is_only_missing else 0.0
    if condition.levels:
        return PRICE + LEVEL_PRICE * (len(condition.levels) - 1) + missing
    return PRICE * max((condition.low is not None) + (condition.high is not None), 1) + missing


def _f1(inside: NDArray[np.float64], total: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """Return F1 of rules: `inside` of the `total` rows that satisfy them are among the `size` rows of the cluster."""
    return np.asarray(2 * inside / np.maximum(total + size, 1e-300))


def _best_set(inside: Floats, total: Floats, size: float, bins: Bins, column: Column) -> tuple[float, Condition] | None:
    """Return the best set of levels and its score, given the weights in each bin, with the gaps last.

    A set is a beginning of the levels in the order of their precision. It is told by a list of its levels, or of the
    levels that are not in it. Rare levels, which have no bin of their own, can only be told in the second way.
    """
    seen = np.flatnonzero(total > 0)
    precision = np.round(inside[seen] / total[seen], 9)
    order = seen[np.lexsort([seen, -precision])]
    if len(order) < 2:
        return None
    is_gap = order == bins.n_bins
    is_rest = (order == bins.n_bins - 1) & bins.has_rest
    has_gap, has_rest = np.cumsum(is_gap) > 0, np.cumsum(is_rest) > 0
    n_named = np.cumsum(~is_gap & ~is_rest)
    n_left = n_named[-1] - n_named
    is_negated = has_rest | (~is_rest.any() & (n_left < n_named))
    n_listed = np.where(is_negated, n_left, n_named)
    cost = PRICE + LEVEL_PRICE * (n_listed - 1) + MISSING_PRICE * has_gap
    cost[(n_listed < 1) | (n_listed > MOST_LISTED)] = np.inf
    n = np.arange(1, len(order) + 1)
    only_missing, only_present = (n == 1) & is_gap[0], (n == len(order) - 1) & is_gap[-1]
    cost[only_missing | only_present] = PRICE
    score = np.round(_f1(np.cumsum(inside[order]), np.cumsum(total[order]), size) - cost, 9)[:-1]
    k = int(np.argmax(score))
    if not np.isfinite(score[k]):
        return None
    condition = Condition(column.name, column.kind)
    if only_missing[k]:
        condition = replace(condition, levels=(), or_missing=True)
    elif not only_present[k]:
        told = order[k + 1 :] if is_negated[k] else order[: k + 1]
        levels = tuple(bins.levels[code] for code in np.sort(told) if code < len(bins.levels))
        condition = replace(condition, levels=levels, is_negated=bool(is_negated[k]), or_missing=bool(has_gap[k]))
    return float(score[k]), condition


def _round_bounds(
    condition: Condition, column: Column, is_in: Bools, weights: Floats, size: float, may_vanish: bool
) -> Condition:
    """Return the condition with its bounds moved to the best values, and to round numbers that are about as good.

    A bound that excludes nearly nothing is dropped. The last one is kept unless the condition may vanish.
    """
    for which, other in (("low", "high"), ("high", "low"), ("low", "high")):
        if getattr(condition, which) is not None:
            may_drop = may_vanish or getattr(condition, other) is not None
            condition = _round_bound(condition, which, column, is_in, weights, size, may_drop)
    return condition


def _round_bound(
    condition: Condition, which: str, column: Column, is_in: Bools, weights: Floats, size: float, may_drop: bool
) -> Condition:
    holds = mask_of(_with(condition, which, None, or_missing=False), column)
    order = np.flatnonzero(holds)[np.argsort(column.values[holds], kind="stable")]
    values, inside = column.values[order], np.where(is_in[order], weights[order], 0.0)
    distinct = np.flatnonzero(np.append(True, values[1:] > values[:-1])) if len(values) else order
    if len(distinct) < 2:
        return condition
    below = [np.append(0.0, np.cumsum(part))[np.append(distinct, len(values))] for part in (inside, weights[order])]
    # A bound at the k-th distinct value, or above all values, leaves what is below it on one side.
    hits, total = (part[-1] - part if which == "low" else part for part in below)
    if condition.or_missing:
        gaps = column.is_gap
        hits, total = hits + weights[gaps & is_in].sum(), total + weights[gaps].sum()
    f1 = _f1(hits, total, size)
    unbounded = 0 if which == "low" else len(f1) - 1
    if may_drop and f1[unbounded] >= f1.max() - PRICE:
        return _with(condition, which, None)
    f1[unbounded] = -1.0
    precision, coverage = hits / np.maximum(total, 1e-300), hits / max(size, 1e-300)
    k = int(np.argmax(np.round(f1, 9)))
    kept = float(np.clip(1.000001 * weights[is_in].max(initial=0.0) / max(size, 1e-300), KEPT, MOST_KEPT))
    worse = np.flatnonzero((f1 < f1[k] - kept) | (precision < precision[k] - kept) | (coverage < coverage[k] - kept))
    first = int(worse[worse < k].max(initial=-1)) + 1
    last = int(worse[worse > k].min(initial=len(f1))) - 1
    at = np.concatenate([[-np.inf], values[distinct], [np.inf]])
    middle = at[k] / 2 + at[k + 1] / 2 if np.isfinite(at[k : k + 2]).all() else at[k + 1]
    ends = float(at[first]), float(at[last + 1]), float(middle)
    is_whole = bool((values == np.floor(values)).all())
    return _with(condition, which, roundest_date(*ends) if column.kind == "date" else roundest(*ends, is_whole))


def _with(condition: Condition, which: str, bound: float | None, or_missing: bool | None = None) -> Condition:
    """Return the condition with another bound."""
    or_missing = condition.or_missing if or_missing is None else or_missing
    return replace(condition, or_missing=or_missing, low=bound if which == "low" else condition.low,
                   high=bound if which == "high" else condition.high)  # fmt: skip


def part_of(column: Column, rows: Ints) -> Column:
    """Return some rows of a column."""
    if len(rows) == len(column):
        return column
    if column.is_ordered:
        return Column(column.name, column.kind, numbers=column.values[rows])
    return Column(column.name, column.kind, codes=column.codes_of_levels[rows], levels=column.levels)
