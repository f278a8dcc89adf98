"""Tolerances that are searched, not listed: `tol: auto` in an experiment file.

Tolerances are 1 and what is √10, 10, 10√10, ... times as tight, numbered from 0; `SEARCHED` has number 0
of a `gap` and of `epochs` too. The search begins with it and seeks, for each gap that solvers are
compared at down to the experiment's `target_gap`, two neighbours of which one reaches the gap and the
looser one does not. A gap falls about as a tolerance does, so the next number is guessed from the gaps
that are known, and lies between those that are known to be too loose and to be tight enough; it is at
most a hundred times as tight as all before, because one that is below what a solver resolves may never
end. A search ends early where the solver stalls, or where the next number does not finish. One run that
meets the time limit ends it: none of the numbers that were leapt over was expected to reach the gap. So
the cheapest run that reaches a gap is within √10 of the best tolerance, and a solver that did not reach
it was asked. A solver that returns w alone has a gap to a dual bound of others: it takes one number
after the other until its primal objective no longer falls.

The first repetition searches. The others follow it: they repeat the runs that were the cheapest to reach
a target, and go on from there where chance lets them miss the last one. A/A repeats are of the first of
these runs alone. The runs of a solver that returns w alone are chosen by how far they are above the
least primal objective of the search, at the target and, as the optimum is below that, at half of it.

Each is an ordinary run. Its id is that of the search in the first repetition, in a later one with ".1",
of an A/A repeat ".1a", and its number after a dash. What comes next follows from the runs that are
recorded, so that a search can be resumed from the folder alone.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, floor, inf, isnan, log, log10
from typing import Any

import pandas as pd

from dualgap.experiments.cases.plan import Case, search_of
from dualgap.experiments.files.specs import SEARCHED
from dualgap.experiments.records.outcomes import targets_above

_DECADE = 2  # numbers for each power of ten
_ASKED = (
    0.1  # the relative gap that number 0 is taken to ask for, whether it is of a `tol` or a `gap`
)
_MOST = 30  # runs of one search
_PATIENCE = 4  # numbers, as one step of an interior-point method can gain what four ask for
_FALLEN = 0.9  # times the gap before, above which it has not fallen
_SLOWER = 10.0  # times as long as the run before, or as _QUICK: tighter ones would take minutes
_QUICK = 0.1  # seconds
# Times the target gap, relative: of a solver that has no gap of its own.
_FALLEN_PRIMAL = 0.1

Record = Mapping[str, Any]


def is_followed(results: pd.DataFrame) -> pd.Series:
    """Whether a tighter run of the same search is among these runs."""
    return results["step"] < results.groupby("search")["step"].transform("max")


def step(case: Case, number: int) -> Case:
    """Return the run of a search that is so many steps tighter than the first one."""
    key, tighter = case.solver.searched, 10 ** (number / _DECADE)
    loosest = SEARCHED[key]
    value = round(loosest * tighter) if key == "epochs" else float(f"{loosest / tighter:.2g}")
    solver = replace(case.solver, settings=case.solver.settings | {key: value})
    return replace(case, solver=solver, run_id=f"{search_of(case.run_id)}-{number:02}")


def next_of(run_id: str, records: Mapping[str, Record]) -> int | None:
    """Return the number of the run that comes next in the search of a run; None if it is over.

    Of a run that is of no search it is 0, until the run is there.
    """
    if "-" not in run_id:
        return None if run_id in records else 0

    def found(search: str) -> dict[int, Record]:
        ids = {number: f"{search}-{number:02}" for number in range(_MOST)}
        return {number: records[own] for number, own in ids.items() if own in records}

    search = search_of(run_id)
    searched = search.partition(".")[0]  # by the first repetition, which the others follow
    number = _next_to_search(first := found(searched))
    if search == searched:
        return number
    return _next_to_repeat(search, first, found(search)) if number is None else 0


def _next_to_search(found: Mapping[int, Record]) -> int | None:
    if 0 not in found:  # also where its line is damaged, or it is to be tried again
        return 0
    if not all(map(_has_gap, found.values())):
        last = max(found)
        return None if last == _MOST - 1 or is_over(list(found.values())) else last + 1
    targets = targets_above(found[0]["target_gap"])
    return next((n for target in targets if (n := _towards(target, found)) is not None), None)


def _towards(target: float, found: Mapping[int, Record]) -> int | None:
    """Return what to try next for a gap; None if its loosest number is known, or none reaches it."""
    gaps = {number: _number(record["relative_gap"]) for number, record in found.items()}
    ended = {number for number, record in found.items() if record["status"] != "finished"}
    tight = min(ended | {number for number in gaps if gaps[number] <= target}, default=_MOST)
    loose = max((number for number in gaps if number < tight), default=-1)
    if tight - loose == 1 or (tight in ended and found[tight]["status"] == "time_limit"):
        return None
    if tight == _MOST:
        return _tighter(target, gaps, {n: _number(r["time_solve"]) for n, r in found.items()})
    share = 0.5
    if tight not in ended and gaps[loose] < inf:
        share = log(gaps[loose] / target) / log(gaps[loose] / max(gaps[tight], 1e-16))
    return min(max(loose + floor(share * (tight - loose)), loose + 1), tight - 1)


def _tighter(target: float, gaps: Mapping[int, float], times: Mapping[int, float]) -> int | None:
    """Return the number that may reach a gap which none has; None if the solver has stalled.

    That is if a hundredfold gained nothing, or if what gained nothing took far longer than before. A
    gap below the tolerance says nothing of a tighter one: a step may have gained more than was asked.
    """

    def least(most: int) -> float:
        return min(gaps[number] for number in gaps if number <= most)

    last = max(gaps)
    if last == _MOST - 1:
        return None
    asked = gaps[last] > _ASKED / 10 ** (last / _DECADE)
    if asked and last >= _PATIENCE and not least(last) < _FALLEN * least(last - _PATIENCE):
        return None
    if last and not gaps[last] < _FALLEN * least(last - 1):
        before = max(number for number in gaps if number < last)
        if times[last] > _SLOWER * max(times[before], _QUICK):
            return None
        # tells at once whether the gap has stalled
        after = before if asked else last
        return min(max(after + _PATIENCE, last + 1), _MOST - 1)
    steps = ceil(_DECADE * log10(gaps[last] / target)) if gaps[last] < inf else 1
    return min(last + min(steps, _PATIENCE), _MOST - 1)


def is_over(records: Sequence[Record]) -> bool:
    """Whether runs that follow each other, the loosest first, end where they are.

    They have stalled if four in turn have not lowered the certified gap by a tenth; nor, of a solver
    that returns w alone, the primal objective by a tenth of the target.
    """
    last, target = records[-1], float(records[-1]["target_gap"])
    gaps = [_number(record["relative_gap"]) for record in records]
    if last["status"] != "finished" or gaps[-1] <= target or len(records) == _MOST:
        return True
    if len(records) <= _PATIENCE:
        return False
    fallen = min(gaps[-_PATIENCE:]) < _FALLEN * min(gaps[:-_PATIENCE])
    if _has_gap(last):
        return not fallen
    primals = [_number(record["primal_objective"]) for record in records]
    before, now = min(primals[:-_PATIENCE]), min(primals[-_PATIENCE:])
    return not (fallen or before - now > _FALLEN_PRIMAL * target * abs(now))


def _next_to_repeat(
    search: str, first: Mapping[int, Record], found: Mapping[int, Record]
) -> int | None:
    runs = list(first.values())
    alone = not all(map(_has_gap, runs))
    gaps = [_number(run["relative_gap"]) for run in runs]
    if alone:  # how far primal objectives are above the least one of the search, relative to that
        primals = [_number(run["primal_objective"]) for run in runs]
        least = min(primals)
        gaps = [(primal - least) / (abs(least) or 1.0) for primal in primals]
    shares = [1.0, 0.5] if alone else [1.0]
    cheapest = list[int | None]()
    for target in (share * t for t in targets_above(runs[0]["target_gap"]) for share in shares):
        times = {
            n: _number(first[n]["time_solve"])
            for n, g in zip(first, gaps, strict=True)
            if g <= target
        }
        cheapest.append(min(times, key=times.__getitem__, default=None))
    numbers = sorted({number for number in cheapest if number is not None})
    if search.endswith("a"):
        del numbers[1:]
    elif cheapest[-1] is not None and not alone:
        numbers += range(numbers[-1] + 1, _MOST)
    known = list[Record]()
    for number in numbers:
        if number not in found:
            return number
        known.append(found[number])
        if is_over(known):
            break
    return None


def _has_gap(record: Record) -> bool:
    """Whether a run is compared by its own gap, not by its distance to another's dual bound."""
    alone = str(record["bound_source"]).endswith("recovered from w")
    return not alone and "epochs" not in json.loads(record["params"])


