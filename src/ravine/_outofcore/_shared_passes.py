"""Threads that need a pass over the same rows share one pass."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Request = TypeVar("Request")


class SharedPasses(Generic[Request]):
    """Collect the requests of several threads until all of them wait, then serve all requests at once.

    Parameters
    ----------
    serve : callable ``list of requests -> list of results``
    """

    def __init__(self, serve: Callable[[list[Request]], list[Any]]) -> None:
        self._serve = serve
        self._changed = threading.Condition()
        self._n_threads = 0
        self._waiting: list[_Asked[Request]] = []
        self._mine = threading.local()
        self._failed = False

    def ask(self, request: Request) -> Any:
        """Return the result of a request, once all threads of the group have made one."""
        if not self._shares_passes:
            return self._serve([request])[0]
        asked = _Asked(request)
        with self._changed:
            self._waiting.append(asked)
            self._serve_if_all_wait()
            self._changed.wait_for(lambda: asked.is_answered)
        if asked.error is not None:
            raise asked.error
        return asked.result

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call `function` on each item, on threads that share passes; `function` may call `map` itself."""
        if len(items) < 2:
            return [function(item) for item in items]
        group = _Group(len(items), self._shares_passes)
        with self._changed:
            self._n_threads += len(items) - group.has_caller
        with ThreadPoolExecutor(len(items)) as pool:
            futures = [pool.submit(self._run, function, item, group) for item in items]
            try:
                errors = [error for error in (future.exception() for future in futures) if error is not None]
            except BaseException:  # an interruption: the threads stop at their next request
                self._failed = True
                raise
        if errors:
            raise next((error for error in errors if not isinstance(error, _OtherFailedError)), errors[0])
        return [future.result() for future in futures]

    @property
    def _shares_passes(self) -> bool:
        return getattr(self._mine, "shares_passes", False)

    def _run(self, function: Callable[[Item], Result], item: Item, group: "_Group") -> Result:
        self._mine.shares_passes = True
        try:
            return function(item)
        except BaseException:
            self._failed = True
            raise
        finally:
            self._leave(group)

    def _leave(self, group: "_Group") -> None:
        """End one thread of a group; the last one hands over to the thread that waits for the group."""
        with self._changed:
            group.n_threads -= 1
            if group.n_threads or not group.has_caller:
                self._n_threads -= 1
            if self._n_threads:
                self._serve_if_all_wait()
            else:
                self._failed = False

    def _serve_if_all_wait(self) -> None:
        waiting = self._waiting
        if not waiting or len(waiting) < self._n_threads:
            return
        self._waiting = []
        try:
            if self._failed:
                raise _OtherFailedError
            for asked, result in zip(waiting, self._serve([asked.request for asked in waiting]), strict=True):
                asked.result = result
        except BaseException as error:
            for asked in waiting:
                asked.error = error
        for asked in waiting:
            asked.is_answered = True
        self._changed.notify_all()


@dataclass
class _Group:
    """Threads of one `map`, and whether the calling thread shares passes itself; it makes no request meanwhile."""

    n_threads: int
    has_caller: bool


class _OtherFailedError(RuntimeError):
    """Ends a thread when another thread that shares its passes has failed."""


class _Asked(Generic[Request]):
    """A request of a thread that waits for its result."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_answered = False
