"""How a run may end: one table of outcomes, which every summary, page and figure reads.

An outcome is a verdict, or the status of a run that did not come to an end of its own, or one of two
words of reports for runs that are no failures: `at_its_tolerance` and `floor`.
"""

from __future__ import annotations

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
    final: bool = False
    fails: bool = False
    ran: bool = True

    @property
    def text(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ")


_LILAC, _AMBER, _WHITE = "#DDBBD5", "#F7D488", "#FFFFFF"
_KINDS = (  # worst first, but for those that are final: what else there is, is worse
    OutcomeKind(
        "wrong",
        "claimed optimal or infeasible although the certificate proves otherwise",
        *("✗", "#F0986B"),
        fails=True,
    ),
    OutcomeKind("crashed", "the process died or raised an exception", "†", _LILAC, fails=True),
    OutcomeKind(
        "diverged", "the iterates grew without bound or became NaN", "∞", _LILAC, fails=True
    ),
    OutcomeKind(
        "out_of_memory",
        "the run needed more memory than its limit, or than the machine has",
        *("M", _LILAC),
        fails=True,
    ),
    OutcomeKind(
        "time_limit",
        "stopped at the time limit, with an answer outside the target gap",
        *("T", _AMBER),
    ),
    OutcomeKind(
        "max_iter",
        "stopped at its own iteration limit, with an answer outside the target gap",
        *("I", _AMBER),
    ),
    OutcomeKind(
        "uncertified",
        "a bound is missing, so the quality of the answer is unknown",
        *("?", "#DDDDDD"),
    ),
    OutcomeKind(
        "inaccurate", "stopped by itself, certified with a gap above the target", "≈", _AMBER
    ),
    OutcomeKind("solved", "certified within the target gap", "✓", "#8FD3BF", final=True),
    OutcomeKind("infeasible", "proven to have no solution", "∅", "#B5DDF4", final=True),
    OutcomeKind(
        "at_its_tolerance",
        "stopped at the accuracy that it was asked for, with a gap above the target",
        *("≈", _AMBER),
    ),
    OutcomeKind(
        "unsupported",
        "the solver cannot take this problem, or there is none; the run's reason says why",
        *("–", _WHITE),
        ran=False,
    ),
    OutcomeKind("not_installed", "the library is not installed here", "N", _WHITE, ran=False),
    OutcomeKind(
        "floor", "not a solver, but a measured lower bound on time for this machine", "", _WHITE
    ),
)
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
