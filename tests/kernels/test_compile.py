import gc
import pickle

import numpy as np
import pytest
from numba.core.compiler import Flags

from ravine._kernels import _compile
from ravine._kernels._compile import inner, inner_reduction, kernel
from ravine._kernels._compiler import _Changing
from ravine._kernels._watch import on_compilation


@inner
def twice(x):
    return 2.0 * x


@inner
def share(x, y):
    return x / y


@inner_reduction
def total(values):
    s = 0.0
    for i in range(values.shape[0]):
        s += values[i]
    return s


@kernel
def four_times(x):
    return twice(twice(x))


@kernel
def mean(values):
    return share(total(values), values.shape[0])


@kernel
def plus(x, y):
    return x + y


def test_kernels_call_inner_kernels_which_get_no_entry():
    assert four_times(1.5) == 6.0
    assert twice.entry is None


def test_a_call_from_python_gives_an_inner_kernel_an_entry():
    assert share(3.0, 4.0) == 0.75
    assert share.entry is not None
    assert total(np.arange(5.0)) == 10.0
    assert mean(np.arange(5.0)) == 2.0


def test_inner_kernels_divide_by_zero_as_numpy_does():
    assert mean(np.empty(0)) != mean(np.empty(0))  # 0 / 0
    assert share(1.0, 0.0) == np.inf


def test_inner_kernels_are_restored_from_pickles():
    assert pickle.loads(pickle.dumps(twice))(4.0) == 8.0


@pytest.mark.parametrize("is_on", [True, False])
def test_the_garbage_collector_waits_for_a_compilation_and_is_then_as_before(is_on):
    scope = {}
    exec("def minus(x, y):\n    return x - y", scope)  # not in a file, so never cached
    minus, seen = kernel(scope["minus"]), []
    try:
        gc.enable() if is_on else gc.disable()
        with on_compilation(lambda name: seen.append((name, gc.isenabled()))):
            assert minus(3.0, 1.0) == 2.0
        assert seen == [("minus", False), (None, False)]
        assert gc.isenabled() == is_on
    finally:
        gc.enable()


def test_equal_options_of_compilations_are_one_object_and_their_copies_can_be_changed():
    first, second = _Changing(Flags()), _Changing(Flags())
    known = first.copy()
    assert second.copy() is known
    second.fastmath = True
    assert second.copy() is not known
    other = known.copy()
    other.nrt = True
    assert not known.nrt
    assert other.copy() != known


def test_only_new_types_are_compiled():
    plus(1.0, 2.0)
    heard = []
    with on_compilation(heard.append):
        plus(3.0, 4.0)
    assert heard == []


def test_with_another_numba_inner_kernels_are_kernels(monkeypatch):
    monkeypatch.setattr(_compile, "NEWEST_TESTED", (0, 60))

    @inner
    def thrice(x):
        return 3.0 * x

    @inner_reduction
    def both(values):
        return values[0] + values[1]

    @kernel
    def nine_times(x):
        return thrice(thrice(x)) + both(np.zeros(2))

    assert nine_times(2.0) == 18.0
    assert type(thrice) is type(both) is type(nine_times)
