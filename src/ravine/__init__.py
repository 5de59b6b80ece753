"""Find clusters by cutting where the data is thin."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ravine import (
        cluster,
        datasets,
        evaluation,
        explain,
        export,
        gpu,
        integrations,
        metrics,
        plot,
        prepare,
        report,
        semi_supervised,
        tree,
    )
    from ravine._explore import Exploration, explore
    from ravine.cluster import (
        HSDC,
        MDH,
        PDDP,
        SPDC,
        IncrementalMDH,
        NCutH,
        SpectralPursuit,
        StreamClusterer,
        SumOfNorms,
        SupportVectorClustering,
    )
    from ravine.persist import load, save
    from ravine.semi_supervised import MDHClassifier, SpectralPursuitClassifier

__version__ = "0.1.0.dev0"

__all__ = [
    "HSDC",
    "MDH",
    "PDDP",
    "SPDC",
    "Exploration",
    "IncrementalMDH",
    "MDHClassifier",
    "NCutH",
    "SpectralPursuit",
    "SpectralPursuitClassifier",
    "StreamClusterer",
    "SumOfNorms",
    "SupportVectorClustering",
    "__version__",
    "cluster",
    "datasets",
    "evaluation",
    "explain",
    "explore",
    "export",
    "gpu",
    "integrations",
    "load",
    "metrics",
    "plot",
    "prepare",
    "report",
    "save",
    "semi_supervised",
    "tree",
]

_HOME = {
    **dict.fromkeys(
        (
            "HSDC",
            "IncrementalMDH",
            "MDH",
            "NCutH",
            "PDDP",
            "SPDC",
            "SpectralPursuit",
            "StreamClusterer",
            "SumOfNorms",
            "SupportVectorClustering",
        ),
        "ravine.cluster",
    ),
    **dict.fromkeys(("load", "save"), "ravine.persist"),
    **dict.fromkeys(("Exploration", "explore"), "ravine._explore"),
    **dict.fromkeys(("MDHClassifier", "SpectralPursuitClassifier"), "ravine.semi_supervised"),
}
_MODULES = (
    "cluster",
    "datasets",
    "evaluation",
    "explain",
    "export",
    "gpu",
    "integrations",
    "metrics",
    "plot",
    "prepare",
    "report",
    "semi_supervised",
    "tree",
)


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, so that `import ravine` is fast."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"ravine.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
