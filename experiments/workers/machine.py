"""Description of the machine on which times were measured."""

import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil


def machine() -> dict[str, Any]:
    """Return the processor, the number of cores this process may use, and the memory in bytes."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        named = next(line for line in lines if line.startswith("model name"))
        processor = named.partition(":")[2].strip()
    memory = int(psutil.virtual_memory().total)
    return {"processor": processor, "cores": cores(), "memory": memory}


def cores() -> int:
    """Return the number of processor cores this process may use; in a SLURM job those requested."""
    usable = len(psutil.Process().cpu_affinity() or [0]) if psutil.LINUX else os.cpu_count() or 1
    return min(usable, int(os.environ.get("SLURM_CPUS_ON_NODE", usable)))


def bytes_text(size: float) -> str:
    """Format a number of bytes in MiB or GiB."""
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
