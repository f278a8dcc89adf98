"""Checkpoints: the state after an iteration on disk, from which a killed run continues.

One file in a folder, named by a hash of all that determines the iterations: the blocks with their
checksums, C, the loss, the intercept and the relevant settings. It is removed once there is an answer.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from dualgap.problems.forms import Sharded


class Checkpoint:
    """The file of one problem, in a folder that is created if missing; no file without a folder.

    Parameters
    ----------
    settings : those that determine the iterations, along with the form.
    """

    def __init__(self, folder: str | None, form: Sharded, *settings: Any) -> None:
        self.path: Path | None = None
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            identity = repr((form.blocks, form.C, form.loss, form.intercept, settings))
            self.path = Path(folder, f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.npz")

    def read(self) -> dict[str, Any] | None:
        """Return the last arrays written; None if there are none, or the file is corrupt."""
        if self.path is not None:
            faults = FileNotFoundError, ValueError, EOFError, BadZipFile
            with suppress(*faults), self.path.open("rb") as file, np.load(file) as stored:
                return dict(stored)
        return None

    def write(self, arrays: dict[str, Any]) -> None:
        """Replace the arrays, so that a kill at any moment leaves either the old or the new ones."""
        if self.path is not None:
            new = self.path.with_suffix(f".{os.getpid()}.new")
            with new.open("wb") as file:
                np.savez(file, **arrays)
            new.replace(self.path)

    def remove(self) -> None:
        """Remove the file."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
