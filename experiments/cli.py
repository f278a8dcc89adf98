"""The command line: `dualgap run`, `verify`, `plot`, `list`, `selftest`, `doctor`.

Exit codes: 0 when everything asked for came out; 1 when a row is wrong, crashed, diverged or out of
memory, or a check failed; 2 for bad input; 130 when interrupted. Everything heavy is imported inside
the commands, so that `dualgap --help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from experiments.config import Experiment
    from experiments.executors import Executor
    from experiments.plan import Case
    from experiments.store import Store

WIDTH = 100  # columns, where the output is not a terminal
_INTERRUPTED = "interrupted"
_EVERYTHING = ("solvers", "problems", "losses", "datasets", "kernels", "experiments")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dualgap", prog_name="dualgap")
def main() -> None:
    """Compare solvers on support vector machine problems, and believe none of them."""


@main.command()
@click.argument("experiment", metavar="FILE|NAME")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the results [runs/<name>].")
@click.option("--resume", is_flag=True, help="Run only what the folder does not have yet.")
@click.option("--retry", metavar="STATUS,...", help="Resume, and run again what ended so.")
@click.option("--anyway", is_flag=True, help="Resume though plan, code or libraries have changed.")
@click.option("--workers", type=click.IntRange(1), help="Processes [1].")
@click.option("--executor", type=click.Choice(["local", "dask"]), default="local", help="[local]")
@click.option("--address", metavar="TCP://HOST:PORT", help="A running Dask scheduler [a new one].")
def run(
    experiment: str,
    out: Path | None,
    resume: bool,
    retry: str | None,
    anyway: bool,
    workers: int | None,
    executor: str,
    address: str | None,
) -> None:
    """Run an experiment: every problem with every solver, each answer certified."""
    from experiments.plan import outside_files, plan  # noqa: PLC0415
    from experiments.store import Store, StoreError, recorded  # noqa: PLC0415

    described = read(experiment)
    cases = plan(described)
    again = _endings(retry)
    chosen = _executor(described, executor, workers, address)
    folder = out or Path("runs") / described.name
    try:
        store = Store.open(
            folder,
            described.text,
            [case.run_id for case in cases],
            resume=resume or anyway or retry is not None,
            anyway=anyway,
            files=outside_files(cases),
        )
    except StoreError as error:
        refuse(str(error))
    done = recorded(folder, again)
    left = [case for case in cases if case.run_id not in done]
    ending = _run_all(chosen, left, store)
    results = _report(folder, described.name)
    if ending:
        click.echo(
            f"{ending}; go on with: dualgap run {experiment} --out {folder} --resume", err=True
        )
        sys.exit(130 if ending == _INTERRUPTED else 1)
    sys.exit(1 if _any_bad(results) else 0)


def _endings(names: str | None) -> list[str]:
    """Return the statuses and verdicts that a list names; exit with 2 if it names something else."""
    from typing import get_args  # noqa: PLC0415

    from solvers.base import Status  # noqa: PLC0415
    from solvers.solution import Verdict  # noqa: PLC0415

    accepted = list(dict.fromkeys([*map(str, Status), *get_args(Verdict)]))
    chosen = [] if names is None else [name.strip() for name in names.split(",")]
    for name in chosen:
        if name not in accepted:
            refuse(f"--retry: must list, by commas, some of {', '.join(accepted)}; got {name!r}")
    return chosen


def _executor(
    experiment: Experiment, kind: str, workers: int | None, address: str | None
) -> Executor:
    """Return where the cases are run; exit with 2 if that is impossible."""
    from experiments.executors import ExecutorError, LocalExecutor  # noqa: PLC0415
    from experiments.isolation import Limits  # noqa: PLC0415

    if kind == "local":
        if address is not None:
            refuse("--address: is of a Dask scheduler; add --executor dask")
        return LocalExecutor(workers or 1, experiment.time_limit, experiment.memory_limit)
    if address is not None and workers is not None:
        refuse("--workers: a scheduler at --address has its own workers; leave out one of the two")
    try:
        from experiments.distributed import DaskExecutor  # noqa: PLC0415
    except ModuleNotFoundError as error:
        refuse(f"--executor dask: {error}; install it with: pip install 'dualgap[dask]'")
    limits = Limits(experiment.time_limit, experiment.memory_limit)
    executor = DaskExecutor(limits, workers or 1, address)
    try:
        executor.check()
    except ExecutorError as error:
        refuse(f"--address {error}")
    return executor


def _run_all(executor: Executor, cases: Sequence[Case], store: Store) -> str:
    """Run the cases and record them; return why not all of them were run, or an empty string."""
    from experiments.executors import ExecutorError  # noqa: PLC0415
    from experiments.progress import progress  # noqa: PLC0415

    try:
        with progress(len(cases)) as advance, closing(executor.run(cases)) as outcomes:
            for outcome in outcomes:
                store.append(outcome)
                advance(outcome)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except ExecutorError as error:
        return f"stopped: {error}"
    except OSError as error:
        return f"stopped, as a run could not be recorded: {error.strerror or error}"
    finally:
        store.close()
    return ""


def _report(folder: Path, title: str) -> pd.DataFrame:
    """Write the tables and print the summary; return the results."""
    from experiments.store import load_results, write_tables  # noqa: PLC0415
    from experiments.tables import summarise, to_markdown, to_terminal  # noqa: PLC0415

    results = load_results(folder)
    summary = summarise(results)
    try:
        paths = write_tables(folder, to_markdown(summary, title))
    except OSError as error:  # the runs themselves are recorded
        paths = []
        click.echo(f"{folder}: the tables cannot be written: {error.strerror}", err=True)
    console().print(to_terminal(summary))
    for path in paths:
        click.echo(path)
    return results


def _any_bad(results: pd.DataFrame) -> bool:
    from experiments.records import BAD  # noqa: PLC0415

    return bool((results["status"].isin(BAD) | (results["verdict"] == "wrong")).any())


@main.command()
@click.argument("experiment", metavar="[FILE|NAME]", default="verify")
@click.option("--solver", "more", metavar="NAME|FILE:CLASS", multiple=True, help="Check it too.")
@click.option("--out", type=click.Path(path_type=Path), help="Keep the runs in this folder.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--rigorous", is_flag=True, help="Prove every bound in ball arithmetic.")
def verify(
    experiment: str, more: tuple[str, ...], out: Path | None, workers: int, rigorous: bool
) -> None:
    """Check every solver against the optimum that two QP back ends agree on.

    Exit 1 if any differs by more than 1e-6, or, with --rigorous, contradicts another.
    """
    from dataclasses import replace  # noqa: PLC0415
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    from experiments.config import ConfigError  # noqa: PLC0415
    from experiments.plan import plan  # noqa: PLC0415
    from experiments.store import Store, StoreError, load_results  # noqa: PLC0415
    from experiments.verify import compare, to_terminal, with_solvers  # noqa: PLC0415

    try:
        described = with_solvers(read(experiment), more)
    except ConfigError as error:
        refuse(str(error))
    if rigorous:
        described = replace(described, target="proven")
    cases = plan(described)
    with TemporaryDirectory() as scratch:
        folder = out or Path(scratch)
        try:
            store = Store.open(folder, described.text, [case.run_id for case in cases])
        except StoreError as error:
            refuse(str(error))
        ending = _run_all(_executor(described, "local", workers, None), cases, store)
        verification = compare(load_results(folder), proven=described.target == "proven")
    console().print(to_terminal(verification))
    if ending:
        click.echo(f"{ending}: not every problem was checked", err=True)
    sys.exit(130 if ending == _INTERRUPTED else 0 if verification.passed and not ending else 1)


@main.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def plot(folder: Path) -> None:
    """Draw the figures of a results FOLDER."""
    from experiments.plots import plot_all  # noqa: PLC0415
    from experiments.store import StoreError  # noqa: PLC0415

    try:
        paths = plot_all(folder)
    except StoreError as error:
        refuse(str(error))
    for path in paths:
        if path.suffix == ".png":
            click.echo(f"{path} (and .svg)")


@main.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), help="Their folder [build/gallery].")
def gallery(names: tuple[str, ...], out: Path | None) -> None:
    """Draw the figures of the lecture notes, all or by NAME, from experiments/gallery/NAME.py."""
    from experiments.gallery import FOLDER, draw_figures  # noqa: PLC0415

    try:
        written = draw_figures(out or FOLDER, names)
    except ValueError as error:
        refuse(str(error))
    for paths in written:
        click.echo(f"{paths[-1]} (and .svg)")


@main.command("list")
@click.argument("kind", type=click.Choice(_EVERYTHING), required=False)
def list_names(kind: str | None) -> None:
    """List the names that experiment files know, with their settings."""
    from experiments.listing import listing  # noqa: PLC0415

    for chosen in [kind] if kind else _EVERYTHING:
        console().print(listing(chosen))


@main.command()
@click.argument("solver", metavar="NAME|FILE:CLASS")
@click.option("--property", "only", metavar="NAME", multiple=True, help="Try this one [all].")
def selftest(solver: str, only: tuple[str, ...]) -> None:
    """Try a solver's behaviour and claims on small problems; it ends within two minutes.

    Exit 1 if a property fails.
    """
    from experiments.progress import progress  # noqa: PLC0415
    from experiments.selftest import properties, try_solver  # noqa: PLC0415
    from experiments.selftest.report import line, to_terminal  # noqa: PLC0415

    try:
        chosen = properties(only)
        with progress(len(chosen), line) as advance:
            report = try_solver(solver, properties=chosen, progress=advance)
    except ValueError as error:
        refuse(str(error))
    except KeyboardInterrupt:
        click.echo(_INTERRUPTED, err=True)
        sys.exit(130)
    console().print(to_terminal(report))
    sys.exit(0 if report.passed else 1)


@main.command()
def doctor() -> None:
    """Examine this installation, and solve a small problem with it."""
    from experiments.doctor import examine  # noqa: PLC0415

    report, healthy = examine()
    console().print(report)
    sys.exit(0 if healthy else 1)


def read(name: str) -> Experiment:
    """Return a checked experiment for a file or a name; what is wrong is printed, with exit 2."""
    from experiments.config import ConfigError, find_experiment, read_experiment  # noqa: PLC0415

    try:
        return read_experiment(find_experiment(name))
    except ConfigError as error:
        refuse(str(error))


def refuse(text: str) -> NoReturn:
    """Print what is wrong with the input and exit with 2."""
    click.echo(text, err=True)
    sys.exit(2)


def console() -> Console:
    """Return the terminal, or a plain one of fixed width where the output goes elsewhere."""
    from rich.console import Console  # noqa: PLC0415

    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)


if __name__ == "__main__":
    main()
