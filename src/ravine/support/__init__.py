"""The region that encloses data: the surface whose hills it is, how it is learned, and which hills to believe."""

from ravine.support._choice import Choice, Sample, choose, least_size, levels_below
from ravine.support._hills import Hills, Nearest, Strip
from ravine.support._learn import Learner, objective, solve_exactly
from ravine.support._surface import Surface

__all__ = [
    "Choice",
    "Hills",
    "Learner",
    "Nearest",
    "Sample",
    "Strip",
    "Surface",
    "choose",
    "least_size",
    "levels_below",
    "objective",
    "solve_exactly",
]
