"""The key of a run, and the only place that reads or writes its text, the run id."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

_RUN_ID = re.compile(r"([^.-]+)(?:\.([0-9]+)(a?))?(?:-([0-9]{2,}))?")


class RunKey(NamedTuple):
    """What tells a run from all others: `task`, `task-02`, `task.1-02`, `task.1a-02`.

    Attributes
    ----------
    task : hash of the problem, the solver and the conditions. For a run outside a search it is the hash
        of everything that determines the run, and the other attributes have their defaults.
    repetition : counted from 0.
    step : how tight the searched tolerance is, from 0 for the loosest; None outside a search.
    repeat : whether it is the A/A repeat of another run.
    """

    task: str
    repetition: int = 0
    step: int | None = None
    repeat: bool = False

    @classmethod
    def parse(cls, run_id: str) -> RunKey:
        """Return the key of a run id; text that no key has written is a task of one run."""
        if match := _RUN_ID.fullmatch(run_id):
            task, repetition, repeat, step = match.groups()
            number = None if step is None else int(step)
            key = cls(task, int(repetition or 0), number, bool(repeat))
            if str(key) == run_id:
                return key
        return cls(run_id)

    def __str__(self) -> str:
        again = self.repetition or self.repeat
        suffix = f".{self.repetition}{'a' * self.repeat}" if again else ""
        return f"{self.task}{suffix}" + ("" if self.step is None else f"-{self.step:02}")

    @property
    def round(self) -> RunKey:
        """The key without the step: of all runs of a task in one repetition, or in its A/A repeat."""
        return RunKey(self.task, self.repetition, None, self.repeat)

    def is_in(self, keys: Collection[RunKey]) -> bool:
        """Whether the run, or its round, is among `keys`."""
        return self in keys or self.round in keys

    def at(self, step: int) -> RunKey:
        """Return the key of another step of the same round."""
        return self._replace(step=step)
