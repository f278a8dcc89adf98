"""A SLURM cluster of one node, on this machine: munged, slurmctld and slurmd, which end with it."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from tests.experiments.functions import wait_for

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel")
CORES = 8  # that the node says it has, however many these are
CONFIGURATION = """\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=1
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SlurmdTimeout=5
SlurmctldTimeout=5
KillWait=2
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=1000
PartitionName=all Nodes={host} Default=YES MaxTime=60 State=UP
"""


class OneNode:
    """A running cluster.

    Attributes
    ----------
    environment : with which commands find it.
    """

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        for name in ("state", "spool"):
            (folder / name).mkdir()
        ports, host = [_free_port(), _free_port()], socket.gethostname()
        text = CONFIGURATION.format(host=host, folder=folder, ports=ports, cores=CORES)
        (folder / "slurm.conf").write_text(text)
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # of which nothing is used
        (folder / "key").write_bytes(os.urandom(128))
        (folder / "key").chmod(0o600)
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        files = {f"--{name}-file": f"munge.{name}" for name in ("pid", "log", "seed")}
        files |= {"--key-file": "key", "--socket": "munge.socket"}
        options = [f"{option}={folder / name}" for option, name in files.items()]
        self._start_process("munged", "--foreground", "--force", *options)
        wait_for((folder / "munge.socket").exists, 20)
        self._start_process("slurmctld", "-D")
        self.start_node()
        wait_for(lambda: self.state() == "idle", 30)

    def start_node(self) -> None:
        """Start the daemon of the node."""
        self._start_process("slurmd", "-D")

    def lose_node(self) -> None:
        """Kill the node: its daemon, and all that belongs to jobs."""
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                variables = process.environ()
                of_node = process.name() == "slurmd" or "SLURM_JOB_ID" in variables
                if of_node and variables.items() >= self.environment.items():
                    if (parent := process.parent()) and parent.name() == "slurmstepd":
                        parent.kill()  # it would report the end of the job
                    process.kill()

    def state(self) -> str:
        """Return the state of the node, such as idle or down."""
        return self.ask("sinfo", "--noheader", "--format=%T").strip()

    def ask(self, *command: str) -> str:
        """Return what a command of SLURM prints."""
        environment = os.environ | self.environment
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        ).stdout

    def _start_process(self, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{command[0]}.out").open("ab") as log:
            process = subprocess.Popen(
                command, env=os.environ | self.environment, stdout=log, stderr=log
            )
        self._stack.callback(_end, process)
        return process


@contextmanager
def one_node() -> Iterator[OneNode]:
    """Start a cluster, and end it; what fails while it starts is an AssertionError."""
    with (
        TemporaryDirectory(prefix="one-node-", ignore_cleanup_errors=True) as folder,
        ExitStack() as stack,
    ):
        cluster = OneNode(Path(folder), stack)
        stack.callback(cluster.lose_node)
        yield cluster


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
