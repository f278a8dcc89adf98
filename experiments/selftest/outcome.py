"""Questions and answers of a selftest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from problems import Formulation
from problems.answers.diagnosis import Diagnosis

Result = Literal["passed", "failed", "unsupported", "not run"]


@dataclass(frozen=True)
class Property:
    """Something that must hold of every solver.

    Attributes
    ----------
    check : called with the bench and each problem, returns what is wrong; it explains itself.
    problems : names in `problems.PROBLEMS`.
    fresh : whether it needs a process in which the solver has done nothing yet.
    basic : whether nothing else can be judged without it.
    """

    name: str
    check: Callable[[Any, Formulation], str]
    problems: tuple[str, ...]
    fresh: bool = False
    basic: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of one property.

    Attributes
    ----------
    tried, unsupported : names of problems; the latter with the solver's sentence.
    sentences : one for each failure: the property, the problem, the numbers; or why it was not run.
    digests : of the answers, by problem, to compare with those of another process.
    hung : whether the process had to be killed for time.
    loaded : whether the solver could be imported and built.
    diagnoses : of the answers that were wrong.
    """

    name: str
    result: Result
    tried: tuple[str, ...] = ()
    unsupported: Mapping[str, str] = field(default_factory=dict[str, str])
    sentences: tuple[str, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    hung: bool = False
    loaded: bool = True
    diagnoses: tuple[Diagnosis, ...] = ()


@dataclass(frozen=True)
class Report:
    """All outcomes for one solver."""

    solver: str
    outcomes: tuple[Outcome, ...]

    @property
    def solved_something(self) -> bool:
        """Whether any problem was tried at all."""
        return any(outcome.tried for outcome in self.outcomes)

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the properties that failed."""
        return tuple(o.name for o in self.outcomes if o.result == "failed")

    @property
    def diagnoses(self) -> tuple[Diagnosis, ...]:
        """What was wrong with answers, in the properties that failed."""
        return tuple(d for o in self.outcomes if o.result == "failed" for d in o.diagnoses)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What went wrong, a sentence each; empty for a solver that conforms."""
        if not self.solved_something and not self.failed:
            refusals = [text for o in self.outcomes for text in o.unsupported.values()]
            reason = refusals[0] if refusals else "no problem was tried"
            return (f"solved nothing: it refuses every problem ({reason})",)
        failures = tuple(t for o in self.outcomes if o.result == "failed" for t in o.sentences)
        left_out: dict[str, list[str]] = {}
        for outcome in self.outcomes:
            for why in outcome.sentences if outcome.result == "not run" else ():
                left_out.setdefault(why, []).append(outcome.name)
        reasons = (f"not run, as {why}: {', '.join(names)}" for why, names in left_out.items())
        return (*failures, *reasons)

    @property
    def passed(self) -> bool:
        """Whether the solver conforms: it solved something, and nothing failed or was left out."""
        return not self.sentences
