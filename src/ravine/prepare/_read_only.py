"""A fitted encoder of tables, read from a file without its estimator: see `ravine._read_only`."""

from typing import Any, ClassVar

from ravine._matrix import Floats
from ravine._read_only import Parameter, ReadOnlyModel
from ravine._schema import POSITIVE, Custom, Either, Number, Word
from ravine.prepare._fitted import FittedEncoder


def _roles(value: Any) -> Any:
    """Return the roles of some columns by name."""
    if not isinstance(value, dict) or not all(isinstance(role, str) for role in value.values()):
        raise ValueError("must be a dictionary of strings")
    return value


class TableEncoder(ReadOnlyModel, FittedEncoder):
    """A fitted `ravine.prepare.TableEncoder`."""

    _parameters: ClassVar[dict[str, Parameter]] = {
        "roles": Parameter(None, Custom(_roles, optional=True)),
        "category_encoding": Parameter("auto", Word(("auto", "spread", "indicators"))),
        "category_weight": Parameter("auto", Either((Number(float, low=POSITIVE, high=1e6), Word(("auto",))))),
    }

    def transform(self, X: Any) -> Floats:
        """Encode the rows of a table, as `ravine.prepare.TableEncoder.transform` does."""
        return self._transformed(X)
