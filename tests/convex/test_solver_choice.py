import pytest

from ravine._convex import _solver_choice, choose_solver, default_max_iter


@pytest.fixture
def small_memory(monkeypatch):
    monkeypatch.setattr(_solver_choice, "DUAL_BYTES", 8 * 3 * 100**2)


@pytest.mark.parametrize(("n_points", "solver"), [(100, "dual"), (101, "stochastic")])
def test_all_pairs_are_solved_on_the_dual_as_long_as_memory_suffices(n_points, solver, small_memory):
    assert choose_solver("auto", n_points, 3, all_pairs=True, needs_path=False) == solver
    assert choose_solver("dual", n_points, 3, all_pairs=True, needs_path=True) == "dual"
    assert choose_solver("auto", n_points, 3, all_pairs=False, needs_path=True) == "dual"


def test_path_that_does_not_fit_in_memory_is_refused(small_memory):
    with pytest.raises(ValueError, match="all pairs of 101 distinct rows needs"):
        choose_solver("auto", 101, 3, all_pairs=True, needs_path=True)
    with pytest.raises(ValueError, match="solves for a single lam"):
        choose_solver("stochastic", 5, 3, all_pairs=False, needs_path=True)


def test_default_sweeps_make_ten_million_random_steps():
    assert default_max_iter("dual", 10, None) == _solver_choice.MAX_STEPS
    assert default_max_iter("stochastic", 100, None) == 10**7 // 4950
    assert default_max_iter("stochastic", 100, 10) == 10**7 // 500
    assert default_max_iter("stochastic", 10**5, None) == _solver_choice.MIN_SWEEPS
    assert default_max_iter("stochastic", 1, 10) == 10**7
