"""The user's default options: `dualgap.yaml` in the platform's configuration folder.

On Linux that is ~/.config/dualgap.yaml. The command line overrides it.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field

from dualgap.experiments.files.document import ConfigError, Fault
from dualgap.experiments.files.experiment import read_document
from dualgap.experiments.files.models import validate
from dualgap.experiments.operations.options import (
    ExecutorName,
    RunOptions,
    SchedulerAddress,
    Workers,
)
from dualgap.experiments.operations.terminal import defaults_file

Options = TypeVar("Options", bound=RunOptions)


class Defaults(BaseModel, frozen=True):
    """The keys of `dualgap.yaml`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    workers: Workers = Field(None, ge=get_args(Workers)[1].minimum)
    executor: ExecutorName = None
    address: SchedulerAddress = None
    out: str = Field("runs", description="parent of the results folders")
    data: str | None = Field(None, description="folder of data sets, instead of DUALGAP_DATA")

    def by_command(self) -> dict[str, Any]:
        """Return the defaults of options that combine with all others, by command."""
        return {} if self.workers is None else {"verify": {"workers": self.workers}}

    def completed(self, options: Options) -> Options:
        """Fill in missing options from the file, where they go together with the given ones."""
        workers, executor, address = options.workers, options.executor, options.address
        # a scheduler has its own workers
        if address is None and workers is None and executor in (None, self.executor):
            address = self.address
        if workers is None and address is None:
            workers = self.workers
        executor = executor or self.executor
        return replace(options, workers=workers, executor=executor, address=address)


def load_defaults() -> Defaults:
    """Read the user's defaults, if there is a file, and set DUALGAP_DATA from it.

    Raises
    ------
    ConfigError
        With all faults of the file, line by line.
    """
    path = defaults_file()
    if not path.is_file():
        return Defaults.model_validate({})
    document = read_document(path)
    if not isinstance(document.value, dict):
        keys = ", ".join(Defaults.model_fields)
        raise ConfigError(document, [Fault(f"must have keys such as {keys}")])
    defaults, faults = validate(Defaults, document.value)
    if defaults is None:
        raise ConfigError(document, faults)
    folders_by_key = {"out": defaults.out, "data": defaults.data}
    folders = {key: str(Path(value).expanduser()) for key, value in folders_by_key.items() if value}
    if "data" in folders:
        os.environ.setdefault("DUALGAP_DATA", folders["data"])
    return defaults.model_copy(update=folders)
