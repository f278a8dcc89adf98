"""Properties of the optimum that theory predicts.

They are tested in two ways, both by certified bounds and without trusting any solver:

- the *impostor*, a similar but wrong problem (C ignored, no intercept, a mean for the sum): on the
  given problem an answer must be clearly better than the impostor's optimum;
- the *variant*, an equivalent problem (permuted, flipped, duplicated, scaled, shifted) whose optimum is
  `ratio` times the first: the certified intervals must overlap, claims must hold, and it must be solved
  about as accurately as the first.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap.experiments.selftest.bench import Bench, NotJudged, changed, primal_at
from dualgap.problems import RBF, Certificate, Formulation, Point, certify


def slack_weight(bench: Bench, problem: Formulation) -> str:
    """For each C, its answer is better than that for another C."""
    answers = {C: bench.solve(changed(problem, C=C)) for C in (0.01, 10.0)}
    for C, other in ((0.01, 10.0), (10.0, 0.01)):
        elsewhere = primal_at(answers[C].problem, answers[other])
        wrong = _no_better(bench, answers[C], elsewhere, f"the answer for C={other:g}")
        if wrong:
            return f"at C={C:g} {wrong}"
    return ""


def slack_weights(bench: Bench, problem: Formulation) -> str:
    """The C of every sample is used: the impostor has the mean for all."""
    C = np.where(problem.y > 0, 2.0, 0.02) * np.random.default_rng(2).uniform(0.5, 1.5, problem.n)
    mean = changed(problem, C=float(C.mean()))
    return _impostor(bench, changed(problem, C=C), mean, "one C for all samples")


def sum_not_mean(bench: Bench, problem: Formulation) -> str:
    """The losses are summed: the impostor takes their mean, which is C/n."""
    mean = changed(problem, C=vars(problem)["C"] / problem.n)
    return _impostor(bench, problem, mean, "the mean of the losses instead of their sum")


def intercept(bench: Bench, problem: Formulation) -> str:
    """The answer has an intercept if and only if the problem has one."""
    other = changed(problem, intercept=not problem.intercept)
    name = "a machine without the intercept" if problem.intercept else "a machine with an intercept"
    return _impostor(bench, problem, other, name)


def nu_property(bench: Bench, problem: Formulation) -> str:
    """At most a fraction ν of the samples are at the upper bound, and at least ν are support vectors.

    The answer is tested as returned: after projection every answer has the right sums.
    """
    alpha = bench.solve(problem).point.alpha
    if alpha is None:
        return "it returns no multipliers"
    nu, size = float(problem.nu), np.abs(alpha) / problem.risk.C  # type: ignore[attr-defined]
    rtol = 1e-4  # interior points never touch a bound
    bounded, support = np.mean(size >= 1 - rtol), np.mean(size > rtol)
    if bounded > nu + 1 / problem.n:
        return f"a fraction {bounded:.2g} of the samples are at the upper bound, nu is {nu:g}"
    if support < nu - 1 / problem.n:
        return f"a fraction {support:.2g} of the samples are support vectors, nu is {nu:g}"
    return ""


def sign(bench: Bench, problem: Formulation) -> str:
    """The answer is better than w = 0: a wrong sign leads uphill."""
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
        name: changed(problem, X=problem.X[order], y=problem.y[order])
        for name, order in orders.items()
    }
    return _variants(bench, problem, variants)


def label_flip(bench: Bench, problem: Formulation) -> str:
    """Flipping the sign of y gives −w and the same optimal value."""
    return _variants(bench, problem, {"with flipped labels": changed(problem, y=-problem.y)})


def duplication(bench: Bench, problem: Formulation) -> str:
    """Duplicating every sample is equivalent to doubling C."""
    doubled = changed(problem, C=2.0 * vars(problem)["C"])
    twice = changed(problem, X=np.vstack([problem.X] * 2), y=np.tile(problem.y, 2))
    return _variants(bench, doubled, {"with every sample twice instead of 2C": twice})


def scaling(bench: Bench, problem: Formulation) -> str:
    """X → sX with C → C/s² divides the optimum by s²; with an RBF kernel gamma → gamma/s² keeps it."""
    for s in (8.0, 1.0 / 8.0):  # exact in floating point
        if isinstance(problem.kernel, RBF):
            kernel = RBF(problem.kernel.gamma / s**2)
            variant, ratio = changed(problem, X=s * problem.X, kernel=kernel), 1.0
        else:
            variant, ratio = (
                changed(problem, X=s * problem.X, C=vars(problem)["C"] / s**2),
                1.0 / s**2,
            )
        wrong = _variants(bench, problem, {f"with X times {s:g}": variant}, ratio)
        if wrong:
            return wrong
    return ""


def shift(bench: Bench, problem: Formulation) -> str:
    """X → X + v does not change the optimum: the intercept, or the RBF kernel, absorbs v."""
    moved = changed(problem, X=problem.X + np.linspace(-3.0, 3.0, problem.d))
    return _variants(bench, problem, {"with shifted samples": moved})


def storage(bench: Bench, problem: Formulation) -> str:
    """Sparse storage of the samples does not change the answer."""
    return _variants(bench, problem, {"with sparse X": changed(problem, X=sp.csr_array(problem.X))})


def _no_better(bench: Bench, answer: Any, other: float, source: str) -> str:
    """Return an objection if an answer is closer to the value `other`, of `source`, than optimal."""
    best = bench.reference(answer.problem).certificate.primal_objective
    value = answer.certificate.primal_objective
    if value <= 0.5 * (best + other):
        return ""
    return (
        f"its primal value {value:.6g} is not clearly better than that of {source} ({other:.6g}); "
        f"the optimum is {best:.6g}"
    )


def _impostor(bench: Bench, problem: Formulation, impostor: Formulation, name: str) -> str:
    answer = bench.solve(problem)
    return _no_better(bench, answer, primal_at(problem, bench.reference(impostor)), name)


def _variants(
    bench: Bench, problem: Formulation, variants: dict[str, Formulation], ratio: float = 1.0
) -> str:
    """Return an objection to the first variant that is solved worse than the problem itself."""
    first = bench.solve(problem)
    if bench.objection(first):
        raise NotJudged("its answer to the original problem is already wrong")
    for name, variant in variants.items():
        second = bench.solve(variant)
        wrong = bench.objection(second) or disjoint(first.certificate, second.certificate, ratio)
        if wrong:
            return f"{name} it {wrong}"
        before, after = bench.excess(first), bench.excess(second)
        if not after <= 10.0 * before + 0.05:
            return f"{name} its answer is {after:.2g} above the optimum, originally {before:.2g}"
    return ""


def disjoint(first: Certificate, second: Certificate, ratio: float) -> str:
    """Return an objection if `ratio` times the first interval does not overlap the second."""
    lower, upper = ratio * first.dual_objective, ratio * first.primal_objective
    slack = 1e-9 * max(abs(lower), abs(upper))  # rounding
    if lower - slack <= second.primal_objective and second.dual_objective <= upper + slack:
        return ""
    return (
        f"has certified intervals [{lower:.6g}, {upper:.6g}] and "
        f"[{second.dual_objective:.6g}, {second.primal_objective:.6g}] that do not overlap"
    )
