"""`dualgap run`: run an experiment, or rerun a results folder or an archive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dualgap.experiments.commands import change_options, run_options
from dualgap.experiments.operations.options import CommandOptions
from dualgap.experiments.operations.terminal import say
from dualgap.experiments.records import Refusal

if TYPE_CHECKING:
    from dualgap.experiments.operations.run import Recorded


@click.command("run")
@click.argument("experiment", metavar="FILE|NAME|DIR|ARCHIVE.zip")
@change_options
@run_options()
@click.option("--dry-run", is_flag=True, help="Only show the plan and a bound on its time.")
@click.option(
    "--profile",
    is_flag=True,
    help="Only profile one run, of the --solver on the --problem, and write its calls as HTML.",
)
@click.option("--check", is_flag=True, help="Rerun an archive and report what differs.")
def command(
    experiment: str,
    options: CommandOptions,
    changes: list[tuple[str, str]],
    dry_run: bool,
    profile: bool,
    check: bool,
) -> Iterator[Recorded] | None:
    """Run every solver on every problem and certify each answer.

    Given a folder of experiment files, or its name (such as notes), all of them are run. A results
    folder is rerun from the experiment it contains; an archive is rerun with --check.
    """
    from dualgap.experiments.operations.defaults import load_defaults  # noqa: PLC0415

    defaults = load_defaults()
    options = defaults.completed(options)
    is_archive = Path(experiment).suffix == ".zip"
    if check or is_archive:
        if not (check and is_archive) or changes or options.resumes or options.shard or dry_run:
            raise Refusal(
                f"Cannot run {experiment} with these options. Use --check with an archive (.zip), "
                "together with only --out, --workers, --executor, --scheduler, --quiet and --json."
            )
        from dualgap.experiments.operations.archive import rerun_archive  # noqa: PLC0415

        return rerun_archive(Path(experiment), options)
    if profile:
        from dualgap.experiments.operations.profile import profile_run  # noqa: PLC0415

        say(profile_run(experiment, options, defaults.out, changes))
        return None
    if dry_run:
        from dualgap.experiments.operations.dry_run import show_plans  # noqa: PLC0415

        show_plans(experiment, options, defaults.out, changes)
        return None
    from dualgap.experiments.operations.run import run_all  # noqa: PLC0415

    return run_all(experiment, options, defaults.out, changes)
