"""An answer is the same, but for its units, whatever units samples, targets and weights are in.

python -m tests.solvers.test_units [COUNT] [FIRST]     # more draws than a test has time for
"""

import sys
import warnings
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, product
from typing import Any

import numpy as np
import pytest

from dualgap.problems import (
    RBF,
    SVDD,
    Certificate,
    HardMarginDual,
    HardMarginPrimal,
    HingeERM,
    Linear,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Point,
    Polynomial,
    Precomputed,
    RegularizedERM,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    SVRPrimal,
    certify,
)
from dualgap.problems.formulations.erm import WeightedERM
from dualgap.problems.losses import (
    EpsilonInsensitive,
    Logistic,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from dualgap.solvers import Status, estimators, solve
from dualgap.solvers.cvxopt_qp import CvxoptQP
from dualgap.solvers.cvxpy_erm import CvxpyERM
from dualgap.solvers.dual_coordinate_descent import DualCoordinateDescent
from dualgap.solvers.external.libsvm import LibSVM
from dualgap.solvers.interior_point import InteriorPoint
from dualgap.solvers.near_rows import NearRows
from dualgap.solvers.sdca import SDCA
from dualgap.solvers.semismooth_newton import SemismoothNewton
from dualgap.solvers.smo import SMO
from dualgap.solvers.smooth_primal import LBFGS, NewtonCG

SOLVERS = [SMO, DualCoordinateDescent, SemismoothNewton, InteriorPoint, CvxoptQP, NearRows]
SOLVERS += [LBFGS, NewtonCG, SDCA, CvxpyERM, LibSVM]
LINEAR = (SoftMarginPrimal, HardMarginPrimal, HingeERM, SVRPrimal)
LABELLED = (SoftMarginDual, SoftMarginPrimal, HardMarginDual, HardMarginPrimal, HingeERM)
FORMULATIONS = [*LABELLED, SVRDual, SVRPrimal, NuSVC, NuSVR, OneClassSVM, SVDD]
FORMULATIONS += [RegularizedERM, WeightedERM]
ESTIMATORS = [estimators.SVC, estimators.NuSVC, estimators.SVR, estimators.NuSVR]
ESTIMATORS += [estimators.OneClassSVM, estimators.LinearSVC, estimators.LinearSVR]
ROUNDING = 1e-10  # relative gap of which a solver's own rounding may leave no digit
ROUNDING_OF_TERMS = 1e-8  # of the terms whose differences are decisions
LAST_STEP = 1e-8  # what the last step of a library's method, whose rounding differs, may make of it
TICK = 1e-4  # seconds between readings of the clock: evaluations are due every few iterations
UNREFINED = 1e-4  # what the last step to a violation of 1e-3 may make of it


@dataclass
class Drawn:
    """A problem, the same in other units, and how its values change.

    Attributes
    ----------
    X, other_X : samples to predict. decision, objective : binary exponents of the units.
    """

    problem: Any
    other: Any
    X: Any
    other_X: Any
    decision: int
    objective: int
    solver: Any


def drawn(number: int) -> Drawn:  # noqa: C901, PLR0912, PLR0915 - one draw after another
    """Return a problem drawn at random, and the same in other units."""
    rng = np.random.default_rng([47, number])
    n, d = int(rng.integers(3, 25)), int(rng.integers(1, 5))
    kind = FORMULATIONS[int(rng.integers(len(FORMULATIONS)))]
    grid = rng.random() < 0.4
    X = rng.integers(-4, 5, (n, d)) * 0.5 if grid else rng.normal(size=(n, d))
    labels = np.where(np.arange(n) % 2, 1.0, -1.0)
    if kind in (HardMarginDual, HardMarginPrimal):
        X[:, 0] += 5.0 * labels
    targets = X @ rng.normal(size=d) + (rng.integers(-3, 4, n) if grid else rng.normal(size=n))
    targets = targets + float(rng.choice([0.0, 100.0]))
    C = 10.0 ** rng.uniform(-3, 3, n if rng.random() < 0.3 else ())
    kernel: Any = [Linear(), RBF(0.5), Polynomial(2, 0.25), Polynomial(3, 0.5, 0.0), Precomputed()][
        int(rng.integers(5))
    ]
    s, t, u = (int(k) for k in rng.integers(-40, 41, 3))
    epsilon = float(rng.choice([0.0, 0.1, 1.0]))
    nu = float(rng.choice([1e-6, 0.1, 0.3, rng.uniform(0.05, 0.9)]))
    losses = [Logistic(), SquaredHinge(), Squared(), SquaredEpsilonInsensitive(epsilon)]
    losses += [EpsilonInsensitive(epsilon)] if kind is RegularizedERM else []
    loss: Any = losses[int(rng.integers(len(losses)))]
    if kind in LINEAR:
        kernel = Linear()
    is_K = isinstance(kernel, Precomputed)
    samples = X @ X.T if is_K else X
    p = 2 * s if isinstance(kernel, Linear | Precomputed) else 0
    of_targets = kind in (SVRDual, SVRPrimal, NuSVR) or kind in (RegularizedERM, WeightedERM)
    of_targets = of_targets and (kind not in (RegularizedERM, WeightedERM) or loss.is_regression)
    degree = 1
    if kind in (RegularizedERM, WeightedERM):
        degree = 1 if isinstance(loss, EpsilonInsensitive) else 2
    if kind in (NuSVC, OneClassSVM):
        of_C, decision, objective = u, u + p, 2 * u + p
    elif kind is SVDD:
        of_C, decision, objective = 0, p, p
    else:
        t = t if of_targets else 0
        of_C = (2 - degree) * t - p if of_targets else -p
        decision, objective = t, 2 * t - p
    y = targets if of_targets else labels
    fields: dict[str, tuple[Any, Any]] = {}
    other_samples = np.ldexp(samples, 2 * s if is_K else s)
    fields["X"] = samples, other_samples
    other_kernel = kernel
    if hasattr(kernel, "gamma"):
        other_kernel = replace(kernel, gamma=float(np.ldexp(kernel.gamma, -2 * s)))
    if kind not in LINEAR:
        fields["kernel"] = kernel, other_kernel
    if kind not in (OneClassSVM, SVDD):
        fields["y"] = y, np.ldexp(y, t) if of_targets else y
    if kind in (HingeERM, RegularizedERM):
        lam = 1.0 / (n * float(np.max(C)))
        fields["lam"] = lam, float(np.ldexp(lam, -of_C))
    elif kind not in (HardMarginDual, HardMarginPrimal, SVDD):
        fields["C"] = (v if np.ndim(v) else float(v) for v in (C, np.ldexp(C, of_C)))
    if kind in (SVRDual, SVRPrimal):
        fields["epsilon"] = epsilon, float(np.ldexp(epsilon, t))
    if kind in (RegularizedERM, WeightedERM):
        other_loss = loss
        if hasattr(loss, "epsilon"):
            other_loss = replace(loss, epsilon=float(np.ldexp(loss.epsilon, t)))
        fields["loss"] = loss, other_loss
    if kind in (NuSVC, NuSVR, OneClassSVM, SVDD):
        if kind is NuSVC:
            weight = np.broadcast_to(C, n)
            nu *= 0.99 * min(weight[labels > 0].sum(), weight[labels < 0].sum()) * 2 / weight.sum()
        fields["nu"] = nu, nu
    if kind not in (NuSVC, NuSVR, OneClassSVM, SVDD):
        intercept = bool(rng.random() < 0.6)
        fields["intercept"] = intercept, intercept
    pairs = {name: tuple(pair) for name, pair in fields.items()}
    one, other = (kind(**{name: pair[i] for name, pair in pairs.items()}) for i in (0, 1))
    solver = None if rng.random() < 0.6 else SOLVERS[int(rng.integers(len(SOLVERS)))]()
    return Drawn(one, other, samples, other_samples, decision, objective, solver)


def differ(one: Certificate, other: Certificate, noise: float = ROUNDING) -> bool:
    """Whether a relative gap is over twice the other, but for what float64 resolves of them."""
    low, high = sorted((one.relative_gap, other.relative_gap))
    rounding = noise + 2 * max(one.resolution, other.resolution)
    return bool(np.isfinite([low, high]).all() and high > 2 * low + rounding)


def has_one_b(certificate: Certificate) -> bool:
    """Whether only rounding may move the intercept: of all in an interval it decides."""
    ends = np.array([c.b_interval for c in certificate.parts or (certificate,)])
    return bool((np.ptp(ends, axis=1) <= ROUNDING * np.abs(ends).max(axis=1)).all())


def fault(number: int) -> str:  # noqa: PLR0911 - one for each kind
    """Return what is not the same in other units, or an empty string."""
    case = drawn(number)
    # hard margins end at the first evaluation below the target, and a clock decides when one is due
    one, other = (
        solve(p, case.solver, max_iter=200_000, clock=partial(next, count(0.0, TICK)))
        for p in (case.problem, case.other)
    )
    if Status.UNSUPPORTED in (one.status, other.status):
        return "" if one.status == other.status else f"{one.status} and {other.status}"
    facts = " and ".join(
        f"{s.solver.name}: {s.verdict} {s.certificate.relative_gap:.2g} {s.reason!r}"
        for s in (one, other)
    )
    if one.verdict != other.verdict:
        return f"verdict: {facts}"
    noise = ROUNDING if case.solver is None else LAST_STEP
    if differ(one.certificate, other.certificate, noise):
        return f"gap: {facts}"
    if one.verdict != "solved":
        return ""
    if case.problem.samples.is_linear and not case.problem.risk.is_hard:
        pair = [certify(s.problem, Point(w=s.certificate.point.w)) for s in (one, other)]
        if differ(*pair, noise):
            return f"gap of w: {facts} {pair}"
    ends = [(s.certificate.dual_objective, s.certificate.primal_objective) for s in (one, other)]
    bounds = np.array(ends)
    back = np.ldexp(bounds[1], -case.objective)
    size = max(np.abs(bounds[0]).max(), one.certificate.unit)
    if np.abs(back - bounds[0]).max() > 3e-6 * size:
        return f"bounds: {facts} {bounds[0]} {back}"
    if (
        np.abs(bounds[0]).max() < one.certificate.unit
    ):  # w = 0 is optimal, and decisions are rounding
        return ""
    f, g = (
        one.decision_function(case.X),
        np.ldexp(other.decision_function(case.other_X), -case.decision),
    )
    # bounds of a gap of 1e-6 leave a thousandth of f; where all samples are on a sphere f is rounding
    largest = np.abs(case.problem.kernel.diagonal(case.X)).max()
    terms = largest if isinstance(case.problem, SVDD) else abs(one.b)
    if np.abs(f - g).max() > 1e-2 * np.abs(f).max() + ROUNDING_OF_TERMS * terms:
        return f"decisions: {facts} {np.abs(f - g).max() / np.abs(f).max():.2g}"
    return ""


def fault_of_estimator(number: int) -> str:  # noqa: PLR0915 - one draw after another
    """Return what of an estimator is not the same in other units, or an empty string."""
    rng = np.random.default_rng([48, number])
    n, d = int(rng.integers(4, 25)), int(rng.integers(1, 5))
    s, t, u = (int(k) for k in rng.integers(-40, 41, 3))
    X = rng.normal(size=(n, d))
    labels = rng.integers(0, 3, n) if rng.random() < 0.3 else np.arange(n) % 2
    targets = X @ rng.normal(size=d) + rng.normal(size=n)
    kind = ESTIMATORS[int(rng.integers(len(ESTIMATORS)))]
    C, nu, epsilon = 10.0 ** rng.uniform(-2, 2), float(rng.choice([1e-5, 0.1, 0.4])), 0.1
    intercept, refine = bool(rng.random() < 0.7), bool(rng.random() < 0.7)
    kernel, gamma = str(rng.choice(["linear", "rbf", "poly"])), 0.3
    linear = kind in (estimators.LinearSVC, estimators.LinearSVR)
    p = 2 * s if linear or kernel == "linear" else 0
    of_targets, weighted = (
        kind in (estimators.SVR, estimators.NuSVR, estimators.LinearSVR),
        kind in (estimators.NuSVC, estimators.OneClassSVM),
    )
    t = t if of_targets else 0
    fields: dict[str, tuple[Any, Any]] = {"refine": (refine, refine)}
    if linear:
        loss, squared = (
            ("hinge", "squared_hinge")
            if kind is estimators.LinearSVC
            else ("epsilon_insensitive", "squared_epsilon_insensitive")
        )
        loss, degree = (loss, 1) if rng.random() < 0.5 else (squared, 2)
        fields["loss"], fields["fit_intercept"] = (loss, loss), (intercept, intercept)
        scaling = np.inf if rng.random() < 0.5 else 1.0
        fields["intercept_scaling"] = scaling, float(np.ldexp(scaling, s))
    else:
        degree, fields["kernel"] = 1, (kernel, kernel)
        fields["gamma"] = gamma, float(np.ldexp(gamma, -2 * s))
    if not weighted:
        of_C = (2 - degree) * t - p if of_targets else -p
        fields["C"] = C, float(np.ldexp(C, of_C))
    if weighted or kind is estimators.NuSVR:
        fields["nu"] = nu, nu
    if kind in (estimators.SVR, estimators.LinearSVR):
        fields["epsilon"] = epsilon, float(np.ldexp(epsilon, t))
    if kind in (estimators.SVC, estimators.NuSVC):
        fields["decision_function_shape"] = "ovo", "ovo"  # without votes, which rounding may tie
    y = targets if of_targets else labels
    weights = np.ones(n), np.ldexp(np.ones(n), u if weighted else 0)
    decision = u + p if kind is estimators.OneClassSVM else t
    fits, facts = [], []
    for i, samples, values in ((0, X, y), (1, np.ldexp(X, s), np.ldexp(y, t) if t else y)):
        machine = kind(**{name: pair[i] for name, pair in fields.items()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                machine.fit(samples, values, sample_weight=weights[i])
            except ValueError as error:  # of a nu that leaves no margin
                facts.append(str(error))
                continue
        f = machine.predict if of_targets else machine.decision_function
        fits.append(np.ldexp(f(samples), -decision * i))
        facts.append(machine.certificate_)
    if len(fits) < 2:
        return "" if len(facts) == 2 and facts[0] == facts[1] else f"{kind.__name__}: {facts}"
    f, g = fits
    if differ(*facts, ROUNDING if refine else UNREFINED):
        return f"gap: {kind.__name__} {fields} {facts}"
    if facts[0].primal_objective < facts[0].unit or not has_one_b(facts[0]):
        return ""
    if np.abs(f - g).max() > 1e-3 * np.abs(f).max():
        return f"decisions: {kind.__name__} {fields} {np.abs(f - g).max() / np.abs(f).max():.2g} {facts}"
    return ""


QUICK = 25  # draws of either kind in a test, of some seconds
MANY = 400


@pytest.mark.parametrize("find", [fault, fault_of_estimator])
def test_answers_do_not_depend_on_units(find):
    assert [text for number in range(QUICK) if (text := find(number))] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(QUICK, 2 * MANY, MANY))
@pytest.mark.parametrize("find", [fault, fault_of_estimator])
def test_answers_to_random_problems_do_not_depend_on_units(find, first):
    assert [text for number in range(first, first + MANY) if (text := find(number))] == []


@pytest.mark.parametrize("nu", [1e-2, 1e-5, 1e-8])
def test_a_nu_near_zero_is_solved(nu):
    X = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.1], [1.0, 2.0, 3.2]])
    answer = solve(OneClassSVM(X, nu, RBF(1 / 3)), SMO())
    assert answer.verdict == "solved"
    np.testing.assert_allclose(answer.alpha / (3 * nu), [0.5, 0.0, 0.5], atol=1e-6)


