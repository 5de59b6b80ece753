"""Models from a file that can predict and be described, but not learn: they need no scikit-learn.

A class here has the parameters of an estimator, and shares with it all that is done after the fit. Its checks of the
parameters are those of a file and are never weaker than those of the estimator. A value that they do not know, such as
an array, is no error in itself: then the estimator is loaded instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ravine._schema import Field, Found, Group


@dataclass(frozen=True)
class Parameter:
    """A parameter of an estimator in a file: its default value, and the values that are checked without the estimator.

    Files of earlier versions may lack it.
    """

    default: Any
    field: Field


class ReadOnlyModel:
    """Base class of models that are read from a file without their estimator."""

    _parameters: ClassVar[Mapping[str, Parameter]]

    def __init__(self, **given: Any) -> None:
        for name, parameter in self._parameters.items():
            setattr(self, name, given.get(name, parameter.default))

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(cls._parameters)

    @classmethod
    def _parameter_defaults(cls) -> dict[str, Any]:
        return {name: parameter.default for name, parameter in cls._parameters.items()}

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        """Return the parameters in the order of scikit-learn, by name."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def _validate_params(self) -> None:
        fields = {name: parameter.field for name, parameter in self._parameters.items()}
        Group(fields).check(self.get_params(), "parameters", Found({}))
