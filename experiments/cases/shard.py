"""Shards: commands on several machines each run a part of a plan, into the same folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dualgap.experiments.cases.plan import Case

_SHARD = re.compile(r"([0-9]+)/([0-9]+)(?::([0-9]+))?")


def tasks_of(cases: Iterable[Case]) -> list[list[Case]]:
    """Return the cases in groups, in the order of the plan, of which none depends on another.

    Later repetitions depend on the search for a tolerance, warm starts on the run before.
    """
    tasks, names = dict[str, list[Case]](), dict[str, str]()
    for case in cases:
        names[case.run_id] = names.get(case.after or "", case.key.task)
        tasks.setdefault(names[case.run_id], []).append(case)
    return list(tasks.values())


def resources_of(tasks: Iterable[list[Case]]) -> list[dict[str, Any]]:
    """Return the distinct resources that the solvers of tasks request from SLURM, in their order."""
    texts = dict.fromkeys(json.dumps(task[0].solver.slurm, sort_keys=True) for task in tasks)
    return [json.loads(text) for text in texts]


@dataclass(frozen=True)
class Shard:
    """Every `count`-th problem of a plan from the `number`-th on; written 3/16, or 3/16:2.

    Times are compared within one host only, so all solvers of a problem are in one shard, unless there
    are more shards than problems: then it has every `count`-th task.

    Attributes
    ----------
    kind : if above 0, only tasks that request the kind-th of the plan's `resources_of` count.
    """

    number: int
    count: int
    kind: int = 0

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard of a text; ValueError if it is none."""
        match = _SHARD.fullmatch(text)
        numbers = [int(part or 0) for part in match.groups()] if match else [0, 0]
        if not 1 <= numbers[0] <= numbers[1]:
            raise ValueError(f"must be I/N with I from 1 to N, such as 3/16; got {text!r}")
        return cls(*numbers)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}" + f":{self.kind}" * bool(self.kind)

    def cases_of(self, cases: Iterable[Case]) -> list[Case]:
        """Return the cases of a plan that belong to this shard."""
        tasks = tasks_of(cases)
        if self.kind:
            requested = resources_of(tasks)[self.kind - 1 : self.kind]
            tasks = [task for task in tasks if task[0].solver.slurm in requested]
        problems = dict[str, list[Case]]()
        for task in tasks:
            problems.setdefault(task[0].problem_id, []).extend(task)
        groups = list(problems.values()) if len(problems) >= self.count else tasks
        return [case for group in groups[self.number - 1 :: self.count] for case in group]
