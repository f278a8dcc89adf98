"""Memory that may be taken: the machine's, and less within a control group."""

from pathlib import Path

import psutil
import pytest

from dualgap.solvers.numerics.memory import available


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.mark.parametrize(
    ("files", "unused"),
    [
        (
            {
                "proc/self/cgroup": "0::/user/job\n",
                "sys/fs/cgroup/user/memory.max": "5000000\n",
                "sys/fs/cgroup/user/memory.current": "3000000\n",
                "sys/fs/cgroup/user/memory.stat": "anon 1000000\ninactive_file 500000\n",
                "sys/fs/cgroup/user/job/memory.max": "max\n",
                "sys/fs/cgroup/user/job/memory.current": "10\n",
            },
            2_500_000,
        ),
        (
            {
                "proc/self/cgroup": "5:cpu,memory:/job\n0::/\n",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "4000000\n",
                "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "4100000\n",
                "sys/fs/cgroup/memory/job/memory.stat": "cache 5\n",
            },
            0,
        ),
    ],
)
def test_available_memory_is_what_the_control_group_has_unused(
    tmp_path: Path, files: dict[str, str], unused: int
) -> None:
    assert available(tree(tmp_path, files)) == unused


def test_available_memory_without_control_groups_is_that_of_the_machine(tmp_path: Path) -> None:
    assert 0 < available(tmp_path) <= psutil.virtual_memory().total
    assert available() > 0
