"""Support-vector clustering: a function whose modes enclose the data, how it is learned, and which modes to accept."""

from ravine._svc._kernel_sum import KernelSum
from ravine._svc._learn import Learner, objective, solve_exactly
from ravine._svc._modes import Modes, Nearest, Strip
from ravine._svc._width_choice import Sample, WidthChoice, choose, least_size, levels_below

__all__ = [
    "KernelSum",
    "Learner",
    "Modes",
    "Nearest",
    "Sample",
    "Strip",
    "WidthChoice",
    "choose",
    "least_size",
    "levels_below",
    "objective",
    "solve_exactly",
]
