"""Conditions of a time measurement except for the machine: commit, BLAS, threads, clock, container."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
from threadpoolctl import threadpool_info

_ROOT = Path(__file__).resolve().parents[2]  # the root of a clone
_VARIABLES = ("OMP_", "MKL_", "OPENBLAS_", "NUMBA_")
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_FREQUENCY_RTOL = 0.1  # smaller differences between sessions are not worth a remark


def provenance() -> dict[str, Any]:
    """Return the conditions under which a session runs; values are None or empty if unknown.

    Keys: date, git (commit, and whether the tree has changes), blas (library, version, threads),
    environment (variables that set threads), governor and current frequency (MHz) of the processor,
    container.
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
        "governor": _text(_GOVERNOR),
        "frequency": frequency(),
        "container": _container(),
    }


def frequency() -> float | None:
    """Return the current clock frequency in MHz, averaged over the cores; None if unknown."""
    with suppress(OSError, NotImplementedError, AttributeError):
        clock = psutil.cpu_freq()
        return round(clock.current, 1) if clock and clock.current else None
    return None


def changed_conditions(
    old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return one phrase per condition that differs between the sessions of two folders.

    Folders of earlier releases, which do not record conditions, never differ.
    """
    labels = {"git": "commit", "blas": "BLAS", "environment": "variables of threads"}
    differences: list[str] = []
    for key in ("git", "blas", "environment", "governor", "container") if old and new else ():
        before, now = ({_value_text(each.get(key)) for each in sessions} for sessions in (old, new))
        if before != now:
            texts = (" and ".join(sorted(values)) for values in (before, now))
            differences.append(f"{labels.get(key, key)}: {' against '.join(texts)}")
    clocks = [
        [
            each[key]
            for each in sessions
            for key in ("frequency", "frequency_after")
            if each.get(key)
        ]
        for sessions in (old, new)
    ]
    if all(clocks):
        before, now = (sum(each) / len(each) for each in clocks)
        if abs(now - before) > _FREQUENCY_RTOL * before:
            differences.append(f"processor's clock: {before:.0f} MHz against {now:.0f} MHz")
    return differences


def _value_text(value: Any) -> str:
    """Format a value of `provenance`."""
    if isinstance(value, dict):
        if "commit" in value:
            return f"{value['commit'][:10]}{' with changes' * bool(value['dirty'])}"
        return " ".join(f"{k}={v}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        pools = (
            f"{p['library']} {p['version']} on {p['threads']} thread{'s' * (p['threads'] != 1)}"
            for p in value
        )
        return ", ".join(sorted(pools)) or "none"  # sorted, as the load order varies
    return str(value or "unknown")


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
