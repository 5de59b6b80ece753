"""Find clusters by cutting where the data is thin."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ravine import cluster, datasets, metrics, plot, report, stream, tree
    from ravine.cluster import HSDC, MDH, PDDP, SPDC, IncrementalMDH, NCutH, SumOfNorms, SupportVectorClustering
    from ravine.persist import load, save

__version__ = "0.1.0.dev0"

__all__ = [
    "HSDC",
    "MDH",
    "PDDP",
    "SPDC",
    "IncrementalMDH",
    "NCutH",
    "SumOfNorms",
    "SupportVectorClustering",
    "__version__",
    "cluster",
    "datasets",
    "load",
    "metrics",
    "plot",
    "report",
    "save",
    "stream",
    "tree",
]

_HOME = {
    **dict.fromkeys(
        ("HSDC", "IncrementalMDH", "MDH", "NCutH", "PDDP", "SPDC", "SumOfNorms", "SupportVectorClustering"),
        "ravine.cluster",
    ),
    **dict.fromkeys(("load", "save"), "ravine.persist"),
}
_MODULES = ("cluster", "datasets", "metrics", "plot", "report", "stream", "tree")


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: `import ravine` itself costs next to nothing."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"ravine.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
