"""How a run can end: one table of outcomes, which every summary, page and figure reads.

An outcome is a verdict, the status of a run that did not finish on its own, or one of two values that
only reports use, for runs that did not fail: `stopped_at_tolerance` and `dense_reference`. The reason
for stopping says what ended the solver, however good its answer is.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

DENSE_REFERENCE = "dense_reference"  # runs of experiments/floor.py; also their kind of solver


class OutcomeKind(NamedTuple):
    """Meaning and appearance of an outcome.

    Attributes
    ----------
    sign, colour : how figures show it.
    final : whether it settles the problem. fails : whether one such run fails a command.
    ran : whether a solver was started.
    """

    name: str
    sign: str
    colour: str
    meaning: str
    final: bool = False
    fails: bool = False
    ran: bool = True

    @property
    def text(self) -> str:
        """The name with spaces."""
        return self.name.replace("_", " ")


# worst first among those that are not final, which are all worse than the final ones
_KINDS = [
    OutcomeKind(
        "wrong",
        "✗",
        "#F0986B",
        "claimed optimal or infeasible although the certificate proves otherwise",
        fails=True,
    ),
    OutcomeKind("crashed", "†", "#DDBBD5", "the process died or raised an exception", fails=True),
    OutcomeKind(
        "diverged", "∞", "#DDBBD5", "the iterates grew without bound or became NaN", fails=True
    ),
    OutcomeKind(
        "out_of_memory",
        "M",
        "#DDBBD5",
        "the run needed more memory than its limit, or than the machine has",
        fails=True,
    ),
    OutcomeKind(
        "time_limit",
        "T",
        "#F7D488",
        "stopped at the time limit, with an answer outside the target gap",
    ),
    OutcomeKind(
        "max_iter",
        "I",
        "#F7D488",
        "stopped at its own iteration limit, with an answer outside the target gap",
    ),
    OutcomeKind(
        "uncertified", "?", "#DDDDDD", "a bound is missing, so the quality of the answer is unknown"
    ),
    OutcomeKind(
        "inaccurate", "≈", "#F7D488", "stopped on its own, certified with a gap above the target"
    ),
    OutcomeKind("solved", "✓", "#8FD3BF", "certified within the target gap", final=True),
    OutcomeKind("infeasible", "∅", "#B5DDF4", "proven to have no solution", final=True),
    OutcomeKind(
        "stopped_at_tolerance",
        "≈",
        "#F7D488",
        "stopped at the requested accuracy, with a gap above the target",
    ),
    OutcomeKind(
        "unsupported",
        "–",
        "#FFFFFF",
        "the solver cannot handle this problem, or the problem cannot be built; the run's reason says "
        "why",
        ran=False,
    ),
    OutcomeKind("not_installed", "N", "#FFFFFF", "the library is not installed here", ran=False),
    OutcomeKind(
        DENSE_REFERENCE,
        "",
        "#FFFFFF",
        "not a solver: the time of dense kernel values on this machine",
    ),
]
OUTCOMES = {kind.name: kind for kind in _KINDS}
FINAL = [kind.name for kind in _KINDS if kind.final]
FAILING = [kind.name for kind in _KINDS if kind.fails]
NOT_RUN = [kind.name for kind in _KINDS if not kind.ran]
COMPLETED = ("finished", "infeasible")  # statuses of runs that timed the whole algorithm
# a closed vocabulary: values of the column `stop_reason`
STOP_REASONS = {
    "tolerance_reached": "the solver claims that it reached its tolerance",
    "gap_reached": "it ended by itself without a claim, at a point certified within the target gap",
    "no_claim": "it ended by itself without a claim, outside the target gap: without further "
    "progress, at a limit inside its library, or because it never claims an optimum",
    "iteration_limit": "it reached max_iter, or the end of its epochs",
    "time_limit": "it was stopped or killed at the time limit",
    "memory_limit": "it needed more memory than its limit, or than the machine has",
    "infeasible": "it claims, or the certificate proves, that there is no optimum",
    "diverged": "its iterates grew without bound or became NaN",
    "error": "the process died or raised an exception",
    "unsupported": "the solver cannot handle this problem, or the problem cannot be built",
    "not_installed": "the library is not installed here",
}
_RANKS = {name: (OUTCOMES[name].final, rank) for rank, name in enumerate(OUTCOMES)}


def outcome_of(status: Any, verdict: Any) -> str:
    """Return a run's outcome: its verdict if decisive or if the run completed, else its status."""
    decided = verdict == "wrong" or verdict in FINAL
    return str(verdict if decided or status in COMPLETED else status)


def stop_reason(run: Mapping[Any, Any]) -> str:
    """Return why a run stopped, a key of `STOP_REASONS`, from the columns of its record."""
    status, claimed = run["status"], run["claimed"]
    if status != "finished":
        other_names = {"max_iter": "iteration_limit", "out_of_memory": "memory_limit"}
        reason = other_names.get(status, status)
        return reason if reason in STOP_REASONS else "error"
    if claimed in ("optimal", "infeasible", "unbounded"):
        return "tolerance_reached" if claimed == "optimal" else "infeasible"
    if claimed == "stopped" and _limit_reached(run["params"], run["iterations"]):
        return "iteration_limit"
    return "gap_reached" if run["relative_gap"] <= run["target_gap"] else "no_claim"


def _limit_reached(params: Any, iterations: float) -> bool:
    """Whether a solver with these settings, as JSON, has made all iterations that they allow."""
    try:
        settings = dict(json.loads(params))
        return bool(settings.get("epochs")) or iterations >= float(settings["max_iter"])
    except (KeyError, TypeError, ValueError):  # without a limit, or not as a record has them
        return False


def worst(outcomes: Iterable[str]) -> str:
    """Return the worst outcome."""
    return min(outcomes, key=_RANKS.__getitem__)
