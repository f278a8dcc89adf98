"""The command line: `dualgap run`, `verify`, `plot`, `report`, `compare`, `list`, `selftest`, ...

Exit codes: 0 when everything succeeded; 1 when a row is wrong, crashed, diverged or out of
memory, or a check failed; 2 for bad input; 130 when interrupted. Everything heavy is imported inside
the commands, so that `dualgap --help` answers at once.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from experiments.commands.exchange import certify, export
from experiments.commands.publish import publish
from experiments.commands.write import init, schema, table
from experiments.output.terminal import (
    INTERRUPTED,
    Commands,
    console,
    find,
    find_one,
    prepare,
    print_json,
    read,
    refuse,
    refusing,
    writing,
)

_EVERYTHING = (
    *("solvers", "problems", "losses", "datasets", "kernels", "experiments", "columns"),
    "properties",
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dualgap", prog_name="dualgap")
def main() -> None:
    """Compare solvers on support vector machine problems, and believe none of them."""
    prepare()


@main.command()
@click.argument("experiment", metavar="FILE|NAME")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the results [runs/<name>].")
@click.option("--resume", is_flag=True, help="Run only what the folder does not have yet.")
@click.option("--retry", metavar="STATUS,...", help="Resume, and rerun runs with these statuses.")
@click.option(
    "--force", is_flag=True, help="Resume although plan, code, libraries or data changed."
)
@click.option("--workers", type=click.IntRange(1), help="Processes [1].")
@click.option(
    "--executor", metavar="NAME|FILE:CLASS", default="local", help="local, dask, ... [local]"
)
@click.option("--address", metavar="TCP://HOST:PORT", help="A running Dask scheduler [a new one].")
@click.option("--dry-run", is_flag=True, help="Only show the plan, and about how long it takes.")
def run(
    experiment: str,
    out: Path | None,
    resume: bool,
    retry: str | None,
    force: bool,
    workers: int | None,
    executor: str,
    address: str | None,
    dry_run: bool,
) -> None:
    """Run an experiment: every problem with every solver, each answer certified.

    A folder of experiment files, or its name (such as notes), stands for all of them.
    """
    from experiments.commands.session import RunOptions, retried, run_into  # noqa: PLC0415

    options = RunOptions(
        resume=resume or force or retry is not None,
        retry=retried(retry),
        force=force,
        workers=workers,
        executor=executor,
        address=address,
    )
    files = find(experiment)
    described = [read(file) for file in files]  # all are checked before the first is run
    several = files[0].stem != Path(experiment).stem
    folder = out or Path("runs") / (Path(experiment).name if several else described[0].name)
    if dry_run:
        from experiments.commands.dry_run import preview  # noqa: PLC0415

        for one in described:
            place = folder / one.name if several else folder
            console().print(preview(one, place, workers or 1, options.resume))
        return
    code = 0
    for one in described:
        ended = run_into(one, folder / one.name if several else folder, options)
        if ended.early:
            click.echo(
                f"{ended.early}; resume with: dualgap run {experiment} --out {folder} --resume",
                err=True,
            )
            sys.exit(ended.code)
        code = max(code, ended.code)
    sys.exit(code)


@main.command()
@click.argument("experiment", metavar="[FILE|NAME]", default="verify")
@click.option("--solver", "more", metavar="NAME|FILE:CLASS", multiple=True, help="Check it too.")
@click.option("--out", type=click.Path(path_type=Path), help="Keep runs and tables in this folder.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--rigorous", is_flag=True, help="Prove every bound in ball arithmetic.")
@click.option(
    "--tolerance",
    type=click.FloatRange(0, min_open=True),
    default=1e-6,
    show_default=True,
    help="Largest relative difference that passes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def verify(
    experiment: str,
    more: tuple[str, ...],
    out: Path | None,
    workers: int,
    rigorous: bool,
    tolerance: float,
    as_json: bool,
) -> None:
    """Check every solver against the optimum that two QP back ends agree on.

    Exit 1 if any differs by more than the tolerance, or, with --rigorous, contradicts another; what is
    wrong with it is then said once, with the step of SMO that it points to.
    """
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    from experiments.commands.session import RunOptions  # noqa: PLC0415
    from experiments.commands.verify import verify_into, with_solvers  # noqa: PLC0415
    from experiments.files.experiment import ConfigError  # noqa: PLC0415

    with refusing(ConfigError):
        described = with_solvers(read(find_one(experiment)), more)
    if rigorous:
        described = described.model_copy(update={"target": "proven"})
    with TemporaryDirectory() as scratch:
        options = RunOptions(workers=workers)
        folder = out or Path(scratch)
        verification, early = verify_into(described, folder, options, bool(out), tolerance, as_json)
    if early:
        click.echo(f"{early}: not every problem was checked", err=True)
    sys.exit(130 if early == INTERRUPTED else 0 if verification.passed and not early else 1)


@main.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--figure", "names", metavar="NAME|FILE:CLASS", multiple=True, help="Draw it [all].")
def plot(folder: Path, names: tuple[str, ...]) -> None:
    """Draw the figures of a results FOLDER."""
    from experiments.plots import plot_all  # noqa: PLC0415
    from experiments.store.manifest import StoreError  # noqa: PLC0415

    with refusing(StoreError, ValueError), writing(folder):
        paths = plot_all(folder, names)
    for path in paths:
        if path.suffix != ".svg":
            click.echo(f"{path} (and .svg)" if path.suffix == ".png" else path)


@main.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="[FOLDER/report.html]")
def report(folder: Path, out: Path | None) -> None:
    """Write a report on a results FOLDER as one HTML file."""
    from experiments.report import write_report  # noqa: PLC0415
    from experiments.store.manifest import StoreError  # noqa: PLC0415

    target = out or folder / "report.html"
    with refusing(StoreError), writing(target):
        written = write_report(folder, target)
    click.echo(written)


@main.command("compare")
@click.argument("first", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("second", type=click.Path(exists=True, file_okay=False, path_type=Path))
def compare_folders(first: Path, second: Path) -> None:
    """Compare two results folders: which runs became faster, slower, right or wrong.

    Exit 1 if something became wrong, unsolved or broken in the SECOND.
    """
    from experiments.analysis.compare import regressed, set_side_by_side  # noqa: PLC0415
    from experiments.output.comparison import to_terminal  # noqa: PLC0415
    from experiments.store.manifest import StoreError, read_manifest  # noqa: PLC0415
    from experiments.store.reading import load_results  # noqa: PLC0415

    with refusing(StoreError):
        changes = set_side_by_side(load_results(first), load_results(second))
    console().print(to_terminal(changes, read_manifest(first), read_manifest(second)))
    sys.exit(1 if regressed(changes) else 0)


@main.command()
@click.argument("names", metavar="[NAME|FILE]...", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), help="Their folder [build/gallery].")
@click.option("--show", is_flag=True, help="Open each figure as soon as it is drawn.")
def gallery(names: tuple[str, ...], out: Path | None, show: bool) -> None:
    """Draw the figures of the lecture notes: all, by NAME, or from a script of your own.

    Like those in experiments/gallery it has compute(), which returns the numbers, and draw(numbers),
    which returns the figure.
    """
    from experiments.gallery import FOLDER, draw_figures  # noqa: PLC0415

    with refusing(ValueError), writing(out or FOLDER):
        for paths in draw_figures(out or FOLDER, names):
            click.echo(f"{paths[-1]} (and .svg)")
            if show and click.launch(str(paths[-1])) != 0:
                refuse("--show: nothing on this machine opens a picture; leave the option away")


@main.command("list")
@click.argument("kind", type=click.Choice(_EVERYTHING), required=False)
def list_names(kind: str | None) -> None:
    """List the names that experiment files accept, with their settings, and the columns of results."""
    from experiments.commands.listing import listing  # noqa: PLC0415

    for chosen in [kind] if kind else _EVERYTHING:
        console().print(listing(chosen))


@main.command()
@click.argument("solver", metavar="NAME|FILE:CLASS")
@click.option("--property", "only", metavar="NAME", multiple=True, help="Test only this one [all].")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def selftest(solver: str, only: tuple[str, ...], as_json: bool) -> None:
    """Test a solver's behaviour and claims on small problems; this takes at most two minutes.

    Exit 1 if a property fails.
    """
    from experiments.output.progress import progress  # noqa: PLC0415
    from experiments.selftest import properties, try_solver  # noqa: PLC0415
    from experiments.selftest.report import line, to_json, to_terminal  # noqa: PLC0415

    try:
        with refusing(ValueError):
            chosen = properties(only)
            with progress(len(chosen), line) as advance:
                report = try_solver(solver, properties=chosen, progress=advance)
    except KeyboardInterrupt:
        click.echo(INTERRUPTED, err=True)
        sys.exit(130)
    if as_json:
        print_json(to_json(report))
    else:
        console().print(to_terminal(report))
    sys.exit(0 if report.passed else 1)


@main.command()
def doctor() -> None:
    """Examine this installation, and solve a small problem with it."""
    from experiments.commands.doctor import examine  # noqa: PLC0415

    report, healthy = examine()
    console().print(report)
    sys.exit(0 if healthy else 1)


for command in (init, schema, table, publish, certify, export):
    main.add_command(command)


if __name__ == "__main__":
    main()
