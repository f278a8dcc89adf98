"""Whether a solver can be trusted: `dualgap selftest NAME|FILE:CLASS`.

This is the plan, in its order: which properties are tried on which problems. A solver is
tried at its own default settings, in a process of its own, and judged by certificates; what it
refuses is listed, not held against it, unless it refuses everything. The gravest fault comes first,
and without the basics nothing else is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from experiments.selftest.limits import Limits
from experiments.selftest.outcome import Outcome, Property, Report
from experiments.selftest.workers import Workers

__all__ = ["PROPERTIES", "Limits", "Outcome", "Property", "Report", "properties", "try_solver"]

_LINEAR = ("two_gaussians linear C=1", "two_gaussians linear C=1, no intercept")
_KERNEL = ("four_gaussians rbf C=1", "four_gaussians rbf C=1, no intercept")
_SPARSE = ("sparse linear C=1", "sparse linear C=1, no intercept")
_REGRESSION = ("regression rbf C=1", "regression linear C=1, no intercept")
_SOFT = _LINEAR + _KERNEL
_PLAIN = (
    *_SOFT,
    *_SPARSE,
    *_REGRESSION,
    "two_gaussians primal C=1",
    "two_gaussians risk lam=0.02",
)
_NU = ("nu-SVC rbf nu=0.4", "nu-SVR rbf nu=0.4", "one class rbf nu=0.2", "one class linear nu=0.2")
_OTHERS = ("logistic risk lam=0.02", "squared hinge risk lam=0.02", "chains C=0.1")
_EXTREME_KERNELS = ("rbf gamma=1e-9", "rbf gamma=1e9", "sigmoid kernel")
_EXTREME_TARGETS = ("constant target", "epsilon=0", "epsilon above the range")
_ALL = (*_PLAIN, "separable hard margin", *_OTHERS)


def _on(*data: str) -> tuple[str, ...]:
    kinds = ("linear", "linear, no intercept", "rbf")
    return tuple(f"{name}: {kind}" for name in data for kind in kinds)


# in the order of gravity: without the first ones nothing else can be judged, the next make every time
# or answer worthless, then come answers to another problem, claims where data are degenerate, manners
PROPERTIES = (
    Property("answers", "behaviour.answers", _ALL, basic=True),
    Property("ends by itself", "behaviour.ends_by_itself", _ALL, basic=True),
    Property("claims", "claims.claims", _ALL),
    Property("inputs unchanged", "behaviour.inputs_unchanged", _ALL),
    Property("nothing beforehand", "clock.nothing_beforehand", _SOFT),
    Property("other data", "clock.other_data", (*_SOFT, _REGRESSION[0])),
    Property("global state", "behaviour.global_state", (*_SOFT, *_SPARSE[1:]), fresh=True),
    Property("infeasibility", "claims.infeasibility", ("twins hard margin", "crossed hard margin")),
    Property("C", "theory.slack_weight", _SOFT + _REGRESSION),
    Property("C of each sample", "theory.slack_weights", _SOFT),
    Property("sum, not mean", "theory.sum_not_mean", _SOFT),
    Property("intercept", "theory.intercept", ("off centre", "off centre, no intercept")),
    Property("nu", "theory.nu_property", _NU),
    Property("sign", "theory.sign", _PLAIN),
    Property("permutation", "theory.permutation", ("hardest first", "hardest first, no intercept")),
    Property("label flip", "theory.label_flip", _SOFT + _REGRESSION),
    Property("duplication", "theory.duplication", _SOFT + _REGRESSION),
    Property("scaling", "theory.scaling", _SOFT),
    Property("shift", "theory.shift", (_LINEAR[0], *_KERNEL)),
    Property("storage", "theory.storage", _SOFT),
    Property("few samples", "claims.honest", _on("one class", "one sample", "two samples")),
    Property("equal samples", "claims.honest", _on("twins", "all equal", "duplicates")),
    Property("empty features", "claims.honest", _on("zero rows", "all zero", "collinear")),
    Property("large features", "claims.honest", _on("times 1e8")),
    Property("small features", "claims.honest", _on("times 1e-8")),
    Property("mixed features", "claims.honest", _on("mixed scales")),
    Property("imbalance", "claims.honest", _on("1:1000")[:2]),
    Property("small C", "claims.honest", _on("C=1e-12")),
    Property("large C", "claims.honest", _on("C=1e12")),
    Property("extreme kernels", "claims.honest", _EXTREME_KERNELS),
    Property("extreme targets", "claims.honest", _EXTREME_TARGETS),
    Property("deterministic", "behaviour.deterministic", _ALL, fresh=True),
    Property("stateless", "behaviour.stateless", _SOFT),
    Property("time limit", "behaviour.time_limit", _SOFT),
    Property("max_iter", "behaviour.max_iter", (*_SOFT, *_REGRESSION)),
)


def properties(names: Sequence[str] = ()) -> tuple[Property, ...]:
    """Return the properties of these names, all if there are none; ValueError for an unknown one."""
    unknown = set(names) - {item.name for item in PROPERTIES}
    if unknown:
        known = ", ".join(item.name for item in PROPERTIES)
        raise ValueError(f"unknown property {', '.join(sorted(unknown))}; there are {known}")
    return tuple(item for item in PROPERTIES if not names or item.name in names)


def try_solver(
    solver: str,
    limits: Limits | None = None,
    properties: Sequence[Property] = PROPERTIES,
    progress: Callable[[Outcome], object] | None = None,
) -> Report:
    """Try `solver` on `properties`, each in a process that it may ruin, and return the outcomes.

    Parameters
    ----------
    solver : a name, or `path/to/file.py:ClassName`.
    limits : seconds of CPU time, for solvers that hang.
    properties : of `PROPERTIES`, those to try; "deterministic" compares with what "answers" found.
    progress : called with each outcome in turn.

    Raises
    ------
    ValueError
        If there is no such solver, file or class.
    """
    check_name(solver)
    limits = limits or Limits()
    done, digests, hung, stopped = list[Outcome](), dict[str, str](), list[str](), ""
    with closing(Workers(solver, limits)) as workers:
        for item in properties:
            if not stopped and workers.left <= 0:
                stopped = f"the {limits.total:.0f} s of a selftest were over"
            if stopped:
                outcome = Outcome(item.name, "not run", sentences=(stopped,))
            else:
                outcome = workers.check(item, digests, limits.each if done else limits.first)
                digests |= outcome.digests
                hung += [item.name] if outcome.hung else []
                if not outcome.loaded:
                    stopped = "the solver could not be loaded"
                elif item.basic and outcome.result == "failed":
                    stopped = f"nothing can be judged without {item.name!r}"
                elif len(hung) >= limits.hangs:
                    stopped = f"the solver hung in {', '.join(hung)}"
            done.append(outcome)
            if progress is not None:
                progress(outcome)
    return Report(solver, tuple(done))


def check_name(solver: str) -> None:
    """Raise ValueError if there is no such solver; a file is read, not imported."""
    from problems.registry import (  # noqa: PLC0415 - workers import this module first
        class_names,
        is_outside,
    )

    path, _, class_name = solver.rpartition(":")
    if not is_outside(solver):
        from solvers import find_solver  # noqa: PLC0415

        find_solver(solver)
    elif not Path(path).is_file():
        raise ValueError(f"solver {solver!r}: there is no file {Path(path).resolve()}")
    elif class_name not in (found := class_names(Path(path))):
        names = ", ".join(found) or "no class"
        raise ValueError(f"solver {solver!r}: {Path(path).name} has {names}, not {class_name!r}")
