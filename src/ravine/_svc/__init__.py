"""Support-vector clustering: a function whose modes enclose the data, how it is learned, and which modes to accept."""

from ravine._svc._clusters import Clustering, clustering_of, find_modes, find_segments
from ravine._svc._kernel_sum import KernelSum
from ravine._svc._learn import (
    STRATEGIES,
    SWEEPS,
    Learned,
    Learner,
    learn_epochs,
    learn_exactly,
    max_epochs,
    objective,
    solve_exactly,
)
from ravine._svc._modes import Modes, Nearest, Strip
from ravine._svc._parameters import choose_parameters, confirmed_or_one, least_share, rows_counted
from ravine._svc._width_choice import Sample, WidthChoice, choose, least_size, levels_below

__all__ = [
    "STRATEGIES",
    "SWEEPS",
    "Clustering",
    "KernelSum",
    "Learned",
    "Learner",
    "Modes",
    "Nearest",
    "Sample",
    "Strip",
    "WidthChoice",
    "choose",
    "choose_parameters",
    "clustering_of",
    "confirmed_or_one",
    "find_modes",
    "find_segments",
    "learn_epochs",
    "learn_exactly",
    "least_share",
    "least_size",
    "levels_below",
    "max_epochs",
    "objective",
    "rows_counted",
    "solve_exactly",
]
