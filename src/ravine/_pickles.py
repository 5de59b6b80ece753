"""Pickles of fitted estimators: parameters, plain arrays, and no private class.

Pickle and skops keep the classes of what they store by their import paths. A file that names private modules can no
longer be read after one is renamed, and a user of skops has to trust each of them. So an estimator is stored as its
parameters and the plain state that `ravine.save` writes. The state is checked when it is read, as by `ravine.load`.
"""

from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ravine._schema import Group, Sizes, State
from ravine._sklearn import is_fitted

LEARNED = "learned state"
"""Key of the plain state in what is stored; no attribute can have this name."""


class PlainPickles:
    """Mixin of the estimators: in a pickle, attributes of private classes are replaced by the plain state."""

    _schema: ClassVar[Group]

    _in_state: ClassVar[tuple[str, ...]] = ()
    """Attributes that may have objects of ravine. They are left out, and `_restore` makes them again."""

    if TYPE_CHECKING:  # methods of the estimators

        def _sizes(self) -> Sizes: ...
        def _state(self, resume: bool) -> State: ...
        def _restore(self, state: State) -> None: ...

    def __getstate__(self) -> dict[str, Any]:
        learned = self._checked_state() if is_fitted(self) else None
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        if learned is None:
            return state
        return {**{name: value for name, value in state.items() if name not in self._in_state}, LEARNED: learned}

    def __setstate__(self, state: dict[str, Any]) -> None:
        given = {name: value for name, value in state.items() if name != LEARNED}
        super().__setstate__(given)  # type: ignore[misc]
        if LEARNED not in state:
            return
        self._restore(self._checked(state[LEARNED]))
        if "labels_" in given:  # a file has them as an array of NumPy, whatever the rows were
            vars(self)["labels_"] = given["labels_"]

    def __copy__(self) -> Self:
        copied = type(self).__new__(type(self))
        vars(copied).update(vars(self))
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = memo[id(self)] = type(self).__new__(type(self))
        vars(copied).update(deepcopy(vars(self), memo))
        return copied

    def _checked_state(self) -> State | None:
        """Return the plain state; None if there is none yet, or if it could not be restored.

        A model that labels a Dask collection at the end of its fit is sent to the workers before it has all of its
        state. What was learned with one parameter cannot be restored after another one was set.
        """
        try:
            learned = self._state(resume=True)
            self._checked(learned)
        except (AttributeError, ValueError):
            return None
        return learned

    def _checked(self, learned: State) -> State:
        """Return a plain state after a check; invalid numbers raise errors, not warnings of NumPy."""
        with np.errstate(all="ignore"):
            return self._schema.checked(learned, self._sizes())
