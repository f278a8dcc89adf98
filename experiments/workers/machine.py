"""The machine on which times are measured, and the conditions: commit, BLAS, clock, container, ..."""

import os
import platform
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
from threadpoolctl import threadpool_info

_ROOT = Path(__file__).resolve().parents[2]  # the root of a clone
_VARIABLES = ("OMP_", "MKL_", "OPENBLAS_", "NUMBA_", "DUALGAP_START_")


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


def provenance() -> dict[str, Any]:
    """Return the conditions under which a session runs; values are None or empty if unknown.

    Keys: date, git (commit, and whether the tree has changes), blas (library, version, threads),
    environment (variables of threads and processes), governor and current frequency (MHz) of the
    processor, container.
    """
    with suppress(ImportError):
        import_module("scipy.linalg")  # so that its thread pools are listed
    pools = [
        {
            "library": pool["internal_api"],
            "version": pool["version"],
            "threads": pool["num_threads"],
        }
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    ]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "git": _git(),
        "blas": pools,
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(_VARIABLES)},
        "governor": _text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "frequency": frequency(),
        "container": _container(),
    }


def frequency() -> float | None:
    """Return the current clock frequency in MHz, averaged over the cores; None if unknown."""
    with suppress(OSError, NotImplementedError, AttributeError):
        clock = psutil.cpu_freq()
        return round(clock.current, 1) if clock and clock.current else None
    return None


def core_frequency(root: Path = Path("/")) -> float | None:
    """Return the clock frequency in MHz of the core that executes this, else as `frequency`.

    `root` contains /sys.
    """
    with suppress(OSError, ValueError, AttributeError, psutil.Error):
        core = root / f"sys/devices/system/cpu/cpu{psutil.Process().cpu_num()}"
        return int((core / "cpufreq/scaling_cur_freq").read_text()) / 1000  # from kHz
    return frequency()


def throttle_events(root: Path = Path("/")) -> int | None:
    """Return how often cores, or their packages, were throttled for heat since the system started.

    It is None if unknown, as only Linux tells, and only on processors by Intel; `root` contains /sys.
    """
    paths = root.glob("sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count")
    counts = [int(text) for path in paths if (text := _text(path)).isdigit()]
    return sum(counts) if counts else None


def _git() -> dict[str, Any] | None:
    """Return the commit of a clone, and whether tracked files have changes; None without a clone."""
    if not (_ROOT / ".git").exists():
        return None
    outputs: list[str] = []
    for arguments in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"]):
        with suppress(OSError, subprocess.SubprocessError):
            outputs.append(
                subprocess.run(
                    ["git", "-C", str(_ROOT), *arguments],
                    capture_output=True,
                    text=True,
                    check=True,
                    timeout=20,
                ).stdout.strip()
            )
    return {"commit": outputs[0], "dirty": bool(outputs[1])} if len(outputs) == 2 else None


def _container() -> str:
    """Return the kind of container this process runs in, empty if none is detected."""
    for variable in ("APPTAINER_NAME", "SINGULARITY_NAME", "container"):
        if name := os.environ.get(variable):
            return name
    marks = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}
    marked = next((kind for mark, kind in marks.items() if Path(mark).exists()), "")
    groups = _text(Path("/proc/1/cgroup"))
    kinds = ("kubepods", "docker", "lxc", "containerd")
    return marked or next((kind for kind in kinds if kind in groups), "")


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text().strip()
    return ""
