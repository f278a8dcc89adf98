"""A slot: a folder of records, and the job that fills it.

Beside the files of any folder of runs it has `cases`, a message as `workers.wire` lays it out, with what
it runs and what it has to know of other runs, and `begun`, with the id of each run that was begun.
A job runs the cases as `LocalExecutor` does; begun again, it goes on where the records end.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Row, failed
from dualgap.experiments.cases.search import Record, PendingCases
from dualgap.experiments.executors.local import LocalExecutor
from dualgap.experiments.records import Refusal
from dualgap.experiments.store import disk
from dualgap.experiments.store.folder import Store
from dualgap.experiments.store.inputs import input_files
from dualgap.experiments.store.manifest import read_manifest, write_manifest
from dualgap.experiments.store.reading import RunFolder, load_answer
from dualgap.experiments.workers.wire import Layout, pack

_Told = tuple[list[Case], dict[str, Row]]
_LAYOUT = Layout[_Told](_Told)
_CASES, _BEGUN = "cases", "begun"


@dataclass(frozen=True)
class Slot:
    """A folder of records that one job fills."""

    path: Path

    def write(self, manifest: Mapping[str, Any], cases: list[Case], waiting: PendingCases) -> None:
        """Make the folder, for cases of a run with this manifest; the job refuses other code or data."""
        known, answers = waiting.needed(cases)
        disk.make_folder(self.path)
        disk.replace(self.path / _CASES, pack((cases, known), answers))
        own = {file.path.name for file in input_files(cases).values() if file.is_code}
        code = {k: v for k, v in manifest["code"].items() if k in own or not k.endswith(".py")}
        changed = {"run_ids": [case.run_id for case in cases], "code": code, "sessions": []}
        write_manifest(self.path, {**manifest, **changed})

    @cached_property
    def _told(self) -> tuple[list[Case], Mapping[str, Row], Mapping[str, Any]]:
        def shapes(told: _Told) -> dict[str, Any]:
            return {case.after: ((None,),) for case in told[0] if case.after}

        (cases, known), answers = _LAYOUT.read((self.path / _CASES).read_bytes(), shapes)
        return cases, known, answers

    def waiting(self, records: Mapping[str, Record]) -> PendingCases:
        """Return the cases that are not among its records."""
        cases, known, answers = self._told

        def answer(run_id: str) -> Any:
            return answers.get(run_id, load_answer(self.path, run_id))

        return PendingCases(cases, {**known, **records}, answer)

    def begun(self) -> Counter[str]:
        """Return how often each run was begun."""
        path = self.path / _BEGUN
        return Counter(path.read_text().split() if path.exists() else ())

    def run(self, again: int, words: str) -> None:
        """Run what is not recorded, but for what has ended `again` jobs and one more.

        `words` are what is known of the end of the last job.
        """
        cases = self._told[0]
        store = Store.open(
            self.path,
            read_manifest(self.path)["experiment"],
            [case.run_id for case in cases],
            resume=True,
            inputs=input_files(cases),
            problems={case.problem_id: vars(case.problem) for case in cases},
        )
        begun = self.begun()
        with closing(store), (self.path / _BEGUN).open("a", buffering=1) as noted:
            for case in self.waiting(RunFolder(self.path).records()):
                if (times := begun[case.run_id]) > again:
                    reason = f"its SLURM job was ended {times} times while it ran"
                    store.append(failed(case, "crashed", f"{reason}{words and f'; {words}'}"))
            waiting = self.waiting(RunFolder(self.path).records())

            def note(case: Case) -> Case:
                noted.write(f"{case.run_id}\n")
                return case

            executor = LocalExecutor(workers=1, folder=self.path)
            while len(waiting):
                with closing(executor.run(map(note, waiting))) as outcomes:
                    for outcome in outcomes:
                        store.append(outcome)
                        waiting.follow(outcome.record)


def fill(path: str, again: str, words: str) -> None:
    """Run a slot, see `Slot.run`; what a job does."""
    try:
        Slot(Path(path)).run(int(again), words)
    except Refusal as error:
        sys.exit(str(error))
