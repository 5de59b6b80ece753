import threading
from concurrent.futures import Future

import numpy as np
import pytest

from ravine._outofcore._shared_passes import SharedPasses


class Served(SharedPasses):
    """Multiplies numbers by ten, and lists what was asked for in each call."""

    def __init__(self, broken=()):
        super().__init__(self.multiply)
        self.calls, self.broken = [], broken
        self.is_busy = self.is_over = False

    def multiply(self, requests):
        assert not self.is_busy
        assert not self.is_over
        self.is_busy = True
        self.calls.append(sorted(requests))
        self.is_busy = False
        if any(request in self.broken for request in requests):
            raise BrokenError(requests)
        return [10 * request for request in requests]

    def ended(self, function, items):
        """What `map` gives or raises, within a time."""
        outcome = Future()

        def run():
            try:
                outcome.set_result(self.map(function, items))
            except BaseException as error:
                outcome.set_exception(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(timeout=20)
        if thread.is_alive():
            self.release()
            pytest.fail("threads wait for each other")
        return outcome.result()

    def release(self):
        """Ends the threads, which the interpreter would join."""
        self.is_over = True
        with self._changed:
            for asked in self._waiting:
                asked.error, asked.is_answered = TimeoutError(), True
            self._changed.notify_all()


class BrokenError(Exception):
    pass


class FunctionError(Exception):
    pass


@pytest.mark.parametrize("n_threads", [2, 3, 9])
def test_requests_of_all_threads_are_served_in_one_call(n_threads):
    served = Served()
    assert served.ended(served.ask, range(n_threads)) == [10 * i for i in range(n_threads)]
    assert served.calls == [list(range(n_threads))]


def test_threads_with_different_numbers_of_requests_all_end():
    served = Served()
    found = served.ended(lambda n: [served.ask(100 * n + k) for k in range(n)], [3, 0, 1, 5])
    assert found == [[10 * (100 * n + k) for k in range(n)] for n in (3, 0, 1, 5)]
    assert served.calls == [[100, 300, 500], [301, 501], [302, 502], [503], [504]]


def test_results_belong_to_their_requests(rng):
    served = Served()
    asked = [rng.integers(0, 1000, size=n).tolist() for n in rng.integers(0, 30, size=12)]
    found = served.ended(lambda mine: [served.ask(number) for number in mine], asked)
    assert found == [[10 * number for number in mine] for mine in asked]
    assert sorted(np.concatenate(served.calls)) == sorted(np.concatenate(asked))
    assert len(served.calls) == max(len(mine) for mine in asked)


def test_threads_of_threads_are_in_step_with_all():
    served = Served()
    found = served.ended(lambda i: served.map(served.ask, [i, i + 1, i + 2]), [0, 10])
    assert found == [[0, 10, 20], [100, 110, 120]]
    assert served.calls == [[0, 1, 2, 10, 11, 12]]


def test_thread_that_maps_goes_on_in_step():
    served = Served()

    def ask(i):
        first = served.map(served.ask, [i, i + 1]) if i else [served.ask(0)]
        return sum(first) + served.ask(7 + i)

    assert served.ended(ask, [0, 1, 3]) == [70, 110, 170]
    assert served.calls[0] == [0, 1, 2, 3, 4]
    assert sorted(np.concatenate(served.calls[1:])) == [7, 8, 10]


def test_maps_within_maps_end():
    served = Served()

    def total(depth):
        return served.ask(depth) + (sum(served.map(total, range(depth))) if depth else 0)

    def expected(depth):
        return 10 * depth + sum(expected(below) for below in range(depth))

    assert served.ended(total, [4, 2, 4]) == [expected(4), expected(2), expected(4)]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("n_requests", [0, 3])
def test_error_of_one_function_is_raised_and_the_others_end(place, n_requests):
    served, ended = Served(), []

    def ask(i):
        try:
            for _ in range(n_requests):
                served.ask(i)
            if i == place:
                raise FunctionError(i)
            while True:
                served.ask(i)
        finally:
            ended.append(i)

    with pytest.raises(FunctionError, match=str(place)):
        served.ended(ask, range(3))
    assert sorted(ended) == [0, 1, 2]
    assert served.calls == [[0, 1, 2]] * n_requests


def test_others_may_end_without_an_error():
    served = Served()

    def ask(i):
        if i == 1:
            raise FunctionError
        return i

    with pytest.raises(FunctionError):
        served.ended(ask, range(3))


def test_error_below_a_thread_is_raised_and_the_others_end():
    served = Served()

    def fail_at_12(i):
        served.ask(i)
        if i == 12:
            raise FunctionError
        while True:
            served.ask(i)

    with pytest.raises(FunctionError):
        served.ended(lambda i: served.map(fail_at_12, [i, i + 1, i + 2]), [0, 10])


def test_error_of_the_service_reaches_the_caller():
    served = Served(broken=[1])
    with pytest.raises(BrokenError):
        served.ended(served.ask, range(3))
    with pytest.raises(BrokenError):
        served.ask(1)


def test_it_can_be_used_after_an_error():
    served = Served(broken=[1])

    def fail(i):
        raise FunctionError

    for _ in range(2):
        with pytest.raises(BrokenError):
            served.ended(served.ask, range(3))
        with pytest.raises(FunctionError):
            served.ended(fail, range(3))
        served.calls.clear()
        assert served.ended(served.ask, [2, 3, 4]) == [20, 30, 40]
        assert served.calls == [[2, 3, 4]]
        assert served.ask(5) == 50


def test_request_outside_is_served_alone():
    served = Served()
    assert [served.ask(i) for i in range(3)] == [0, 10, 20]
    assert served.calls == [[0], [1], [2]]


def test_few_items_need_no_threads():
    served = Served()
    assert served.map(served.ask, []) == []
    assert served.map(lambda i: (served.ask(i), threading.current_thread()), [4]) == [(40, threading.current_thread())]
    assert served.calls == [[4]]
