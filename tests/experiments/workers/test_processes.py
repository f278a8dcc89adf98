import os
import subprocess
import sys

import pytest
from tests.experiments.functions import wait_for

from dualgap.experiments.workers.processes import Capture, oom_kills

FLOOD = """
import os
while True:
    try:
        os.write(2, b"x" * 65536)
    except BlockingIOError:
        pass
"""


def test_output_is_read_although_a_solver_made_its_pipe_non_blocking_and_filled_it():
    captured = Capture()
    os.set_blocking(captured.writer, False)
    with subprocess.Popen([sys.executable, "-c", FLOOD], stderr=captured.writer) as process:
        wait_for(lambda: captured.text().startswith("x"))
        texts = [captured.text() for _ in range(50)]
        process.kill()
    captured.close()
    assert {*"".join(texts)} == {"x"}


@pytest.mark.parametrize(
    ("files", "kills"),
    [
        ({}, 0),
        ({"proc/vmstat": "pgfault 9\noom_kill 3\n"}, 3),
        ({"proc/self/cgroup": "0::/\n", "proc/vmstat": "oom_kill 3\n"}, 3),
        (
            {
                "proc/self/cgroup": "0::/user/a:b\n",
                "sys/fs/cgroup/user/a:b/memory.events": "oom 8\noom_kill 2\noom_group_kill 1\n",
                "proc/vmstat": "oom_kill 3\n",
            },
            2,
        ),
        (
            {
                "proc/self/cgroup": "9:name=systemd:/\n5:cpu,memory:/job\n0::/\n",
                "sys/fs/cgroup/memory/job/memory.oom_control": "under_oom 0\noom_kill 1\n",
            },
            1,
        ),
    ],
    ids=["no /proc", "the machine's", "no group's", "version 2", "version 1"],
)
def test_out_of_memory_kills_are_counted_in_our_control_group(tmp_path, files, kills):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert oom_kills(tmp_path) == kills
