"""How much memory a solver may take: what the machine has left, within the limits of control groups."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil

# Of each version of control groups: its folder, its limit and what is used of that
_VERSIONS = (
    ("", "memory.max", "memory.current"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def available(root: Path = Path("/")) -> int:
    """Return the bytes that can be taken before memory has to be swapped, or a process is killed."""
    return min([int(psutil.virtual_memory().available), *_left_in_groups(root)])


def _left_in_groups(root: Path) -> list[int]:
    """Return what this process's control groups leave, from its own up to the outermost.

    Pages of files, which are given up when memory is needed, count as free.
    """
    found: list[int] = []
    with suppress(OSError):
        entries = (root / "proc/self/cgroup").read_text().splitlines()
        for _, controllers, name in (entry.split(":", 2) for entry in entries):
            folder, limit, used = _VERSIONS["memory" in controllers.split(",")]
            top = root / "sys/fs/cgroup" / folder
            group = top / name.lstrip("/")
            for place in (group, *group.parents):
                if place.is_relative_to(top):
                    found += _left(place, limit, used)
    return found


def _left(group: Path, limit: str, used: str) -> list[int]:
    with suppress(OSError, ValueError):  # "max" is no limit
        most, taken = (int((group / name).read_text()) for name in (limit, used))
        lines = (line.split() for line in (group / "memory.stat").read_text().splitlines())
        files = {name: int(value) for name, value in lines}
        return [max(0, most - taken + files.get("inactive_file", 0))]
    return []
