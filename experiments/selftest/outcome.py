"""Properties of a selftest, and their outcomes."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dualgap.problems import Formulation
from dualgap.problems.answers.diagnosis import Diagnosis

Result = Literal["passed", "failed", "unsupported", "not run"]


@dataclass(frozen=True)
class Property:
    """A property that every solver must have.

    Attributes
    ----------
    check : called with the bench and each problem, returns an objection or ""; its docstring is shown.
    problems : names in `problems.PROBLEMS`.
    fresh : whether it needs a process in which the solver has not run yet.
    basic : whether all other properties depend on it; it ends at its first failure.
    decides : whether failing on all problems of a family means that the solver does not support it.
    """

    name: str
    check: Callable[[Any, Formulation], str]
    problems: tuple[str, ...]
    fresh: bool = False
    basic: bool = False
    decides: bool = False


@dataclass(frozen=True)
class PropertyOutcome:
    """The outcome of one property.

    Attributes
    ----------
    attempted, unsupported : names of problems; the latter with the solver's message.
    failures : objections, by problem.
    families : by unsupported family of problems, a sentence with advice.
    reason : why it was not run.
    digests : of the answers, by problem, to compare with those of another process.
    hung : whether the process was killed for exceeding its time.
    loaded : whether the solver could be imported and built.
    diagnoses : of wrong answers, each with the name of the problem.
    form, solver_class : class names of the solver and its form.
    """

    name: str
    result: Result
    attempted: tuple[str, ...] = ()
    unsupported: Mapping[str, str] = field(default_factory=dict[str, str])
    failures: Mapping[str, str] = field(default_factory=dict[str, str])
    families: Mapping[str, str] = field(default_factory=dict[str, str])
    reason: str = ""
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    hung: bool = False
    loaded: bool = True
    diagnoses: tuple[tuple[str, Diagnosis], ...] = ()
    form: str = ""
    solver_class: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Faults, one sentence per unsupported family and per failure."""
        failures = (f"{self.name} on {problem}: {text}" for problem, text in self.failures.items())
        return (*self.families.values(), *failures)


def not_supported(family: str) -> str:
    """Return why a problem of this family is not judged."""
    return f"it does not support {family}"


@dataclass(frozen=True)
class Report:
    """All outcomes for one solver."""

    solver: str
    outcomes: tuple[PropertyOutcome, ...]

    @property
    def solved_something(self) -> bool:
        """Whether any problem was tried."""
        return any(outcome.attempted for outcome in self.outcomes)

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the properties that failed."""
        return tuple(o.name for o in self.outcomes if o.result == "failed")

    @property
    def diagnoses(self) -> tuple[tuple[str, Diagnosis], ...]:
        """Diagnoses of wrong answers in the failed properties, each with its problem."""
        return tuple(d for o in self.outcomes if o.result == "failed" for d in o.diagnoses)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Faults, one sentence each; empty for a solver that conforms."""
        if not self.solved_something and not self.failed:
            refusals = [text for o in self.outcomes for text in o.unsupported.values()]
            reason = refusals[0] if refusals else "no problem was tried"
            return (f"solved nothing: it refuses every problem ({reason})",)
        failures = tuple(t for o in self.outcomes if o.result == "failed" for t in o.sentences)
        return (*failures, *self.not_tried)

    @property
    def not_tried(self) -> tuple[str, ...]:
        """Numbers of properties that were not tried, one phrase per reason."""
        reasons = Counter(o.reason for o in self.outcomes if o.result == "not run")
        return tuple(f"{count} were not tried, as {why}" for why, count in reasons.items())

    @property
    def passed(self) -> bool:
        """Whether the solver conforms: it solved something, and no property failed or was skipped."""
        return not self.sentences
