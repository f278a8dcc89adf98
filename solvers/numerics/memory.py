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
    """Return the bytes that can be taken before memory has to be swapped, or a process is killed.

    Of this process's control groups, from its own up to the outermost, the one that leaves least
    counts. Pages of files, which are given up when memory is needed, are free.
    """
    left = [int(psutil.virtual_memory().available)]
    with suppress(OSError):
        entries = (root / "proc/self/cgroup").read_text().splitlines()
        for _, controllers, name in (entry.split(":", 2) for entry in entries):
            folder, limit, used = _VERSIONS["memory" in controllers.split(",")]
            top = root / "sys/fs/cgroup" / folder
            group = top / name.lstrip("/")
            for place in (group, *group.parents):
                with suppress(OSError, ValueError):  # none of another group, and "max" is no limit
                    most, taken = (int((place / file).read_text()) for file in (limit, used))
                    lines = (place / "memory.stat").read_text().splitlines()
                    files = dict(line.split() for line in lines)
                    if place.is_relative_to(top):
                        left.append(max(0, most - taken + int(files.get("inactive_file", 0))))
    return min(left)
