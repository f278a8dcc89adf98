"""Box QPs with an equality for each of several groups, and with delta ≠ 0: ν-SVC, ν-SVR, one class."""

from dataclasses import replace

import numpy as np
import pytest

from problems import (
    QP,
    RBF,
    BoxQP,
    FormPoint,
    Kernel,
    Linear,
    NuSVC,
    NuSVR,
    OneClassSVM,
    reduce,
)
from solvers import (
    SCG,
    SMO,
    CoordinateDescent,
    CvxoptQP,
    CvxpyQP,
    DualCoordinateDescent,
    InteriorPoint,
    Nystroem,
    PlattSMO,
    ProjectedGradient,
    QPSolversQP,
    ScipyMinimize,
    SimplifiedSMO,
    Solver,
)
from solvers.smo import active, newton_policy, state

KERNELS = {"linear": Linear(), "rbf": RBF(0.3)}


def nu_svc(n: int, kernel: Kernel) -> BoxQP:
    """Return min ½xᵀQx over 0 ≤ x ≤ 1, where the x of each class sum to νn/2."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((n, 4)) + 0.6 * y[:, None]
    return reduce(NuSVC(X, y, 0.4, kernel), BoxQP).form


def nu_svr(n: int, kernel: Kernel) -> BoxQP:
    """Return min ½(α − α*)ᵀK(α − α*) − yᵀ(α − α*), where α and α* sum to Cνn/2 each."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.standard_normal(n)
    return reduce(NuSVR(X, y, 0.3, 2.0, kernel), BoxQP).form


def one_class(n: int, kernel: Kernel) -> BoxQP:
    """Return min ½xᵀQx over 0 ≤ x ≤ 1, where all x sum to νn."""
    X = np.random.default_rng(0).standard_normal((n, 4)) + 1.0
    return reduce(OneClassSVM(X, 0.2, kernel), BoxQP).form


def last(solver: Solver, form: BoxQP | QP) -> FormPoint:
    return list(solver.iterates(solver.prepare(form)))[-1]


def bounds(form: BoxQP, point: FormPoint) -> tuple[float, float]:
    """Return what the box gap proves: a lower and an upper bound of the optimum."""
    assert point.x is not None
    x = form.project(point.x)
    assert np.abs(x - point.x).max() <= 1e-9
    g = form.Q.matvec(x) + form.p
    value = 0.5 * float(x @ (g + form.p))
    return value - float(form.gap_terms(g, x).sum()), value


MADE = {
    f"{make.__name__}, {kernel}": (make, kernel)
    for make in (nu_svc, nu_svr, one_class)
    for kernel in KERNELS
}


@pytest.fixture(params=MADE.values(), ids=MADE, scope="module")
def form(request: pytest.FixtureRequest) -> BoxQP:
    make, kernel = request.param
    return make(60, KERNELS[kernel])


@pytest.fixture(scope="module")
def reference(form: BoxQP) -> tuple[float, float]:
    qp = QP(form.Q, form.p, None, None, *form.equality_rows(), form.lb, form.ub)
    given = ((CvxoptQP(), qp), (InteriorPoint(), form), (CvxpyQP(), qp))
    found = [bounds(form, last(solver, of)) for solver, of in given]
    assert max(lower for lower, _ in found) <= min(upper for _, upper in found)
    return found[0]


@pytest.mark.parametrize(
    "solver",
    [
        SMO(tol=1e-9),
        ProjectedGradient(tol=1e-8),
        ProjectedGradient("accelerated", tol=1e-6),
        SCG(tol=1e-9),
        ScipyMinimize(tol=1e-14),
    ],
    ids=repr,
)
def test_the_box_gap_certifies_the_optimum_of_cvxopt(
    solver: Solver, form: BoxQP, reference: tuple[float, float]
) -> None:
    lower, upper = bounds(form, last(solver, form))
    assert upper - lower <= 1e-4 * abs(upper)
    assert lower <= reference[1]
    assert reference[0] <= upper


@pytest.mark.parametrize("many", [False, True])
def test_smo_reaches_the_optimum_of_many_variables(
    monkeypatch: pytest.MonkeyPatch, many: bool
) -> None:
    if many:  # than can be active, with a Newton step whenever rounds are slow
        monkeypatch.setattr(state, "_MOST_ACTIVE", 600)
        monkeypatch.setattr(newton_policy, "_PATIENCE", 1)
        monkeypatch.setattr(active, "_WORKING_SET", 64)  # with small ones some rounds are slow
    form = nu_svc(2000, RBF(0.03))
    point = last(SMO(tol=1e-9, cache_size=2.0 if many else 1000.0), form)
    lower, upper = bounds(form, point)
    assert point.claim == "optimal"
    assert form.violating_pair(form.Q.matvec(point.x), point.x) <= 1.01e-9
    assert upper - lower <= 1e-8 * upper
    assert not many or point.counters["newton_steps"] > 0


def test_both_variables_of_a_step_are_of_one_group() -> None:
    form = nu_svc(60, RBF(0.3))
    x = form.first_point()
    form = replace(form, start=x)
    for limit in range(1, 30):
        new = last(SMO(tol=1e-12, max_iter=limit), form).x
        assert new is not None
        assert np.allclose(np.bincount(form.groups, form.a * new), form.delta, rtol=1e-15)
        moved = np.flatnonzero(new != x)
        assert moved.size in (0, 2)
        assert np.unique(form.groups[moved]).size <= 1
        x = new


@pytest.mark.parametrize(
    "solver",
    [
        DualCoordinateDescent(),
        CoordinateDescent(),
        Nystroem(),
        PlattSMO(),
        SimplifiedSMO(),
    ],
    ids=lambda s: s.name,
)
def test_what_holds_one_equality_refuses_two(solver: Solver) -> None:
    refusal = solver.refuses(nu_svc(20, Linear()))
    assert refusal is not None
    assert len(refusal.split()) > 5


def test_smo_refuses_variables_outside_of_all_groups() -> None:
    form = nu_svc(20, Linear())
    groups = form.groups.copy()
    groups[0] = -1
    assert "in none" in (SMO().refuses(replace(form, groups=groups)) or "")


def test_the_back_ends_take_two_equalities() -> None:
    form = nu_svc(120, RBF(0.3))
    qp = QP(form.Q, form.p, None, None, *form.equality_rows(), form.lb, form.ub)
    lower, upper = bounds(form, last(QPSolversQP("clarabel"), qp))
    assert upper - lower <= 1e-6 * upper
