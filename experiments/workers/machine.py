"""The machine that times were measured on, as a benchmark has to describe it."""

import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil


def machine() -> dict[str, Any]:
    """Return the processor's name, the cores this process may use, and the memory in bytes."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        named = next(line for line in lines if line.startswith("model name"))
        processor = named.partition(":")[2].strip()
    memory = int(psutil.virtual_memory().total)
    return {"processor": processor, "cores": cores(), "memory": memory}


def cores() -> int:
    """Return how many processor cores this process may use; of a SLURM job those it has asked for."""
    here = len(psutil.Process().cpu_affinity() or [0]) if psutil.LINUX else os.cpu_count() or 1
    return min(here, int(os.environ.get("SLURM_CPUS_ON_NODE", here)))


def bytes_text(size: float) -> str:
    """Return a number of bytes in MiB or GiB."""
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
