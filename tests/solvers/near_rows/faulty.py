"""Blocks that do harm when they are read, which workers of Dask can read too."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from dualgap.problems.datasets.block_sources import GeneratedSource


@dataclass(frozen=True)
class DeadlySource(GeneratedSource):
    """Its block 1 kills the process that reads it for the times in `deaths`, but never the driver.

    Attributes
    ----------
    folder : where readings are counted. driver : the process to spare.
    """

    folder: str = ""
    driver: int = 0
    deaths: tuple[int, ...] = ()

    def load(self, k, original):
        """Draw one block, or die."""
        if k == 1 and os.getpid() != self.driver:
            readings = len(os.listdir(self.folder))
            Path(self.folder, str(readings)).touch()
            if readings in self.deaths:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().load(k, original)
