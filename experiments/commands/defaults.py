"""What a user wants of every command: `dualgap.yaml` in the platform's folder of configurations.

On Linux that is ~/.config/dualgap.yaml. What the command line says counts more.
"""

import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dualgap.experiments.commands.terminal import defaults_file
from dualgap.experiments.files.experiment import read_tree
from dualgap.experiments.files.keys import checked_keys
from dualgap.experiments.files.yamlfile import ConfigError, Fault


class Defaults(BaseModel, frozen=True):
    """The keys of `dualgap.yaml`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    workers: int | None = Field(None, ge=1, description="processes of `run` and `verify`")
    executor: str | None = Field(None, description="of `run`: local, dask, ...")
    address: str | None = Field(None, description="of a Dask scheduler")
    out: str = Field("runs", description="folder in which every run has one of its own")
    data: str | None = Field(None, description="folder of data sets, in place of DUALGAP_DATA")

    def by_command(self) -> dict[str, Any]:
        """Return the defaults of options that go with any others, by the names of commands."""
        return {} if self.workers is None else {"verify": {"workers": self.workers}}

    def completed(
        self, workers: int | None, executor: str | None, address: str | None
    ) -> tuple[int | None, str, str | None]:
        """Return how cases are run: as is given, and else as the file says, where both go together."""
        # a scheduler has workers of its own
        if address is None and workers is None and executor in (None, self.executor):
            address = self.address
        if workers is None and address is None:
            workers = self.workers
        return workers, executor or self.executor or "local", address


def take_defaults() -> Defaults:
    """Read the user's defaults, those of the toolkit where there is no file, and where data sets are.

    Raises
    ------
    ConfigError
        With everything that is wrong with the file, line by line.
    """
    path = defaults_file()
    if not path.is_file():
        return Defaults.model_validate({})
    _, root = read_tree(path)
    faults: list[Fault] = []
    if not isinstance(root.value, dict):
        raise ConfigError(
            path, [Fault(1, f"must have keys such as {', '.join(Defaults.model_fields)}")]
        )
    found = checked_keys(root, faults, Defaults)
    if found is None:
        raise ConfigError(path, faults)
    folders = {"out": found.out, "data": found.data}
    places = {key: str(Path(value).expanduser()) for key, value in folders.items() if value}
    if "data" in places:
        os.environ.setdefault("DUALGAP_DATA", places["data"])
    return found.model_copy(update=places)
