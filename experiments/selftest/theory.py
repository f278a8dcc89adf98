"""Whether answers have the properties that theory gives the optimum.

There are two ways to test it, both by certified bounds and without believing any solver:

- the *impostor*, a nearby wrong problem (C ignored, no intercept, a mean for the sum): an answer must
  be clearly better than the impostor's own optimum is on the problem that was asked;
- the *variant*, the same problem in another form (permuted, flipped, duplicated, scaled, shifted),
  whose optimum is known to be `ratio` times the first: the certified intervals must overlap, claims must
  hold on it too, and it must be answered about as well as the first.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap.experiments.selftest.bench import Bench, NotJudged, changed, primal_at
from dualgap.problems import RBF, Certificate, Formulation, Point, certify

_WORSE, _SLACK = 10.0, 0.05  # a variant's excess: at most so many times the first's, and a bit
_ROUNDING = 1e-9
_AT_BOUND = 1e-4  # of C: interior points never touch a bound
_SCALE = 8.0  # exact in floating point


def slack_weight(bench: Bench, problem: Formulation) -> str:
    """The answer for one C is better on it than the answer for another C."""
    answers = {C: bench.solve(changed(problem, C=C)) for C in (0.01, 10.0)}
    for C, other in ((0.01, 10.0), (10.0, 0.01)):
        elsewhere = primal_at(answers[C].problem, answers[other])
        wrong = _no_better(bench, answers[C], elsewhere, f"the answer for C={other:g}")
        if wrong:
            return f"at C={C:g} {wrong}"
    return ""


def slack_weights(bench: Bench, problem: Formulation) -> str:
    """Each sample's own C counts: the impostor has the mean for all."""
    C = np.where(problem.y > 0, 2.0, 0.02) * np.random.default_rng(2).uniform(0.5, 1.5, problem.n)
    mean = changed(problem, C=float(C.mean()))
    return _impostor(bench, changed(problem, C=C), mean, "one C for all samples")


def sum_not_mean(bench: Bench, problem: Formulation) -> str:
    """The losses are summed: the impostor takes their mean, which is C/n."""
    mean = changed(problem, C=problem.C / problem.n)
    return _impostor(bench, problem, mean, "the mean of the losses in place of their sum")


def intercept(bench: Bench, problem: Formulation) -> str:
    """An intercept is there if and only if the problem has one."""
    other = changed(problem, intercept=not problem.intercept)
    what = "a machine without the intercept" if problem.intercept else "a machine with an intercept"
    return _impostor(bench, problem, other, what)


def nu_property(bench: Bench, problem: Formulation) -> str:
    """A share of at most ν has the largest multiplier, as all margin errors have; at least ν has any.

    Of the answer as it is given: once it is projected, every answer has the right sums.
    """
    alpha = bench.solve(problem).point.alpha
    if alpha is None:
        return "it gives no multipliers"
    nu, size = float(problem.nu), np.abs(alpha) / problem.upper  # type: ignore[attr-defined]
    at_most, any_at_all = np.mean(size >= 1 - _AT_BOUND), np.mean(size > _AT_BOUND)
    if at_most > nu + 1 / problem.n:
        return f"a share {at_most:.2g} of the samples is at the largest multiplier, nu is {nu:g}"
    if any_at_all < nu - 1 / problem.n:
        return f"a share {any_at_all:.2g} of the samples are support vectors, nu is {nu:g}"
    return ""


def sign(bench: Bench, problem: Formulation) -> str:
    """An answer is better than none: a wrong sign leads uphill from w = 0."""
    at_zero = certify(problem, Point(alpha=np.zeros(problem.n))).primal_objective
    return _no_better(bench, bench.solve(problem), at_zero, "w = 0")


def permutation(bench: Bench, problem: Formulation) -> str:
    """The order of the samples does not matter."""
    orders = {
        "in reverse": np.arange(problem.n)[::-1],
        "sorted by class": np.argsort(problem.y, kind="stable"),
        "shuffled": np.random.default_rng(3).permutation(problem.n),
    }
    variants = {
        what: changed(problem, X=problem.X[order], y=problem.y[order])
        for what, order in orders.items()
    }
    return _variants(bench, problem, variants)


