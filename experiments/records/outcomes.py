"""How a run may end: one table of outcomes, which every summary, page and figure reads.

An outcome is a verdict, or the status of a run that did not come to an end of its own, or one of two
words of reports for runs that are no failures: `at_its_tolerance` and `floor`.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple


class OutcomeKind(NamedTuple):
    """What an outcome means, and how it is shown.

    Attributes
    ----------
    sign, colour : in a figure.
    final : whether it settles the problem. fails : whether one such run fails a command.
    ran : whether a solver was started.
    """

    name: str
    meaning: str
    sign: str
    colour: str
    final: bool
    fails: bool
    ran: bool

    @property
    def text(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ")


# worst first, but for those that are final: what else there is, is worse
_TABLE = """
wrong | ✗ | #F0986B | fails | claimed optimal or infeasible although the certificate proves otherwise
crashed | † | #DDBBD5 | fails | the process died or raised an exception
diverged | ∞ | #DDBBD5 | fails | the iterates grew without bound or became NaN
out_of_memory | M | #DDBBD5 | fails | the run needed more memory than its limit, or than the machine has
time_limit | T | #F7D488 | | stopped at the time limit, with an answer outside the target gap
max_iter | I | #F7D488 | | stopped at its own iteration limit, with an answer outside the target gap
uncertified | ? | #DDDDDD | | a bound is missing, so the quality of the answer is unknown
inaccurate | ≈ | #F7D488 | | stopped by itself, certified with a gap above the target
solved | ✓ | #8FD3BF | final | certified within the target gap
infeasible | ∅ | #B5DDF4 | final | proven to have no solution
at_its_tolerance | ≈ | #F7D488 | | stopped at the accuracy that it was asked for, with a gap above
    the target
unsupported | – | #FFFFFF | not run | the solver cannot take this problem, or there is none; the
    run's reason says why
not_installed | N | #FFFFFF | not run | the library is not installed here
floor | | #FFFFFF | | not a solver, but a measured reference time of this machine
"""
_ROWS = [line.split("|") for line in _TABLE.replace("\n    ", " ").strip().splitlines()]
_KINDS = [
    OutcomeKind(name, meaning, sign, colour, kind == "final", kind == "fails", kind != "not run")
    for name, sign, colour, kind, meaning in (map(str.strip, row) for row in _ROWS)
]
OUTCOMES = {kind.name: kind for kind in _KINDS}
FINAL = [kind.name for kind in _KINDS if kind.final]
FAILING = [kind.name for kind in _KINDS if kind.fails]
NOT_RUN = [kind.name for kind in _KINDS if not kind.ran]
COMPLETED = ("finished", "infeasible")  # statuses of runs whose time is that of the whole algorithm
_PLACES = {name: (OUTCOMES[name].final, place) for place, name in enumerate(OUTCOMES)}


def outcome_of(status: Any, verdict: Any) -> str:
    """Return the outcome of a run: a verdict that settles it, else how it ended if it was cut short."""
    decided = verdict == "wrong" or verdict in FINAL
    return str(verdict if decided or status in COMPLETED else status)


def worst(outcomes: Iterable[str]) -> str:
    """Return the worst of some outcomes."""
    return min(outcomes, key=_PLACES.__getitem__)


def targets_above(least: float) -> list[float]:
    """Return the relative gaps at which solvers are compared: those above the least, and that one."""
    return [target for target in (1e-3, 1e-6, 1e-9) if target > least] + [least]
