"""Options that several commands share, declared once for the command line, Python and `dualgap.yaml`.

A field of `RunOptions` is an option of commands and a parameter of `experiments.run`. Those with a named
type (`Workers`, ...) are keys of `dualgap.yaml` as well, see `Defaults`.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, get_args

from dualgap.experiments.records import Refusal


class ClickOption(NamedTuple):
    """How the command line shows a field: its help, its values, and its name if it differs."""

    help: str
    metavar: str | None = None
    name: str | None = None
    minimum: int | None = None


Workers = Annotated[int | None, ClickOption("Worker processes [1].", minimum=1)]
ExecutorName = Annotated[
    str | None, ClickOption("local, dask, slurm, ... [local]", metavar="NAME|FILE:CLASS")
]
SchedulerAddress = Annotated[
    str | None,
    ClickOption("Use this running Dask scheduler [start one].", "TCP://HOST:PORT", "scheduler"),
]


@dataclass(frozen=True)
class RunOptions:
    """Options of running an experiment.

    Attributes
    ----------
    out : results folder; default runs/<name>.
    resume : keep all recorded runs and run what is missing or new; `rerun` and `force` imply it.
    rerun : runs to repeat: "solver:NAME", by name or label, or "status:NAME", by status or verdict.
    shard : "I/N": run only every N-th problem of the plan from the I-th on, see `cases.shard`.
    force : resume even if code, libraries or data have changed, and replace the folder's plan.
    workers : processes. executor : local, dask, slurm or a user's class. address : of a Dask scheduler.
    quiet : show no progress, print only warnings and errors.
    """

    out: Annotated[str | Path | None, ClickOption("Results folder [runs/<name>].")] = None
    _: KW_ONLY
    resume: Annotated[bool, ClickOption("Keep recorded runs, run only what is missing or new.")] = (
        False
    )
    rerun: Annotated[
        Sequence[str],
        ClickOption(
            "Resume, and repeat the runs of this solver, or with this status or verdict.",
            metavar="solver:NAME|status:NAME",
        ),
    ] = ()
    shard: Annotated[
        str | None,
        ClickOption(
            "Run only every N-th problem from the I-th on; commands may share --out.", "I/N"
        ),
    ] = None
    force: Annotated[
        bool, ClickOption("Resume with this plan alone, even if code, libraries or data changed.")
    ] = False
    workers: Workers = None
    executor: ExecutorName = None
    address: SchedulerAddress = None
    quiet: Annotated[bool, ClickOption("Print only warnings and errors.")] = False

    def __post_init__(self) -> None:
        """Refuse what `shard` and `rerun` cannot be."""
        if self.shard is not None:
            from dualgap.experiments.cases.shard import Shard  # noqa: PLC0415

            try:
                Shard.parse(self.shard)
            except ValueError as error:
                raise Refusal(f"--shard {error}") from None
        for value in self.rerun:
            kind, _, name = value.partition(":")
            if kind not in ("solver", "status") or not name:
                raise Refusal(f"--rerun must be solver:NAME or status:NAME; got {value!r}")
            if kind == "status" and name not in (accepted := _ends()):
                raise Refusal(f"--rerun status: must be one of {', '.join(accepted)}; got {name!r}")

    @property
    def resumes(self) -> bool:
        """Whether recorded runs are kept."""
        return self.resume or self.force or bool(self.rerun)

    def rerun_names(self, kind: Literal["solver", "status"]) -> list[str]:
        """Return the names of solvers, or the statuses and verdicts, to rerun."""
        pairs = (value.split(":", 1) for value in self.rerun)
        return [name for prefix, name in pairs if prefix == kind]

    def resume_arguments(self) -> list[str]:
        """Return the options of a command that resumes one with these options."""
        options = {
            "--workers": self.workers,
            "--executor": self.executor if self.executor != "local" else None,
            "--scheduler": self.address,
            "--shard": self.shard,
        }
        # runs to rerun are missing in the folder from now on
        pairs = [(option, str(value)) for option, value in options.items() if value is not None]
        return [*(part for pair in pairs for part in pair), "--resume"]


@dataclass(frozen=True)
class CommandOptions(RunOptions):
    """Options of running an experiment by a command; `as_json` : print only JSON to standard output."""

    as_json: Annotated[bool, ClickOption("Print the result as JSON.", name="json")] = False


def _ends() -> list[str]:
    """Return all statuses and verdicts."""
    from dualgap.solvers.base import Status  # noqa: PLC0415
    from dualgap.solvers.running.verdicts import Verdict  # noqa: PLC0415

    return list(dict.fromkeys([*map(str, Status), *get_args(Verdict)]))
