"""What `ravine stream` is asked to do: the method and its parameters, the batches, and the files."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import ravine
from ravine._io import UsageError
from ravine.cli._rows import StreamOptions

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "stream": ("StreamClusterer", {}),
    "hsdc": ("HSDC", {"inherit": False}),
    "hsdci": ("HSDC", {"inherit": True}),
    "imdh": ("IncrementalMDH", {}),
}
"""Estimator and parameters of each method."""

PARAMETERS = ("significance", "run_length", "max_clusters")
"""Parameters of the estimators that are options of the command."""


@dataclass(frozen=True)
class Plan:
    """How a stream is learned, and what is written.

    Attributes
    ----------
    method : str
    batch : int
        Number of rows that are labeled, then learned, at a time.
    per_batch : bool
        Write one line for each batch instead of one for each row.
    seed : int
    n_jobs : int
    out, events : Path or None
        Files; None means standard output and standard error.
    checkpoint : Path or None
        Folder.
    every : int
        Number of rows between two checkpoints.
    poll : float or None
        Seconds between two checks of a followed file; None if the file is not followed.
    parameters : mapping
        Values that the user gives to some of `PARAMETERS`; the estimator has defaults for the others.
    """

    method: str = "stream"
    batch: int = 100
    per_batch: bool = False
    seed: int = 0
    n_jobs: int = -1
    out: Path | None = None
    events: Path | None = None
    checkpoint: Path | None = None
    every: int = 10_000
    poll: float | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)

    def fixed_options(self, options: StreamOptions) -> dict[str, Any]:
        """Options that must be the same when the stream continues."""
        per = "batch" if self.per_batch else "row"
        own = {"method": self.method, "batch": self.batch, "per": per, "seed": self.seed}
        parameters = {_option(name): self.parameters.get(name) for name in PARAMETERS}
        columns = {"columns": list(options.columns), "drop": list(options.drop), "label": options.label}
        return {**own, **parameters, **columns, **asdict(options.text)}


def make_model(plan: Plan) -> Any:
    """Create the estimator."""
    name, fixed = METHODS[plan.method]
    return getattr(ravine, name)(**fixed, **plan.parameters, random_state=plan.seed, n_jobs=plan.n_jobs)


def check_parameters(plan: Plan) -> None:
    """Raise UsageError if the method does not have a parameter that the user gives, or does not take its value."""
    name, _ = METHODS[plan.method]
    for parameter, value in plan.parameters.items():
        takers = [method for method, (other, _) in METHODS.items() if _has(other, parameter)]
        if plan.method not in takers:
            raise UsageError(
                f"{_said(parameter)} does not go with --method {plan.method}: leave it out, or choose --method "
                f"{' or '.join(takers)}"
            )
        allowed = getattr(ravine, name)._parameter_constraints[parameter][0]
        if value not in allowed:
            raise UsageError(f"{_said(parameter)} {value:g}: --method {plan.method} needs {allowed}")


def _has(estimator: str, parameter: str) -> bool:
    return parameter in getattr(getattr(ravine, estimator), "_parameter_constraints", {})


def _option(parameter: str) -> str:
    return parameter.replace("_", "-")


def _said(parameter: str) -> str:
    return f"--{_option(parameter)}"