def label_flip(bench: Bench, problem: Formulation) -> str:
    """With the other sign of y the optimum is the same, as −w."""
    return _variants(bench, problem, {"with flipped labels": changed(problem, y=-problem.y)})


def duplication(bench: Bench, problem: Formulation) -> str:
    """Every sample twice is C doubled."""
    doubled = changed(problem, C=2.0 * problem.C)
    twice = changed(problem, X=np.vstack([problem.X] * 2), y=np.tile(problem.y, 2))
    return _variants(bench, doubled, {"with every sample twice instead of 2C": twice})


def scaling(bench: Bench, problem: Formulation) -> str:
    """X → sX with C → C/s² divides the optimum by s²; with an RBF kernel gamma → gamma/s² keeps it."""
    for s in (_SCALE, 1.0 / _SCALE):
        if isinstance(problem.kernel, RBF):
            kernel = RBF(problem.kernel.gamma / s**2)
            variant, ratio = changed(problem, X=s * problem.X, kernel=kernel), 1.0
        else:
            variant, ratio = changed(problem, X=s * problem.X, C=problem.C / s**2), 1.0 / s**2
        wrong = _variants(bench, problem, {f"with X times {s:g}": variant}, ratio)
        if wrong:
            return wrong
    return ""


def shift(bench: Bench, problem: Formulation) -> str:
    """X → X + v leaves the optimum: the intercept, or the RBF kernel, takes it up."""
    moved = changed(problem, X=problem.X + np.linspace(-3.0, 3.0, problem.d))
    return _variants(bench, problem, {"with shifted samples": moved})


def storage(bench: Bench, problem: Formulation) -> str:
    """Sparse samples are the same samples."""
    return _variants(bench, problem, {"with sparse X": changed(problem, X=sp.csr_array(problem.X))})


def _no_better(bench: Bench, answer: Any, other: float, what: str) -> str:
    """Return an objection if an answer is not nearer to the optimum than to the value `other`."""
    best = bench.reference(answer.problem).certificate.primal_objective
    value = answer.certificate.primal_objective
    if value <= 0.5 * (best + other):
        return ""
    return (
        f"its primal value {value:.6g} is no better than {what} gives ({other:.6g}); "
        f"the optimum is {best:.6g}"
    )


def _impostor(bench: Bench, problem: Formulation, impostor: Formulation, what: str) -> str:
    answer = bench.solve(problem)
    return _no_better(bench, answer, primal_at(problem, bench.reference(impostor)), what)


def _variants(
    bench: Bench, problem: Formulation, variants: dict[str, Formulation], ratio: float = 1.0
) -> str:
    """Return which variant is not answered as the problem itself is."""
    first = bench.solve(problem)
    if bench.objection(first):
        raise NotJudged("its answer to the problem itself is wrong already")
    for what, variant in variants.items():
        second = bench.solve(variant)
        wrong = bench.objection(second) or disjoint(first.certificate, second.certificate, ratio)
        if wrong:
            return f"{what} it {wrong}"
        before, after = bench.excess(first), bench.excess(second)
        if not after <= _WORSE * before + _SLACK:
            return f"{what} its answer is {after:.2g} above the optimum, before {before:.2g}"
    return ""


def disjoint(first: Certificate, second: Certificate, ratio: float) -> str:
    """Return an objection if `ratio` times the first interval [dual, primal] misses the second one."""
    lower, upper = ratio * first.dual_objective, ratio * first.primal_objective
    slack = _ROUNDING * max(abs(lower), abs(upper))
    if lower - slack <= second.primal_objective and second.dual_objective <= upper + slack:
        return ""
    return (
        f"has certified intervals [{lower:.6g}, {upper:.6g}] and "
        f"[{second.dual_objective:.6g}, {second.primal_objective:.6g}] that do not overlap"
    )
