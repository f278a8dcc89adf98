"""Tolerances that are searched, not listed: `tol: auto` in an experiment file.

A solver is run with a loose tolerance, then with one √10 times as tight, and so on, until its answer is
certified to the experiment's `target_gap`, or it stalls, or a run does not finish. So the cheapest run
that reaches a gap is within √10 of the best tolerance, and a solver that did not reach it was asked.

Each is an ordinary run, and each repetition searches anew. The runs of one search have one id, but for
their number after the dash; what comes next follows from those that are recorded, so that a search can
be resumed from the folder alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, isnan
from typing import Any

import pandas as pd

from experiments.cases.plan import Case
from experiments.files.specs import SEARCHED

_STEP = 10**0.5
_MOST = 30  # runs of one search
_PATIENCE = 4  # one step of an interior-point method can gain what four steps of √10 ask for
_FALLEN = 0.9  # times the gap before, above which it has not fallen
# Times the target gap, relative: a solver that returns w alone has no gap of its own.
_FALLEN_PRIMAL = 0.1

Record = Mapping[str, Any]


def search_of(run_id: str) -> str:
    """Return what the ids of all runs of one search begin with; of other runs the id itself."""
    return run_id.partition("-")[0]


def is_searched(run_id: str) -> bool:
    """Whether a run is one of a search."""
    return "-" in run_id


def is_followed(run_ids: pd.Series) -> pd.Series:
    """Whether a tighter run of the same search is among these runs."""
    searches = run_ids.map(search_of)
    return run_ids < run_ids.groupby(searches).transform("max")


def step(case: Case, number: int) -> Case:
    """Return the run of a search that is so many steps tighter than the first one."""
    key, tighter = case.solver.searched, _STEP**number
    loosest = SEARCHED[key]
    value = round(loosest * tighter) if key == "epochs" else float(f"{loosest / tighter:.2g}")
    solver = replace(case.solver, settings=case.solver.settings | {key: value})
    return replace(case, solver=solver, run_id=f"{search_of(case.run_id)}-{number:02}")


def is_over(records: Sequence[Record]) -> bool:
    """Whether a search ends with these runs, the loosest first.

    It has stalled if four steps in turn, a hundredfold, have neither lowered the certified gap by a
    tenth nor the primal objective by a tenth of the target.
    """
    last, target = records[-1], float(records[-1]["target_gap"])
    gaps = [_number(record["relative_gap"]) for record in records]
    if last["status"] != "finished" or gaps[-1] <= target or len(records) == _MOST:
        return True
    if len(records) <= _PATIENCE:
        return False
    primals = [_number(record["primal_objective"]) for record in records]
    fallen = min(gaps[-_PATIENCE:]) < _FALLEN * min(gaps[:-_PATIENCE])
    before, now = min(primals[:-_PATIENCE]), min(primals[-_PATIENCE:])
    return not (fallen or before - now > _FALLEN_PRIMAL * target * abs(now))


def following(case: Case, records: Mapping[str, Record]) -> Case | None:
    """Return the run of a case that comes next: itself, or a step of its search; None if all are there.

    Parameters
    ----------
    records : of the runs that are there, by their ids.
    """
    if not case.solver.searched:
        return None if case.run_id in records else case
    known: list[Record] = []
    while not known or not is_over(known):
        case = step(case, len(known))
        if case.run_id not in records:
            return case
        known.append(records[case.run_id])
    return None


def remaining(cases: Iterable[Case], records: Mapping[str, Record]) -> list[Case]:
    """Return what comes next of all cases, in their order; none if everything is there."""
    return [found for case in cases if (found := following(case, records)) is not None]


class Waiting(Iterator[Case]):
    """Cases that are still to be run; who iterates takes them out, and may find more later.

    Parameters
    ----------
    cases : of an experiment. records : of the runs that are there, by their ids.
    """

    def __init__(self, cases: Sequence[Case], records: Mapping[str, Record]) -> None:
        self._whole = {search_of(case.run_id): case for case in cases}
        self._records = dict(records)
        self._left = deque(remaining(cases, records))

    def __len__(self) -> int:
        return len(self._left)

    def __next__(self) -> Case:
        if not self._left:
            raise StopIteration
        return self._left.popleft()

    def follow(self, record: Record) -> int:
        """Take in the record of a run; put first what follows it in its search, and count that."""
        self._records[record["run_id"]] = record
        case = following(self._whole[search_of(record["run_id"])], self._records)
        self._left.extendleft([] if case is None else [case])
        return case is not None


def _number(value: Any) -> float:
    return inf if value is None or isnan(value) else float(value)
