"""The schedule of an experiment: which run comes next.

A round consists of the runs of a task in one repetition: a single run, or those of a search. Its
generator yields one run at a time and is sent the record. It first yields the runs of other rounds that
it depends on: a later repetition needs the records of the search, a warm start that of the previous run.
The record of a recorded run is sent at once. So the next run follows from the records alone, and an
experiment that was killed is resumed from its folder.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dualgap.experiments.cases.plan import Case, RunKey
from dualgap.experiments.cases.search import Record, case_at_step, repeat_search, search


def runs_of_round(
    key: RunKey, records: Mapping[str, Record], after: str = ""
) -> Generator[RunKey, Record, None]:
    """Yield the runs that a round depends on, then its own, each to be answered with its record.

    Parameters
    ----------
    key : of any run of the round. records : of the recorded runs, by run id.
    after : id of the run from whose answer it starts, "" for none.
    """
    if after and str(key) not in records:
        yield RunKey.parse(after)
    if key.step is None:
        yield key
        return
    first = RunKey(key.task, step=0)
    steps = yield from search(first, records)
    if key.round != first.round:
        yield from repeat_search(key, steps)


class Round:
    """The progress of a round; parameters as for `runs_of_round`.

    Attributes
    ----------
    key : of the round, see `RunKey.round`.
    """

    def __init__(self, key: RunKey, records: Mapping[str, Record], after: str = "") -> None:
        self.key, self._records = key.round, records
        self._runs = runs_of_round(key, records, after)
        self._next = next(self._runs, None)

    def next_run(self) -> RunKey | None:
        """Return the first run that `records` do not contain; None if all are recorded."""
        while self._next is not None and (record := self._records.get(str(self._next))) is not None:
            try:
                self._next = self._runs.send(record)
            except StopIteration:
                self._next = None
        return self._next


class Schedule(Iterator[Case]):
    """The runs that can begin, in the order of the plan; the next run of a round comes first.

    Parameters
    ----------
    cases : of an experiment, one for each round. records : of the recorded runs, by run id.
    answer : returns the dual variables of a run from which another one starts.
    """

    def __init__(
        self,
        cases: Iterable[Case],
        records: Mapping[str, Record],
        answer: Callable[[str], Any] = lambda _: None,
    ) -> None:
        self._answer, self._records = answer, dict(records)
        self._cases = {case.key.round: case for case in cases}
        self._rounds = {
            key: Round(case.key, self._records, case.after or "")
            for key, case in self._cases.items()
        }
        self._waiting = deque(each for each in self._rounds.values() if each.next_run() is not None)

    def __len__(self) -> int:
        return len(self._waiting)

    def __next__(self) -> Case:
        for each in [*self._waiting]:
            key = each.next_run()
            if key is not None and key.round != each.key:
                continue  # a run of another round comes first
            self._waiting.remove(each)
            if key is not None:
                return self._case_of(key)
        raise StopIteration

    def _case_of(self, key: RunKey) -> Case:
        case = self._cases[key.round]
        if key.step is not None:
            case = case_at_step(case, key.step)
        return replace(case, initial=self._answer(case.after)) if case.after else case

    def follow(self, record: Record) -> bool:
        """Add the record of a run; return whether its round continues."""
        run_id = record["run_id"]
        self._records[run_id] = record
        current = self._rounds.get(RunKey.parse(run_id).round)
        if current is None or current.next_run() is None:
            return False  # it is over
        if current not in self._waiting:
            self._waiting.appendleft(current)
        return True
