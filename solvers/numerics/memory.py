"""Available memory: that of the machine, within the limits of control groups."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil


def available(root: Path = Path("/")) -> int:
    """Return the bytes that can be allocated before memory is swapped or a process is killed.

    This is the smallest amount among the machine and the control groups of this process, from the
    innermost to the outermost. Inactive file pages, which are reclaimed on demand, count as free.
    """
    free = [int(psutil.virtual_memory().available)]
    with suppress(OSError):
        entries = (root / "proc/self/cgroup").read_text().splitlines()
        for _, controllers, name in (entry.split(":", 2) for entry in entries):
            if "memory" in controllers.split(","):  # version 1 of control groups
                folder, limit, used = "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            else:
                folder, limit, used = "", "memory.max", "memory.current"
            top = root / "sys/fs/cgroup" / folder
            group = top / name.lstrip("/")
            for path in (group, *group.parents):
                with suppress(OSError, ValueError):  # files may be missing; "max" means no limit
                    maximum, current = (int((path / file).read_text()) for file in (limit, used))
                    lines = (path / "memory.stat").read_text().splitlines()
                    files = dict(line.split() for line in lines)
                    if path.is_relative_to(top):
                        free.append(max(0, maximum - current + int(files.get("inactive_file", 0))))
    return min(free)
