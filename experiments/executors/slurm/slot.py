"""A slot: a results folder, and the job that fills it.

It has two additional files: `cases`, a message (see `workers.wire`) with its cases and the records of
other runs that they depend on, and `begun`, with the id of each run that was started. A job runs the
cases as `LocalExecutor` does; submitted again, it resumes after the last record.
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
from dualgap.experiments.cases.schedule import Schedule
from dualgap.experiments.cases.search import Record
from dualgap.experiments.executors.local import LocalExecutor
from dualgap.experiments.records import Refusal
from dualgap.experiments.store import disk
from dualgap.experiments.store.folder import Store
from dualgap.experiments.store.inputs import input_files
from dualgap.experiments.store.manifest import read_manifest, write_manifest
from dualgap.experiments.store.reading import RunFolder, load_answer
from dualgap.experiments.workers.wire import Layout, pack

_Header = tuple[list[Case], dict[str, Row]]
_LAYOUT = Layout[_Header](_Header)
_CASES = "cases"
_STARTS = "begun"  # one line per start of a run


@dataclass(frozen=True)
class Slot:
    """A results folder that one job fills."""

    path: Path

    def write(self, manifest: Mapping[str, Any], cases: list[Case], schedule: Schedule) -> None:
        """Create the folder for cases of a run with this manifest, which the job checks."""
        records, answers = schedule.dependencies(cases)
        disk.make_folder(self.path)
        disk.replace(self.path / _CASES, pack((cases, records), answers))
        used = {file.path.name for file in input_files(cases).values() if file.is_code}
        code = {k: v for k, v in manifest["code"].items() if k in used or not k.endswith(".py")}
        changed = {"run_ids": [case.run_id for case in cases], "code": code, "sessions": []}
        write_manifest(self.path, {**manifest, **changed})

    @cached_property
    def _content(self) -> tuple[list[Case], Mapping[str, Row], Mapping[str, Any]]:
        def shapes(header: _Header) -> dict[str, Any]:
            return {case.after: ((None,),) for case in header[0] if case.after}

        (cases, records), answers = _LAYOUT.read((self.path / _CASES).read_bytes(), shapes)
        return cases, records, answers

    def schedule(self, records: Mapping[str, Record]) -> Schedule:
        """Return the schedule of the runs that are not recorded in it."""
        cases, dependencies, answers = self._content

        def answer(run_id: str) -> Any:
            return answers.get(run_id, load_answer(self.path, run_id))

        return Schedule(cases, {**dependencies, **records}, answer)

    def start_counts(self) -> Counter[str]:
        """Return how often each run was started."""
        path = self.path / _STARTS
        return Counter(path.read_text().split() if path.exists() else ())

    def run(self, max_requeues: int, last_end: str) -> None:
        """Run the missing cases; those that have ended more than `max_requeues` jobs have crashed.

        `last_end` describes how the last job ended.
        """
        cases = self._content[0]
        store = Store.open(
            self.path,
            read_manifest(self.path)["experiment"],
            [case.run_id for case in cases],
            resume=True,
            inputs=input_files(cases),
            problems={case.problem_id: vars(case.problem) for case in cases},
        )
        start_counts = self.start_counts()
        with closing(store), (self.path / _STARTS).open("a", buffering=1) as starts:
            for case in self.schedule(RunFolder(self.path).records()):
                if (times := start_counts[case.run_id]) > max_requeues:
                    reason = f"its SLURM job was ended {times} times while it ran"
                    store.append(failed(case, "crashed", f"{reason}{last_end and f'; {last_end}'}"))
            schedule = self.schedule(RunFolder(self.path).records())

            def log_start(case: Case) -> Case:
                starts.write(f"{case.run_id}\n")
                return case

            executor = LocalExecutor(workers=1, folder=self.path)
            while len(schedule):
                with closing(executor.run(map(log_start, schedule))) as outcomes:
                    for outcome in outcomes:
                        store.append(outcome)
                        schedule.follow(outcome.record)


def fill(path: str, max_requeues: str, last_end: str) -> None:
    """Run a slot, see `Slot.run`; the command of a job."""
    try:
        Slot(Path(path)).run(int(max_requeues), last_end)
    except Refusal as error:
        sys.exit(str(error))
