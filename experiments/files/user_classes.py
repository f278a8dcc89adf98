"""Descriptions of entries with user-defined classes.

Importing a user's file may do anything, and is therefore done in a separate process; a file that cannot
be imported fails later, in its own runs.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from dualgap.experiments.files.document import Fault
from dualgap.experiments.files.specs import ProblemSpec, SolverSpec
from dualgap.experiments.workers.supervision import Worker
from dualgap.experiments.workers.wire import Layout, Malformed, WorkerError, WorkerExit, pack

S = TypeVar("S", ProblemSpec, SolverSpec)
_Described = ProblemSpec | SolverSpec | tuple[str, list[str | int]]  # or a fault
_DESCRIPTION = Layout[_Described](_Described)
_IMPORT_TIMEOUT_S = 30.0  # importing and compiling a large package may take several seconds


class Importer:
    """A process that imports the files of user-defined classes, and describes entries with them."""

    def __init__(self, folder: str) -> None:
        self.folder, self._worker = folder, Worker(threads=1)
        self._unimportable, self._imported = set[str](), set[str]()

    def close(self) -> None:
        """End the process."""
        self._worker.stop()

    def describe(
        self, describe: Callable[[Any, str, bool], S], entry: Any, files: Mapping[str, str]
    ) -> S | None:
        """Return what `describe` returns there; None if a file cannot be imported.

        Parameters
        ----------
        files : of the user-defined classes in the entry, by their names there.

        Raises
        ------
        Fault
            At the value that is not accepted.
        """
        if not self._unimportable.isdisjoint(files):
            return None
        if {*files.values()} != self._imported:
            self._worker.stop()  # so that no file influences the description of another
        self._imported = {*files.values()}
        self._worker.call(_description, describe, entry, self.folder)
        try:
            description, _ = _DESCRIPTION.read(self._worker.finish(_IMPORT_TIMEOUT_S))
            if isinstance(description, ProblemSpec):
                _check_names([description.dataset, *description.parameters.values()])
        except (TimeoutError, WorkerExit, WorkerError, Malformed):
            self._unimportable |= files.keys()  # the runs will record the reason
            return None
        if isinstance(description, tuple):
            text, loc = description
            raise Fault(text, *loc)
        return cast("S", description)


def _description(describe: Callable[[Any, str, bool], object], entry: Any, folder: str) -> bytes:
    """Return a message with a description, or with the text of its fault and what leads to it."""
    try:
        return pack(describe(entry, folder, True))
    except Fault as fault:
        return pack((fault.text, fault.loc))


def _check_names(values: Iterable[Any]) -> None:
    """Raise Malformed if a data set, kernel or loss, also a nested one, has no name."""
    for value in values:
        if isinstance(value, dict):
            spec = cast("dict[str, Any]", value)
            if not isinstance(spec.get("name"), str):
                raise Malformed("name: must be text")
            _check_names(spec.values())
        elif isinstance(value, list):
            _check_names(cast("list[Any]", value))
