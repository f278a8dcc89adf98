import pytest

from dualgap.experiments.workers.processes import oom_kills


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
