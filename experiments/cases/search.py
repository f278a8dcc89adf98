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

Each step is an ordinary run. Its id is that of the search, with ".1" in a later repetition or ".1a" for
an A/A repeat, then a dash and the step. The next step depends only on the recorded runs, so that a
search can be resumed from the folder alone.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, floor, inf, isnan, log, log10
from typing import Any

import pandas as pd

from dualgap.experiments.cases.plan import Case, search_id
from dualgap.experiments.files.specs import SEARCHED
from dualgap.experiments.records.outcomes import targets_above

_STEPS_PER_DECADE = 2
_LOOSEST_GAP = 0.1  # relative gap that step 0 is assumed to ask for, of a `tol` or a `gap`
_MAX_RUNS = 30  # of one search
# also the largest leap: an interior-point iteration can gain as much as four steps
_STALL_STEPS = 4
_MAX_GAP_RATIO = 0.9  # to the gap before: above this it has not fallen
_MAX_TIME_RATIO = 10.0  # to the run before, if the gap has not fallen: tighter ones take minutes
_MIN_TIME_S = 0.1  # shorter runs count as this long
_MIN_PRIMAL_DECREASE = 0.1  # of the target gap, relative: for a solver that has no gap of its own

Record = Mapping[str, Any]


def is_followed(results: pd.DataFrame) -> pd.Series:
    """Whether a tighter run of the same search is among these runs."""
    return results["step"] < results.groupby("search")["step"].transform("max")


def case_at_step(case: Case, number: int) -> Case:
    """Return the run of a search at a step, counted from the loosest."""
    key, tighter = case.solver.searched, 10 ** (number / _STEPS_PER_DECADE)
    loosest = SEARCHED[key]
    value = round(loosest * tighter) if key == "epochs" else float(f"{loosest / tighter:.2g}")
    solver = replace(case.solver, settings=case.solver.settings | {key: value})
    return replace(case, solver=solver, run_id=f"{search_id(case.run_id)}-{number:02}")


def next_step(run_id: str, records: Mapping[str, Record]) -> int | None:
    """Return the next step in the search of a run; None if it is over.

    For a run outside a search it is 0 until the run is recorded.
    """
    if "-" not in run_id:
        return None if run_id in records else 0

    def records_of(search: str) -> dict[int, Record]:
        ids = {number: f"{search}-{number:02}" for number in range(_MAX_RUNS)}
        return {number: records[key] for number, key in ids.items() if key in records}

    search = search_id(run_id)
    first_search = search.partition(".")[0]  # of the first repetition, which the others follow
    number = _next_to_search(first := records_of(first_search))
    if search == first_search:
        return number
    return _next_to_repeat(search, first, records_of(search)) if number is None else 0


def _next_to_search(records: Mapping[int, Record]) -> int | None:
    if 0 not in records:  # also if its line is damaged, or it is to be retried
        return 0
    if not all(map(_has_gap, records.values())):
        last = max(records)
        return None if last == _MAX_RUNS - 1 or is_over(list(records.values())) else last + 1
    targets = targets_above(records[0]["target_gap"])
    return next((n for target in targets if (n := _towards(target, records)) is not None), None)


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


def _next_to_repeat(
    search: str, first: Mapping[int, Record], repeats: Mapping[int, Record]
) -> int | None:
    runs = list(first.values())
    w_only = not all(map(_has_gap, runs))
    gaps = [_number(run["relative_gap"]) for run in runs]
    if w_only:  # the relative distance to the smallest primal objective of the search
        primals = [_number(run["primal_objective"]) for run in runs]
        lowest = min(primals)
        gaps = [(primal - lowest) / (abs(lowest) or 1.0) for primal in primals]
    factors = [1.0, 0.5] if w_only else [1.0]
    cheapest = list[int | None]()
    for target in (factor * t for t in targets_above(runs[0]["target_gap"]) for factor in factors):
        times = {
            n: _number(first[n]["time_solve"])
            for n, g in zip(first, gaps, strict=True)
            if g <= target
        }
        cheapest.append(min(times, key=times.__getitem__, default=None))
    numbers = sorted({number for number in cheapest if number is not None})
    if search.endswith("a"):
        del numbers[1:]
    elif cheapest[-1] is not None and not w_only:
        numbers += range(numbers[-1] + 1, _MAX_RUNS)
    sequence = list[Record]()
    for number in numbers:
        if number not in repeats:
            return number
        sequence.append(repeats[number])
        if is_over(sequence):
            break
    return None


def _has_gap(record: Record) -> bool:
    """Whether a run is compared by its own gap, not by its distance to another's dual bound."""
    w_only = str(record["bound_source"]).endswith("recovered from w")
    return not w_only and "epochs" not in json.loads(record["params"])


class PendingCases(Iterator[Case]):
    """Cases that are still to be run; iterating removes them, and more may be added later.

    Parameters
    ----------
    cases : of an experiment. records : of the recorded runs, by id.
    answer : returns the dual variables of a run from which another one starts.
    """

    def __init__(
        self,
        cases: Iterable[Case],
        records: Mapping[str, Record],
        answer: Callable[[str], Any] = lambda _: None,
    ) -> None:
        self._answer, self._records = answer, dict(records)
        self._pending = deque(case for case in cases if next_step(case.run_id, records) is not None)
        self._first_cases = {search_id(case.run_id): case for case in self._pending}

    def __len__(self) -> int:
        return len(self._pending)

    def __next__(self) -> Case:
        while case := next((case for case in self._pending if self._is_ready(case)), None):
            self._pending.remove(case)
            number = next_step(case.run_id, self._records)
            if number is not None:
                case = case_at_step(case, number) if case.solver.searched else case
                return replace(case, initial=self._answer(case.after)) if case.after else case
        raise StopIteration

    def chains(self) -> list[list[Case]]:
        """Remove all cases and return them in chains, each independent of the others."""
        chains, first = dict[str, list[Case]](), dict[str, str]()
        while self._pending:
            case = self._pending.popleft()
            if next_step(case.run_id, self._records) is not None:
                search = search_id(case.run_id).partition(".")[0]
                first[case.run_id] = first.get(case.after or "", search)
                chains.setdefault(first[case.run_id], []).append(case)
        return list(chains.values())

    def dependencies(self, cases: Iterable[Case]) -> tuple[dict[str, Record], dict[str, Any]]:
        """Return the records that chains depend on, and the answers that they start from, by run id."""
        searches = {search_id(case.run_id).partition(".")[0] for case in cases}
        before = {case.after for case in cases}
        records = {
            k: r
            for k, r in self._records.items()
            if k in before or search_id(k).partition(".")[0] in searches
        }
        answers = {k: self._answer(k) for k in records if k in before}
        return records, {k: alpha for k, alpha in answers.items() if alpha is not None}

    def _is_ready(self, case: Case) -> bool:
        search, repeat, _ = search_id(case.run_id).partition(".")
        if repeat:
            return next_step(f"{search}-00", self._records) is None
        return not case.after or case.after in self._records

    def follow(self, record: Record) -> int:
        """Add the record of a run; return whether its search continues, which is then next."""
        self._records[record["run_id"]] = record
        case = self._first_cases.get(search_id(record["run_id"]))
        if case is None:  # of an earlier plan, from a job that was not collected yet
            return 0
        continues = next_step(case.run_id, self._records) is not None
        if continues:
            self._pending.appendleft(case)
        return continues


def _number(value: Any) -> float:
    return inf if value is None or isnan(value) else float(value)
