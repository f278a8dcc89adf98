"""What a driver keeps on disk after an iteration, from which another goes on if it is killed.

One file in a folder, named after a hash of all that decides the iterations: the blocks with their
checksums, C, the loss, the intercept and the settings that matter. It is gone once the answer is there.
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
    """The file of one problem, in a folder that is made if it is missing; none without a folder.

    Parameters
    ----------
    settings : those that decide the iterations, beside the form.
    """

    def __init__(self, folder: str | None, form: Sharded, *settings: Any) -> None:
        self.path: Path | None = None
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            known = repr((form.blocks, form.C, form.loss, form.intercept, settings))
            self.path = Path(folder, f"{hashlib.sha256(known.encode()).hexdigest()[:16]}.npz")

    def read(self) -> dict[str, Any] | None:
        """Return the arrays that were written last; None if there are none, or the file is damaged."""
        if self.path is not None:
            faults = FileNotFoundError, ValueError, EOFError, BadZipFile
            with suppress(*faults), self.path.open("rb") as file, np.load(file) as stored:
                return dict(stored)
        return None

    def write(self, arrays: dict[str, Any]) -> None:
        """Replace them, so that a kill at any moment leaves the old ones or the new ones."""
        if self.path is not None:
            new = self.path.with_suffix(f".{os.getpid()}.new")
            with new.open("wb") as file:
                np.savez(file, **arrays)
            new.replace(self.path)

    def remove(self) -> None:
        """Leave nothing behind."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
