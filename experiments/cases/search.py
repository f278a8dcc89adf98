"""Search for the cheapest tolerance that reaches each gap: `tol: auto` in an experiment file.

Step 0 is the tolerance 1, and each step is √10 times tighter; `SEARCHED` has step 0 of a `gap` and of
`epochs` too. For each gap at which solvers are compared, down to the experiment's `target_gap`, it
brackets the loosest step that reaches it: that step and the one before are both run. A gap is roughly
proportional to the tolerance, so the next step is extrapolated from the measured gaps, inside the
current bracket, and at most a hundred times tighter than all before, because a tolerance below the
resolution of a solver may never be reached. A search ends early if the solver stalls or a run does not
finish. A run that hits the time limit ends it: none of the skipped steps was expected to reach the gap.
So the cheapest run that reaches a gap is within √10 of the best tolerance. A solver that returns only w
has a gap to the dual bound of other solvers: its steps are run one by one until its primal objective no
longer falls.

The first repetition searches; later ones repeat the cheapest run for each target, and continue to
tighter steps if they miss the last target by chance. A/A repeats are of the first of these runs only.
For a solver that returns only w, runs are chosen by the distance to the smallest primal objective of the
search, at the target and, as the optimum is smaller, at half of it.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from math import ceil, floor, inf, isnan, log, log10
from typing import Any

from dualgap.experiments.cases.plan import Case, RunKey
from dualgap.experiments.files.specs import SEARCHED
from dualgap.experiments.records.names import targets_above

_STEPS_PER_DECADE = 2
_LOOSEST_GAP = 0.1  # relative gap that step 0 is assumed to ask for, of a `tol` or a `gap`
_MAX_RUNS = 30  # of one search
# also the largest leap: an interior-point iteration can gain as much as four steps
_STALL_STEPS = 4
_MAX_GAP_RATIO = 0.9  # to the gap before: above this it has not fallen
_MAX_TIME_RATIO = 10.0  # to the run before, if the gap has not fallen: tighter ones take minutes
_MIN_TIME_S = 0.1  # shorter runs count as this long
_MIN_PRIMAL_DECREASE = 0.1  # of the target gap, relative: for a solver without a gap

Record = Mapping[str, Any]


def case_at_step(case: Case, number: int) -> Case:
    """Return the run of a search at a step, counted from the loosest."""
    setting, tighter = case.solver.searched, 10 ** (number / _STEPS_PER_DECADE)
    loosest = SEARCHED[setting]
    value = round(loosest * tighter) if setting == "epochs" else float(f"{loosest / tighter:.2g}")
    solver = replace(case.solver, settings=case.solver.settings | {setting: value})
    return replace(case, solver=solver, key=case.key.at(number))


def search(
    key: RunKey, recorded: Mapping[str, Record]
) -> Generator[RunKey, Record, dict[int, Record]]:
    """Yield the runs of a search, each of which is sent its record; return the records by step.

    It continues from the steps that are `recorded`, by run id, however they were chosen.
    """
    ids = {step: str(key.at(step)) for step in range(_MAX_RUNS)}
    records = {step: recorded[run_id] for step, run_id in ids.items() if run_id in recorded}
    while (step := _next_step(records)) is not None:
        records[step] = yield key.at(step)
    return dict(sorted(records.items()))


def repeat_search(key: RunKey, records: Mapping[int, Record]) -> Generator[RunKey, Record, None]:
    """Yield the runs of a later repetition, or of an A/A repeat, chosen by the records of a search."""
    sequence = list[Record]()
    for step in _steps_to_repeat(records):
        sequence.append((yield key.at(step)))
        if key.repeat or is_over(sequence):
            return


def is_over(records: Sequence[Record]) -> bool:
    """Whether a sequence of runs, the loosest first, ends here.

    It has stalled if four consecutive runs have lowered neither the certified gap by a tenth nor, for a
    solver that returns only w, the primal objective by a tenth of the target.
    """
    last, target = records[-1], float(records[-1]["target_gap"])
    gaps = [_number(record["relative_gap"]) for record in records]
    if last["status"] != "finished" or gaps[-1] <= target or len(records) == _MAX_RUNS:
        return True
    if len(records) <= _STALL_STEPS:
        return False
    gap_fell = min(gaps[-_STALL_STEPS:]) < _MAX_GAP_RATIO * min(gaps[:-_STALL_STEPS])
    if _has_gap(last):
        return not gap_fell
    primals = [_number(record["primal_objective"]) for record in records]
    before, now = min(primals[:-_STALL_STEPS]), min(primals[-_STALL_STEPS:])
    return not (gap_fell or before - now > _MIN_PRIMAL_DECREASE * target * abs(now))


def _next_step(records: Mapping[int, Record]) -> int | None:
    """Return the next step of a search; None if it is over."""
    if 0 not in records:
        return 0
    if not _have_gaps(records):
        last, sequence = max(records), [records[step] for step in sorted(records)]
        return None if last == _MAX_RUNS - 1 or is_over(sequence) else last + 1
    targets = targets_above(records[0]["target_gap"])
    steps = (_towards(target, records) for target in targets)
    return next((step for step in steps if step is not None), None)


def _towards(target: float, records: Mapping[int, Record]) -> int | None:
    """Return the next step to run for a gap; None if the loosest is known, or none reaches it."""
    gaps = {number: _number(record["relative_gap"]) for number, record in records.items()}
    stopped = {number for number, record in records.items() if record["status"] != "finished"}
    tight = min(stopped | {number for number in gaps if gaps[number] <= target}, default=_MAX_RUNS)
    loose = max((number for number in gaps if number < tight), default=-1)
    if tight - loose == 1 or (tight in stopped and records[tight]["status"] == "time_limit"):
        return None
    if tight == _MAX_RUNS:
        return _tighter(target, gaps, {n: _number(r["time_solve"]) for n, r in records.items()})
    fraction = 0.5
    if tight not in stopped and gaps[loose] < inf:
        fraction = log(gaps[loose] / target) / log(gaps[loose] / max(gaps[tight], 1e-16))
    return min(max(loose + floor(fraction * (tight - loose)), loose + 1), tight - 1)


def _tighter(target: float, gaps: Mapping[int, float], times: Mapping[int, float]) -> int | None:
    """Return the step that may reach a gap not reached yet; None if the solver has stalled.

    It has stalled if a hundred times tighter tolerance gained nothing, or if a run gained nothing and
    took far longer than the one before. A gap below the tolerance is no evidence about tighter ones: the
    last iteration may have gained more than was asked for.
    """

    def best_gap(last_number: int) -> float:
        return min(gaps[number] for number in gaps if number <= last_number)

    last = max(gaps)
    if last == _MAX_RUNS - 1:
        return None
    is_above = gaps[last] > _LOOSEST_GAP / 10 ** (last / _STEPS_PER_DECADE)
    earlier = best_gap(max(last - _STALL_STEPS, 0))
    if is_above and last >= _STALL_STEPS and not best_gap(last) < _MAX_GAP_RATIO * earlier:
        return None
    if last and not gaps[last] < _MAX_GAP_RATIO * best_gap(last - 1):
        before = max(number for number in gaps if number < last)
        if times[last] > _MAX_TIME_RATIO * max(times[before], _MIN_TIME_S):
            return None
        # shows in one run whether the gap has stalled
        after = before if is_above else last
        return min(max(after + _STALL_STEPS, last + 1), _MAX_RUNS - 1)
    steps = ceil(_STEPS_PER_DECADE * log10(gaps[last] / target)) if gaps[last] < inf else 1
    return min(last + min(steps, _STALL_STEPS), _MAX_RUNS - 1)


def _steps_to_repeat(records: Mapping[int, Record]) -> list[int]:
    """Return the cheapest step for each target, then all tighter ones, in case it misses the last."""
    gaps = {step: _number(record["relative_gap"]) for step, record in records.items()}
    targets = targets_above(records[0]["target_gap"])
    w_only = not _have_gaps(records)
    if w_only:  # the relative distance to the smallest primal objective of the search
        primals = {step: _number(record["primal_objective"]) for step, record in records.items()}
        lowest = min(primals.values())
        gaps = {step: (primals[step] - lowest) / (abs(lowest) or 1.0) for step in primals}
        targets = [factor * target for target in targets for factor in (1.0, 0.5)]
    times = {step: _number(record["time_solve"]) for step, record in records.items()}
    cheapest = [
        min((step for step in gaps if gaps[step] <= target), key=times.__getitem__, default=None)
        for target in targets
    ]
    steps = sorted({step for step in cheapest if step is not None})
    if cheapest[-1] is not None and not w_only:
        steps += range(steps[-1] + 1, _MAX_RUNS)
    return steps


def _have_gaps(records: Mapping[int, Record]) -> bool:
    return all(map(_has_gap, records.values()))


def _has_gap(record: Record) -> bool:
    """Whether a run is compared by its own gap, not by its distance to another's dual bound."""
    w_only = str(record["bound_source"]).endswith("recovered from w")
    return not w_only and "epochs" not in json.loads(record["params"])


def _number(value: Any) -> float:
    return inf if value is None or isnan(value) else float(value)
