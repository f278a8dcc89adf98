"""When Newton steps on the triangle of K are taken: the free variables are known, and they pay."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from dualgap.problems import RBF, KernelQP, NuSVC, reduce
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers.smo.active import Active, minimise_by_pairs
from dualgap.solvers.smo.newton import NewtonSearch, Situation
from dualgap.solvers.smo.variables import Scores, joined

FREE, N = np.arange(4000), 20_000


def rounds_until_a_step(search: NewtonSearch, gap: float, max_rounds: int = 5000) -> int:
    """Return after how many rounds a step is due whose violation and gap do not fall."""
    for count in range(max_rounds):
        if search.step(Situation(1.0, 100.0, FREE, N, lambda: gap, 1e-3)):
            return count
    return max_rounds


def test_no_newton_step_precedes_the_identification_of_the_free_set() -> None:
    assert rounds_until_a_step(NewtonSearch(free_known=False), gap=3.0) == 5000
    assert rounds_until_a_step(NewtonSearch(free_known=False), gap=0.05) < 1000
    assert rounds_until_a_step(NewtonSearch(free_known=True), gap=3.0) < 1000


def test_a_newton_step_that_increases_the_gap_does_not_identify_the_free_set() -> None:
    search = NewtonSearch(free_known=False)
    rounds_until_a_step(search, gap=0.05)
    search.approximate.accept(gap=0.5)
    assert rounds_until_a_step(search, gap=0.5) == 5000


@pytest.mark.parametrize(("halved_in", "is_exact"), [(10.0, False), (np.inf, True)])
def test_no_exact_newton_step_is_taken_while_the_gap_is_halved(
    halved_in: float, is_exact: bool
) -> None:
    search, free, exact = NewtonSearch(free_known=False), np.arange(500), False
    for count in range(200):
        gap = 0.05 * 0.5 ** (count / halved_in)
        step = search.step(Situation(1.0, 100.0, free, N, lambda gap=gap: gap, 1e-6))
        if step is not None:
            exact |= step.exact
            search.accept(step, free, lambda gap=gap: gap)
    assert exact == is_exact


def test_unprofitable_newton_steps_become_rare() -> None:
    search = NewtonSearch(free_known=True)
    waits = list[int]()
    for _ in range(5):
        waits.append(rounds_until_a_step(search, gap=0.05))
        search.approximate.accept(gap=0.06)
    assert all(later >= 1.5 * sooner for sooner, later in pairwise(waits[1:]))


def test_the_first_point_of_a_nu_machine_is_not_a_warm_start() -> None:
    """That of a ν-machine is at bounds, and does not tell which variables will be free."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    form = reduce(NuSVC(X, np.sign(X[:, 0]), 0.3, RBF(0.5)), KernelQP).form
    answer = replace(form, start=form.first_point())
    for start_form, free_known in ((form, False), (answer, True)):
        with Tiles(start_form.gram, 1) as tiles:
            scores = Scores(joined(start_form), tiles)
            assert scores.z.any()
            active = Active(scores, minimise_by_pairs, 10, None)
            assert active.search.approximate.free_known == free_known
