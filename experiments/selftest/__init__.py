"""Test whether a solver can be trusted: `dualgap selftest NAME|FILE:CLASS`.

This is the plan: which properties are tried on which problems, in this order. A solver is tried at its
default settings, in a separate process, and judged by certificates. Refused problems are listed, but
only count as a fault if it refuses everything. The gravest faults come first; if a basic property
fails, nothing else is tried. Every property begins with the simplest problem. A family of problems that
the solver evidently does not support, without refusing it, is one fault, and is then skipped.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from dualgap.experiments.selftest import behaviour, claims, clock, theory
from dualgap.experiments.selftest.families import with_unsupported, without_families
from dualgap.experiments.selftest.limits import Limits
from dualgap.experiments.selftest.outcome import Property, PropertyOutcome, Report
from dualgap.experiments.selftest.problems import (
    ALL,
    DEGENERATE,
    HARDEST_FIRST,
    INFEASIBLE,
    KERNEL,
    NU,
    OFF_CENTRE,
    PLAIN,
    REGRESSION,
    SOFT,
)
from dualgap.experiments.selftest.workers import Workers, compile_references
from dualgap.problems.registry import class_names, is_user_class
from dualgap.solvers import find_solver

# in the order of gravity: first basic properties, then faults that make every time or answer worthless,
# answers to another problem, false claims on degenerate data, and minor ones
PROPERTIES = (
    Property("answers", behaviour.answers, (*ALL,), basic=True, decides=True),
    Property("terminates", behaviour.terminates, (*ALL,), basic=True, decides=True),
    Property("claims", claims.claims, (*ALL,), decides=True),
    Property("inputs unchanged", behaviour.inputs_unchanged, (*ALL,)),
    Property("no untimed work", clock.no_untimed_work, (*SOFT,)),
    Property("other data", clock.other_data, (*SOFT, "regression rbf C=1")),
    Property(
        "global state",
        behaviour.global_state,
        (*SOFT, "sparse linear C=1, no intercept"),
        fresh=True,
    ),
    Property("infeasibility", claims.infeasibility, (*INFEASIBLE,)),
    Property("C", theory.slack_weight, (*SOFT, *REGRESSION)),
    Property("C per sample", theory.slack_weights, (*SOFT,)),
    Property("sum, not mean", theory.sum_not_mean, (*SOFT,)),
    Property("intercept", theory.intercept, (*OFF_CENTRE,)),
    Property("nu", theory.nu_property, (*NU,), decides=True),
    Property("sign", theory.sign, (*PLAIN,)),
    Property("permutation", theory.permutation, (*HARDEST_FIRST,)),
    Property("label flip", theory.label_flip, (*SOFT, *REGRESSION)),
    Property("duplication", theory.duplication, (*SOFT, *REGRESSION)),
    Property("scaling", theory.scaling, (*SOFT,)),
    Property("shift", theory.shift, ("two_gaussians linear C=1", *KERNEL)),
    Property("storage", theory.storage, (*SOFT,)),
    *(Property(name, claims.honest, (*problems,)) for name, problems in DEGENERATE.items()),
    Property("deterministic", behaviour.deterministic, (*ALL,), fresh=True),
    Property("stateless", behaviour.stateless, (*SOFT,)),
    Property("time limit", behaviour.time_limit, (*SOFT,)),
    Property("max_iter", behaviour.max_iter, (*SOFT, *REGRESSION)),
)


def properties(names: Sequence[str] = ()) -> tuple[Property, ...]:
    """Return the properties with these names, or all; ValueError for an unknown name."""
    unknown = set(names) - {item.name for item in PROPERTIES}
    if unknown:
        names_text = ", ".join(item.name for item in PROPERTIES)
        raise ValueError(f"unknown property {', '.join(sorted(unknown))}; there are {names_text}")
    return tuple(item for item in PROPERTIES if not names or item.name in names)


def try_solver(
    solver: str,
    limits: Limits | None = None,
    properties: Sequence[Property] = PROPERTIES,
    progress: Callable[[PropertyOutcome], object] | None = None,
) -> Report:
    """Try `solver` on `properties`, in worker processes that it may ruin, and return the outcomes.

    Parameters
    ----------
    solver : a name, or `path/to/file.py:ClassName`.
    limits : seconds of CPU time, for solvers that hang.
    properties : those of `PROPERTIES` to try; "deterministic" needs "answers" before it.
    progress : called with each outcome.

    Raises
    ------
    ValueError
        If there is no such solver, file or class.
    """
    check_name(solver)
    limits = limits or Limits()
    outcomes, digests, hung, stopped = list[PropertyOutcome](), dict[str, str](), list[str](), ""
    passed, unsupported, compiled = set[str](), set[str](), False
    with closing(Workers(solver, limits)) as workers:
        for item in properties:
            if not stopped and workers.remaining_s <= 0:
                stopped = f"the {limits.total:.0f} s of a selftest were used up"
            if stopped:
                outcome = PropertyOutcome(item.name, "not run", reason=stopped)
            else:
                if not (item.basic or compiled):
                    compile_references()
                    compiled = True
                supported = without_families(item, unsupported)
                deadline = limits.each if outcomes else limits.first
                outcome = workers.check(supported, digests, deadline)
                if item.decides:
                    passed |= set(outcome.attempted) - outcome.failures.keys()
                    outcome = with_unsupported(outcome, passed)
                    unsupported |= outcome.families.keys()
                digests |= outcome.digests
                hung += [item.name] if outcome.hung else []
                if not outcome.loaded:
                    stopped = "the solver could not be loaded"
                elif item.basic and outcome.result == "failed":
                    stopped = f"nothing can be judged without {item.name!r}"
                elif len(hung) >= limits.hangs:
                    stopped = f"the solver hung in {', '.join(hung)}"
            outcomes.append(outcome)
            if progress is not None:
                progress(outcome)
    return Report(solver, tuple(outcomes))


def check_name(solver: str) -> None:
    """Raise ValueError if there is no such solver; a file is read, not imported."""
    path, _, class_name = solver.rpartition(":")
    if not is_user_class(solver):
        find_solver(solver)
    elif not Path(path).is_file():
        raise ValueError(f"solver {solver!r}: there is no file {Path(path).resolve()}")
    elif class_name not in (classes := class_names(Path(path))):
        names = ", ".join(classes) or "no class"
        raise ValueError(f"solver {solver!r}: {Path(path).name} has {names}, not {class_name!r}")