def test_a_suboptimal_answer_is_not_solved_for_a_tiny_nu():
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    problem = NuSVC(X, y, 1e-9)
    far = certify(
        problem, Point(np.array([2e-9, 0.0, 0.0, 2e-9]))
    )  # the optimum is of samples 1 and 2
    assert far.relative_gap > 0.5
    assert solve(problem).verdict == "solved"


def test_targets_in_tenths_whose_range_is_the_tube_are_solved():
    for low in range(1, 12):
        for width in range(1, 16):
            y = np.array([low, low + width]) / 10
            answer = solve(SVRDual(np.array([[0.0], [1.0]]), y, 1.0, width / 20))
            assert answer.verdict == "solved"


@pytest.mark.parametrize("unit", [1e-4, 1e-8])
def test_a_fit_of_all_targets_is_solved_in_any_unit(unit):
    X, y = np.arange(4.0)[:, None], np.array([0.0, 1.0, 0.5, 2.0])
    answer = solve(SVRDual(X, unit * y, 1.0, 0.0, RBF(1.0)))
    assert answer.verdict == "solved"
    np.testing.assert_allclose(answer.decision_function(X) / unit, y, atol=1e-6)


def main() -> int:
    """Print the faults of many draws of either kind, and return how many there are."""
    count, first = (int(v) for v in (sys.argv[1:] + ["1000", "0"][len(sys.argv) - 1 :]))
    faults = 0
    for number, find in product(range(first, first + count), (fault, fault_of_estimator)):
        if text := find(number):
            faults += 1
            print(number, find.__name__, text, flush=True)  # noqa: T201
    print(f"{faults} faults of {2 * count}")  # noqa: T201
    return faults


if __name__ == "__main__":
    sys.exit(bool(main()))
