"""Every solver of box and kernel QPs: shifted boxes, several equalities, starts, limits, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from tests.halves import quick_cases
from tests.small_problems import two_classes
from tests.solvers.boxes import KERNEL_SHAPES, SHAPES, shifted_box, shifted_kernel_qp

from dualgap.problems import (
    RBF,
    BoxQP,
    FormPoint,
    HardMarginDual,
    Kernel,
    KernelQP,
    Linear,
    NuSVC,
    SoftMarginDual,
    reduce,
)
from dualgap.problems.gram.gram import Gram, SignedGram
from dualgap.solvers import (
    SCG,
    SMO,
    CoordinateDescent,
    DualCoordinateDescent,
    InteriorPoint,
    PlattSMO,
    ProjectedGradient,
    SemismoothNewton,
    SimplifiedSMO,
    Solver,
    Status,
    smo,
    solve,
)
from dualgap.solvers.smo import active, newton
from dualgap.solvers.smo.tuning import TUNING


def nu_svc(n: int, kernel: Kernel) -> KernelQP:
    """Return min ½βᵀKβ over 0 ≤ yβ ≤ 1, where the yβ of each class sum to νn/2."""
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = np.random.default_rng(0).standard_normal((n, 4)) + 0.6 * y[:, None]
    return reduce(NuSVC(X, y, 0.4, kernel), KernelQP).form


def last(solver: Solver, form: BoxQP | KernelQP) -> FormPoint:
    return list(solver.iterates(solver.prepare(form)))[-1]


def bounds(form: BoxQP | KernelQP, point: FormPoint) -> tuple[float, float]:
    """Return what the box gap proves: a lower and an upper bound of the optimum."""
    x_found = point.x
    assert x_found is not None
    if isinstance(form, KernelQP):
        x_found, form = form.split_point(x_found), form.box
    x = form.project(x_found)
    assert np.abs(x - x_found).max() <= 1e-9
    g = form.Q.matvec(x) + form.p
    value = 0.5 * float(x @ (g + form.p))
    return value - float(form.gap_terms(g, x).sum()), value


@pytest.mark.parametrize("is_large", [False, True])
def test_smo_reaches_the_optimum_of_2000_variables(
    monkeypatch: pytest.MonkeyPatch, is_large: bool
) -> None:
    if is_large:  # than can be active, with a Newton step whenever rounds are slow
        monkeypatch.setattr(smo, "TUNING", replace(TUNING, max_first_active=600))
        monkeypatch.setattr(newton, "TUNING", replace(TUNING, patience=1))
        # with small ones some rounds are slow
        monkeypatch.setattr(active, "TUNING", replace(TUNING, working_set=128))
    form = nu_svc(2000, RBF(0.03))
    point = last(SMO(tol=1e-9, cache_size=2.0 if is_large else 1000.0), form)
    lower, upper = bounds(form, point)
    assert point.claim == "optimal"
    box, x = form.box, form.split_point(point.x)
    assert box.violating_pair(box.Q.matvec(x), x) <= 1.01e-9
    assert upper - lower <= 1e-8 * upper
    assert not is_large or point.counters["newton_steps"] > 0


SOLVERS: dict[str, Solver] = {
    "coordinate_descent": CoordinateDescent(tol=1e-8),
    "dual_coordinate_descent": DualCoordinateDescent(tol=1e-9),
    "interior_point": InteriorPoint(),
    "platt_smo": PlattSMO(tol=1e-6),
    "plain": ProjectedGradient("plain", tol=1e-6),
    "accelerated": ProjectedGradient("accelerated", tol=1e-7),
    "barzilai_borwein": ProjectedGradient(tol=1e-8),
    "scg": SCG(tol=1e-9),
    "semismooth_newton": SemismoothNewton(tol=1e-9),
    "simplified_smo": SimplifiedSMO(tol=1e-6, max_passes=100),
    "smo": SMO(tol=1e-9),
}
SEVERAL = ("two equalities", "two equalities and some in none")
REFUSED = {
    "coordinate_descent": {*SHAPES} - {"no equality"},
    "dual_coordinate_descent": {"a coefficient of 0", *SEVERAL},
    "platt_smo": {*SHAPES} - {"signs, from 0"},
    "simplified_smo": {*SHAPES} - {"signs, from 0"},
    "semismooth_newton": {*SEVERAL},
    "smo": {"two equalities and some in none"},
}
SHAPES_OF = [
    (name, shape)
    for name, solver in SOLVERS.items()
    for shape in (KERNEL_SHAPES if solver.form is KernelQP else SHAPES)
]


def shifted(name: str, shape: str, d: int, seed: int) -> BoxQP | KernelQP:
    """Return a shifted problem in the form that a solver takes."""
    takes_coefficients = SOLVERS[name].form is KernelQP
    return (shifted_kernel_qp if takes_coefficients else shifted_box)(shape, d, seed)


@pytest.mark.parametrize(("name", "shape"), SHAPES_OF)
@pytest.mark.parametrize(("d", "seed"), quick_cases([(4, 0), (4, 1), (60, 2)], [(4, 0)]))
def test_shifted_boxes_are_solved_or_refused_in_a_sentence(
    name: str, shape: str, d: int, seed: int
) -> None:
    solver, form = SOLVERS[name], shifted(name, shape, d, seed)
    if shape in REFUSED.get(name, ()):
        assert (solver.refuses(form) or "").startswith("requires ")
        return
    assert solver.refuses(form) is None
    point = last(solver, form)
    assert point.claim == ("stopped" if name == "simplified_smo" else "optimal")
    lower, upper = bounds(form, point)
    assert upper - lower <= (1e-2 if name == "simplified_smo" else 1e-5) * (1 + abs(upper))


def soft_margin_for(name: str, C: float = 10.0) -> SoftMarginDual:
    """Return a soft margin that a solver takes: linear for one, without an intercept for another."""
    linear = name == "dual_coordinate_descent"
    kernel, intercept = Linear() if linear else RBF(1.0), name != "coordinate_descent"
    return SoftMarginDual(*two_classes(60, 3), C, kernel, intercept)


@pytest.mark.parametrize(
    "name", [name for name in SOLVERS if name not in ("interior_point", "scg")]
)
def test_a_warm_start_at_the_optimum_ends_at_once_or_is_no_worse(name: str) -> None:
    problem = soft_margin_for(name)
    solver = replace(SOLVERS[name], tol=1e-5)
    cold = solve(problem, solver)
    again = solve(problem, solver, initial=solve(problem, target_gap=1e-12))
    min_iterations = solver.max_passes if isinstance(solver, SimplifiedSMO) else 1
    assert again.iterations <= max(min_iterations, 0.5 * cold.iterations)
    assert again.certificate.relative_gap <= max(1e-5, cold.certificate.relative_gap)


@pytest.mark.parametrize("name", [*SOLVERS, "notebook"])
@pytest.mark.parametrize("limit", [1, 7])
def test_max_iter_is_respected_and_reported(name: str, limit: int) -> None:
    fine = {} if name == "interior_point" else {"tol": 1e-13}
    solver, problem = SOLVERS.get(name), soft_margin_for(name, 100.0)
    if name == "notebook":
        solver = ProjectedGradient("notebook")
        problem = HardMarginDual(problem.X, problem.y, RBF(1.0))
    solution = solve(problem, replace(solver, **fine), max_iter=limit)
    assert solution.iterations == limit
    assert solution.status is Status.MAX_ITER
    assert solution.claimed in ("stopped", "none")


@pytest.mark.parametrize("name", ["coordinate_descent", "platt_smo", "scg", "simplified_smo"])
def test_a_matrix_that_does_not_fit_is_refused(name: str) -> None:
    form = shifted_box("no equality" if name == "coordinate_descent" else "signs, from 0", 4, 3)
    limited = SignedGram(Gram(form.gram.X, RBF(1.0), memory=100), form.Q.sign)
    assert "fits in memory" in (SOLVERS[name].refuses(replace(form, Q=limited)) or "")
