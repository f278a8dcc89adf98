"""Descriptions of entries with user-defined classes.

Importing a user's file may do anything, and is therefore done in a separate process; a file that cannot
be imported fails later, in its own runs.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from dualgap.experiments.files.document import Fault
from dualgap.experiments.files.specs import (
    ProblemSpec,
    SolverSpec,
    iter_texts,
    user_class_file,
)
from dualgap.experiments.workers.supervision import Worker
from dualgap.experiments.workers.wire import Layout, Malformed, WorkerError, WorkerExit, pack
from dualgap.problems.registry import class_names, is_user_class

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

    def describe(self, describe: Callable[[Any, str, bool], S], entry: Any) -> S:
        """Return a description; unchecked, as written in the entry, if a file cannot be imported.

        Raises
        ------
        Fault
            At the value that is not accepted.
        """
        files = _files_of(entry, self.folder)
        if not self._unimportable.isdisjoint(files):
            return describe(entry, self.folder, False)
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
            return describe(entry, self.folder, False)
        if isinstance(description, tuple):
            text, loc = description
            raise Fault(text, *loc)
        return cast("S", description)


def _files_of(entry: Any, folder: str) -> dict[str, str]:
    """Return the files of the user-defined classes in an entry, by their names there."""
    files = dict[str, str]()
    for loc, name in iter_texts(entry):
        if not is_user_class(name):
            continue
        try:
            file = user_class_file(name, folder)
            if not file.is_file():
                raise ValueError(f"there is no file {file}")
            class_names(file)
        except ValueError as error:
            raise Fault(f"{name:.200}: {error}", *loc) from None
        files[name] = str(file)
    return files


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
