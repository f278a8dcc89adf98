"""Families of problems, by how they differ from the simplest one, the soft margin with an intercept.

A solver that is right on all problems outside a family, and wrong on every one inside it, does not
support that family. The report is then one sentence about its `refuses`, not a fault in its algorithm.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cache

from dualgap.experiments.selftest.outcome import Property, PropertyOutcome, not_supported
from dualgap.experiments.selftest.problems import PROBLEMS
from dualgap.problems import ChainMargin, Risk


@dataclass(frozen=True)
class Family:
    """Problems that a solver can refuse by one condition.

    Attributes
    ----------
    name : as in "it does not support regression".
    contains : whether a problem belongs to it, by its risk or that of its first part; None for the
        margin of sequences.
    conditions : Python expressions for `refuses`, by class name of the form.
    """

    name: str
    contains: Callable[[Risk | None], bool]
    conditions: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)


FAMILIES = (
    Family(
        "problems without an intercept",
        lambda risk: risk is None or not risk.costs.size,
        {"BoxQP": "form.a is None", "KernelQP": "not form.sums.size", "ERM": "not form.intercept"},
    ),
    Family(
        "regression",
        lambda risk: risk is not None and risk.loss.is_regression,
        {
            "BoxQP": "(form.p != -1).any()",
            "KernelQP": "(abs(form.q) != 1).any()",
            "ERM": "form.loss.is_regression",
        },
    ),
    Family(
        "hard margins",
        lambda risk: risk is not None and risk.is_hard,
        {
            "BoxQP": "not form.is_bounded",
            "KernelQP": "not form.is_bounded",
            "ERM": "not np.isfinite(form.C).all()",
        },
    ),
    Family(
        "machines with nu",
        lambda risk: risk is not None and (risk.groups is not None or bool(risk.costs.any())),
        {"BoxQP": "form.delta.any()", "KernelQP": "form.sums.any()"},
    ),
    Family(
        "smooth losses",
        lambda risk: risk is None or risk.terms is None,
        {"ERM": "form.loss.name != 'hinge'"},
    ),
)


@cache
def families_of(problem: str) -> frozenset[Family]:
    """Return the families of a problem in `PROBLEMS`; none for a soft margin with an intercept."""
    built = PROBLEMS[problem]().parts[0].problem
    risk = None if isinstance(built, ChainMargin) else built.risk
    return frozenset(family for family in FAMILIES if family.contains(risk))


def without_families(item: Property, names: Set[str]) -> Property:
    """Return the property restricted to problems outside these families."""
    problems = [
        problem
        for problem in item.problems
        if names.isdisjoint(family.name for family in families_of(problem))
    ]
    return replace(item, problems=tuple(problems))


def with_unsupported(outcome: PropertyOutcome, passed: Set[str]) -> PropertyOutcome:
    """Return the outcome with one sentence per family that the solver evidently does not support.

    There is none if the solver fails on a problem outside all families, which is more serious.

    Parameters
    ----------
    passed : names of the problems that passed, in this and in earlier properties.
    """
    unsupported: dict[Family, str] = {}
    if passed and all(families_of(name) for name in outcome.failures if name in PROBLEMS):
        for family in FAMILIES:
            other_families = {*FAMILIES} - {family, *unsupported}
            exclusive = [
                name
                for name in outcome.attempted
                if family in families_of(name) and other_families.isdisjoint(families_of(name))
            ]
            if exclusive and outcome.failures.keys() >= set(exclusive):
                unsupported[family] = _sentence(family, outcome, exclusive[0])
    refusals = {
        name: not_supported(family.name)
        for family in unsupported
        for name in outcome.failures
        if family in families_of(name)
    }
    return replace(
        outcome,
        attempted=tuple(name for name in outcome.attempted if name not in refusals),
        failures={k: wrong for k, wrong in outcome.failures.items() if k not in refusals},
        unsupported={**outcome.unsupported, **refusals},
        families={family.name: sentence for family, sentence in unsupported.items()},
        diagnoses=tuple(pair for pair in outcome.diagnoses if pair[0] not in refusals),
    )


def _sentence(family: Family, outcome: PropertyOutcome, problem: str) -> str:
    refusal = f'return "{outcome.solver_class} does not support {family.name}"'
    condition = family.conditions.get(outcome.form)
    code = f"if {condition}: {refusal}" if condition else refusal
    return (
        f"It does not support {family.name}. {outcome.name} on {problem}: {outcome.failures[problem]}. "
        f"State it in `refuses(self, form)`, as in `{code}`, or fix the solver for them."
    )
