"""Where times come from besides the machine: the commit, BLAS, threads, the clock, a container."""

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

_ROOT = Path(__file__).resolve().parents[2]  # of a clone
_VARIABLES = ("OMP_", "MKL_", "OPENBLAS_", "NUMBA_")
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_CLOCKS_APART = 0.1  # relative, of the frequencies of two sessions


def provenance() -> dict[str, Any]:
    """Return what is known of where a session runs; None or nothing where it cannot be found out.

    Keys: date, git (commit, and whether the tree has changes), blas (library, version, threads),
    environment (variables of threads), governor and frequency (MHz, now) of the processor, container.
    """
    with suppress(ImportError):
        import_module("scipy.linalg")  # so that its pools are there to be seen
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
    """Return the clock of the processor now, in MHz, the mean over its cores; None if it is unknown."""
    with suppress(OSError, NotImplementedError, AttributeError):
        known = psutil.cpu_freq()
        return round(known.current, 1) if known and known.current else None
    return None


def differing(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a phrase for each thing that the sessions of two folders do not share.

    Folders that say nothing of it, as those of earlier releases, differ in nothing.
    """
    named = {"git": "commit", "blas": "BLAS", "environment": "variables of threads"}
    found: list[str] = []
    for key in ("git", "blas", "environment", "governor", "container") if old and new else ():
        before, now = ({_shown(each.get(key)) for each in sessions} for sessions in (old, new))
        if before != now:
            texts = (" and ".join(sorted(values)) for values in (before, now))
            found.append(f"{named.get(key, key)}: {' against '.join(texts)}")
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
        if abs(now - before) > _CLOCKS_APART * before:
            found.append(f"processor's clock: {before:.0f} MHz against {now:.0f} MHz")
    return found


def _shown(value: Any) -> str:
    """Return a value of `provenance` as text."""
    if isinstance(value, dict):
        if "commit" in value:
            return f"{value['commit'][:10]}{' with changes' * bool(value['dirty'])}"
        return " ".join(f"{k}={v}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        pools = (
            f"{p['library']} {p['version']} on {p['threads']} thread{'s' * (p['threads'] != 1)}"
            for p in value
        )
        return ", ".join(sorted(pools)) or "none"  # libraries are loaded in any order
    return str(value or "unknown")


def _git() -> dict[str, Any] | None:
    """Return the commit of a clone, and whether its tracked files have changes; None of a wheel."""
    if not (_ROOT / ".git").exists():
        return None
    told: list[str] = []
    for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"]):
        with suppress(OSError, subprocess.SubprocessError):
            told.append(
                subprocess.run(
                    ["git", "-C", str(_ROOT), *words],
                    capture_output=True,
                    text=True,
                    check=True,
                    timeout=20,
                ).stdout.strip()
            )
    return {"commit": told[0], "dirty": bool(told[1])} if len(told) == 2 else None


def _container() -> str:
    """Return what kind of container this is, empty where there is none that shows."""
    for variable in ("APPTAINER_NAME", "SINGULARITY_NAME", "container"):
        if name := os.environ.get(variable):
            return name
    marks = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}
    found = next((kind for mark, kind in marks.items() if Path(mark).exists()), "")
    groups = _text(Path("/proc/1/cgroup"))
    kinds = ("kubepods", "docker", "lxc", "containerd")
    return found or next((kind for kind in kinds if kind in groups), "")


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text().strip()
    return ""