class Waiting(Iterator[Case]):
    """Cases that are still to be run; who iterates takes them out, and may find more later.

    Parameters
    ----------
    cases : of an experiment. records : of the runs that are there, by their ids.
    answer : returns the dual variables that a run has found, where another begins at them.
    """

    def __init__(
        self,
        cases: Iterable[Case],
        records: Mapping[str, Record],
        answer: Callable[[str], Any] = lambda _: None,
    ) -> None:
        self._answer, self._records = answer, dict(records)
        self._left = deque(case for case in cases if next_of(case.run_id, records) is not None)
        self._whole = {search_of(case.run_id): case for case in self._left}

    def __len__(self) -> int:
        return len(self._left)

    def __next__(self) -> Case:
        while case := next((case for case in self._left if self._is_ready(case)), None):
            self._left.remove(case)
            number = next_of(case.run_id, self._records)
            if number is not None:
                case = step(case, number) if case.solver.searched else case
                return replace(case, initial=self._answer(case.after)) if case.after else case
        raise StopIteration

    def chains(self) -> list[list[Case]]:
        """Take all cases out, in chains: no run of one begins at, or follows, a run of another."""
        chains, first = dict[str, list[Case]](), dict[str, str]()
        while self._left:
            case = self._left.popleft()
            if next_of(case.run_id, self._records) is not None:
                own = search_of(case.run_id).partition(".")[0]
                first[case.run_id] = first.get(case.after or "", own)
                chains.setdefault(first[case.run_id], []).append(case)
        return list(chains.values())

    def needed(self, cases: Iterable[Case]) -> tuple[dict[str, Record], dict[str, Any]]:
        """Return the records that chains follow, and the answers that they begin at, by run ids."""
        searches = {search_of(case.run_id).partition(".")[0] for case in cases}
        before = {case.after for case in cases}
        records = {
            k: r
            for k, r in self._records.items()
            if k in before or search_of(k).partition(".")[0] in searches
        }
        answers = {k: self._answer(k) for k in records if k in before}
        return records, {k: alpha for k, alpha in answers.items() if alpha is not None}

    def _is_ready(self, case: Case) -> bool:
        search, repeat, _ = search_of(case.run_id).partition(".")
        if repeat:
            return next_of(f"{search}-00", self._records) is None
        return not case.after or case.after in self._records

    def follow(self, record: Record) -> int:
        """Take in the record of a run; put first what follows it in its search, and count that."""
        self._records[record["run_id"]] = record
        whole = self._whole.get(search_of(record["run_id"]))
        if whole is None:  # of an earlier plan, from a job that was still to be collected
            return 0
        left = next_of(whole.run_id, self._records) is not None
        if left:
            self._left.appendleft(whole)
        return left


def _number(value: Any) -> float:
    return inf if value is None or isnan(value) else float(value)
