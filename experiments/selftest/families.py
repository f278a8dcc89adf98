"""Families of problems: how each differs from the simplest one, the soft margin with an intercept.

A solver that is right on all problems outside a family, and wrong on every one inside it, was not
written for that family. This is one sentence, which says what its `refuses` has to test, and no fault
of any step of its algorithm.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from dualgap.experiments.selftest.outcome import Outcome, Property, not_supported
from dualgap.experiments.selftest.problems import PROBLEMS
from dualgap.problems import Formulation


@dataclass(frozen=True)
class Family:
    """Problems that a solver can refuse by one condition.

    Attributes
    ----------
    name : as in "it does not support regression".
    contains : whether a problem is in it.
    conditions : Python expressions for `refuses`, by the name of the form's class.
    """

    name: str
    contains: Callable[[Formulation], bool]
    conditions: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)


FAMILIES = (
    Family(
        "problems without an intercept",
        lambda problem: not problem.intercept,
        {"BoxQP": "form.a is None", "ERM": "not form.intercept"},
    ),
    Family(
        "regression",
        lambda problem: problem.loss.is_regression,
        {"BoxQP": "(form.p != -1).any()", "ERM": "form.loss.is_regression"},
    ),
    Family(
        "hard margins",
        lambda problem: not np.isfinite(problem.upper).all() and problem.pieces is not None,
        {"BoxQP": "not np.isfinite(form.ub).all()", "ERM": "not np.isfinite(form.C).all()"},
    ),
    Family(
        "machines with nu",
        lambda problem: problem.groups is not None or bool(problem.costs.any()),
        {"BoxQP": "form.delta.any()"},
    ),
    Family(
        "smooth losses",
        lambda problem: problem.pieces is None,
        {"ERM": "form.loss.name != 'hinge'"},
    ),
)


@cache
def families_of(problem: str) -> frozenset[Family]:
    """Return the families of a problem in `PROBLEMS`; none for a soft margin with an intercept."""
    built = PROBLEMS[problem]()
    return frozenset(family for family in FAMILIES if family.contains(built))


def without_families(item: Property, names: Set[str]) -> Property:
    """Return the property on those of its problems that are in no family of these names."""
    problems = [
        problem
        for problem in item.problems
        if names.isdisjoint(family.name for family in families_of(problem))
    ]
    return replace(item, problems=tuple(problems))


def with_unsupported(outcome: Outcome, passed: Set[str]) -> Outcome:
    """Return the outcome with one sentence per family that the solver evidently does not support.

    There are none if the solver fails on a problem that is in no family: then that comes first.

    Parameters
    ----------
    passed : names of the problems that the solver was right on, in this and in earlier properties.
    """
    unsupported: dict[Family, str] = {}
    if passed and all(families_of(name) for name in outcome.failures if name in PROBLEMS):
        for family in FAMILIES:
            others = {*FAMILIES} - {family, *unsupported}
            alone = [
                name
                for name in outcome.tried
                if family in families_of(name) and others.isdisjoint(families_of(name))
            ]
            if alone and outcome.failures.keys() >= set(alone):
                unsupported[family] = _sentence(family, outcome, alone[0])
    refusals = {
        name: not_supported(family.name)
        for family in unsupported
        for name in outcome.failures
        if family in families_of(name)
    }
    return replace(
        outcome,
        tried=tuple(name for name in outcome.tried if name not in refusals),
        failures={k: wrong for k, wrong in outcome.failures.items() if k not in refusals},
        unsupported={**outcome.unsupported, **refusals},
        families={family.name: sentence for family, sentence in unsupported.items()},
        diagnoses=tuple(pair for pair in outcome.diagnoses if pair[0] not in refusals),
    )


def _sentence(family: Family, outcome: Outcome, problem: str) -> str:
    refusal = f'return "{outcome.solver_class} does not support {family.name}"'
    condition = family.conditions.get(outcome.form)
    code = f"if {condition}: {refusal}" if condition else refusal
    return (
        f"It does not support {family.name}. {outcome.name} on {problem}: {outcome.failures[problem]}. "
        f"State it in `refuses(self, form)`, as in `{code}`, or mend the solver for them."
    )
