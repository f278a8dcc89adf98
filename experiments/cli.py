"""The command line: `dualgap run`, `verify`, `plot`, `report`, `compare`, `list`, `selftest`, ...

This module only declares the commands; the work is done in `commands` and the packages below it. Exit
codes: 0 when everything succeeded; 1 when a row is wrong, crashed, diverged or out of memory, or a check
failed; 2 for bad input; 130 when interrupted. Heavy modules are imported inside the commands, so that
`dualgap --help` is fast.
"""

import sys
from pathlib import Path
from typing import Literal

import click

from dualgap.experiments.commands.terminal import (
    Commands,
    change_options,
    console,
    defaults_file,
    output_options,
    prepare,
    print_json,
    quiet_option,
    refusing,
    say,
    write,
    writing,
)
from dualgap.experiments.records import Refusal

_KINDS = (
    *("solvers", "problems", "losses", "datasets", "kernels", "experiments"),
    *("keys", "columns", "outcomes", "properties"),
)
_PATH = click.Path(path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)
_INPUT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dualgap", prog_name="dualgap")
@click.pass_context
def main(context: click.Context) -> None:
    """Compare SVM solvers. Trust none of them."""
    prepare()
    if defaults_file().is_file():
        from dualgap.experiments.commands.defaults import load_defaults  # noqa: PLC0415

        context.default_map = load_defaults().by_command()


@main.command()
@click.argument("experiment", metavar="FILE|NAME|DIR|ARCHIVE.zip")
@click.option("--out", type=_PATH, help="Results folder [runs/<name>].")
@click.option("--resume", is_flag=True, help="Keep recorded runs, run only what is missing or new.")
@click.option(
    "--rerun",
    metavar="solver:NAME|status:NAME",
    multiple=True,
    help="Resume, and repeat the runs of this solver, or with this status or verdict.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Resume with this plan alone, even if code, libraries or data changed.",
)
@change_options
@click.option("--workers", type=click.IntRange(1), help="Worker processes [1].")
@click.option("--executor", metavar="NAME|FILE:CLASS", help="local, dask, slurm, ... [local]")
@click.option(
    "--scheduler",
    "address",
    metavar="TCP://HOST:PORT",
    help="Use this running Dask scheduler [start one].",
)
@click.option("--dry-run", is_flag=True, help="Only show the plan and a bound on its time.")
@click.option("--check", is_flag=True, help="Rerun an archive and report what differs.")
@output_options
def run(
    experiment: str,
    out: Path | None,
    resume: bool,
    rerun: tuple[str, ...],
    force: bool,
    changes: list[tuple[str, str]],
    workers: int | None,
    executor: str | None,
    address: str | None,
    dry_run: bool,
    check: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run every solver on every problem and certify each answer.

    Given a folder of experiment files, or its name (such as notes), all of them are run. A results
    folder is rerun from the experiment it contains; an archive is rerun with --check.
    """
    from dualgap.experiments.commands.defaults import load_defaults  # noqa: PLC0415
    from dualgap.experiments.commands.run import RunOptions, run_all  # noqa: PLC0415

    pool = load_defaults().completed(workers, executor, address)
    options = RunOptions(resume, rerun, force, *pool, quiet, as_json)
    if check or Path(experiment).suffix == ".zip":
        if (
            not (check and Path(experiment).suffix == ".zip")
            or changes
            or options.resumes
            or dry_run
        ):
            raise Refusal(
                f"Cannot run {experiment} with these options. Use --check with an archive (.zip), "
                "together with only --out, --workers, --executor, --scheduler, --quiet and --json."
            )
        from dualgap.experiments.commands.archive import check_archive  # noqa: PLC0415

        sys.exit(check_archive(Path(experiment), out, options))
    sys.exit(run_all(experiment, out, options, changes, dry_run))


@main.command()
@click.argument("experiment", metavar="FILE|NAME")
@click.option("--out", type=_PATH, help="Results folder, visible to all nodes [runs/<name>].")
@click.option("--resume", is_flag=True, help="Keep recorded runs, submit only what is missing.")
@change_options
@click.option("--workers", type=click.IntRange(1), help="Jobs per kind of resources [16].")
@click.option(
    "--again",
    type=click.IntRange(0),
    default=2,
    show_default=True,
    help="How many times to rerun a run whose job was killed.",
)
def submit(
    experiment: str,
    out: Path | None,
    resume: bool,
    changes: list[tuple[str, str]],
    workers: int | None,
    again: int,
) -> None:
    """Submit an experiment to SLURM and return at once.

    A solver's entry may request resources for its jobs: slurm: {cpus: 4, mem: 8GiB, time: 1h}.
    """
    from dualgap.experiments.commands.run import RunOptions  # noqa: PLC0415
    from dualgap.experiments.commands.slurm import submit_all  # noqa: PLC0415

    options = RunOptions(resume, workers=workers, executor="slurm")
    sys.exit(submit_all(experiment, out, options, changes, again))


@main.command()
@click.argument("folder", type=_FOLDER)
def collect(folder: Path) -> None:
    """Collect what SLURM jobs have recorded into a results FOLDER.

    This may be done at any time. Jobs that ended before all their runs are submitted again. Exit 1 if a
    row is wrong or crashed, or a job makes no progress.
    """
    from dualgap.experiments.commands.slurm import collect_into  # noqa: PLC0415

    sys.exit(collect_into(folder))


@main.command()
@click.argument("experiment", metavar="[FILE|NAME]", default="verify")
@click.option("--solver", "more", metavar="NAME|FILE:CLASS", multiple=True, help="Also check it.")
@click.option("--out", type=_PATH, help="Keep runs and tables in this folder.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--rigorous", is_flag=True, help="Prove every bound in ball arithmetic.")
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Largest relative difference that passes [the experiment's target_gap].",
)
@output_options
def verify(
    experiment: str,
    more: tuple[str, ...],
    out: Path | None,
    workers: int,
    rigorous: bool,
    tolerance: float | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Check every solver against the optimum of two QP solvers.

    Exit 1 if any differs by more than the tolerance or, with --rigorous, contradicts another. Each such
    solver is listed once, with a diagnosis that names the step of SMO at fault.
    """
    from dualgap.experiments.commands.run import RunOptions  # noqa: PLC0415
    from dualgap.experiments.commands.verify import verify_experiment  # noqa: PLC0415

    options = RunOptions(workers=workers, quiet=quiet, as_json=as_json)
    sys.exit(verify_experiment(experiment, more, out, options, rigorous, tolerance))


@main.command()
@click.argument("folder", type=_FOLDER)
@click.option(
    "--figure", "names", metavar="NAME|FILE:CLASS", multiple=True, help="Draw only this one [all]."
)
def plot(folder: Path, names: tuple[str, ...]) -> None:
    """Draw the figures of a results FOLDER."""
    from dualgap.experiments.plots import plot_all  # noqa: PLC0415

    with refusing(ValueError), writing(folder):
        paths = plot_all(folder, names)
    for path in paths:
        if path.suffix != ".svg":
            say(f"{path} (and .svg)" if path.with_suffix(".svg") in paths else path)


@main.command()
@click.argument("folder", type=_FOLDER)
@click.option("--out", type=_FILE, help="Output file [FOLDER/report.html].")
def report(folder: Path, out: Path | None) -> None:
    """Write a report on a results FOLDER as one HTML file."""
    from dualgap.experiments.report import write_report  # noqa: PLC0415

    target = out or folder / "report.html"
    with writing(target):
        written = write_report(folder, target)
    say(written)


@main.command("compare")
@click.argument("first", type=_FOLDER)
@click.argument("second", type=_FOLDER)
@output_options
def compare_folders(first: Path, second: Path, quiet: bool, as_json: bool) -> None:
    """Compare two results folders run by run.

    List the runs that became faster, slower, right or wrong. Exit 1 if something became wrong, unsolved
    or broken in the SECOND, or bounds contradict each other.
    """
    from dualgap.experiments.analysis.compare import compare_results, regressed  # noqa: PLC0415
    from dualgap.experiments.store.reading import RunFolder  # noqa: PLC0415
    from dualgap.experiments.tables.comparison import to_json, to_terminal  # noqa: PLC0415

    old, new = RunFolder(first), RunFolder(second)
    changes = compare_results(old.results, new.results)
    if as_json:
        print_json(to_json(changes, old.manifest, new.manifest))
    elif not quiet:
        console().print(to_terminal(changes, old.manifest, new.manifest))
    sys.exit(1 if regressed(changes) else 0)


@main.command()
@click.argument("names", metavar="[NAME|FILE]...", nargs=-1)
@click.option("--out", type=_PATH, help="Folder of the figures [build/gallery].")
@click.option("--show", is_flag=True, help="Open each figure once it is drawn.")
def gallery(names: tuple[str, ...], out: Path | None, show: bool) -> None:
    """Draw the figures of the lecture notes.

    Draw all of them, those given by NAME, or one from your own script. Like those in
    experiments/gallery, it defines compute() -> numbers and draw(numbers) -> figure.
    """
    from dualgap.experiments.gallery import FOLDER, draw_figures  # noqa: PLC0415

    with refusing(ValueError), writing(out or FOLDER):
        for paths in draw_figures(out or FOLDER, names):
            say(f"{paths[-1]} (and .svg)")
            if show and click.launch(str(paths[-1])) != 0:
                raise Refusal("No program on this machine opens the figure. Leave out --show.")


@main.command("list")
@click.argument("kind", type=click.Choice(_KINDS), required=False)
def list_names(kind: str | None) -> None:
    """List names for experiment files and columns of results."""
    from dualgap.experiments.commands.listing import listing  # noqa: PLC0415

    for chosen in [kind] if kind else _KINDS:
        console().print(listing(chosen))


@main.command()
@click.argument("solver", metavar="NAME|FILE:CLASS")
@click.option("--property", "only", metavar="NAME", multiple=True, help="Test only this one [all].")
def selftest(solver: str, only: tuple[str, ...]) -> None:
    """Test a solver's behaviour and claims on small problems.

    This takes at most two minutes. Exit 1 if a property fails.
    """
    from dualgap.experiments.commands.progress import progress  # noqa: PLC0415
    from dualgap.experiments.selftest import properties, try_solver  # noqa: PLC0415
    from dualgap.experiments.selftest.report import to_terminal  # noqa: PLC0415

    with refusing(ValueError):
        chosen = properties(only)
        with progress(len(chosen)) as advance:
            report = try_solver(
                solver,
                properties=chosen,
                progress=lambda outcome: advance(f"{outcome.name}: {outcome.result}"),
            )
    console().print(to_terminal(report))
    sys.exit(0 if report.passed else 1)


@main.command()
@quiet_option
def doctor(quiet: bool) -> None:
    """Check this installation and solve a small problem with it."""
    from dualgap.experiments.commands.doctor import examine, to_terminal  # noqa: PLC0415

    rows = examine()
    healthy = all(row.fine for row in rows)
    if not quiet or not healthy:
        console().print(to_terminal(rows))
    sys.exit(0 if healthy else 1)


@main.command()
@click.argument("file", type=_PATH, default=Path("experiment.yaml"))
@click.option("--schema", is_flag=True, help="Also write the JSON schema next to it, for editors.")
def init(file: Path, schema: bool) -> None:
    """Write a commented FILE [experiment.yaml], ready to run."""
    from dualgap.experiments.files.template import write_template  # noqa: PLC0415

    with writing(file):
        try:
            written = write_template(file, schema)
        except FileExistsError:
            raise Refusal(f"File {file} already exists. Choose another name.") from None
    for path in written:
        say(path)


@main.command()
@click.argument("folder", type=_FOLDER)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["latex", "markdown", "csv"]),
    default="markdown",
    show_default=True,
)
@click.option("--rows", metavar="PATTERN", multiple=True, help="Rows to show, in order [all].")
@click.option(
    "--columns", metavar="PATTERN", multiple=True, help="Columns to show, in order [all]."
)
@click.option(
    "--values",
    metavar="NAME[:DIGITS],...",
    default="time",
    help="Of time, ratio, gap, objective, suboptimality, kkt, support, memory, ... [time]",
)
@click.option("--digits", type=click.IntRange(1, 17), help="Significant digits.")
@click.option(
    "--by",
    type=click.Choice(["problem", "solver"]),
    default="problem",
    help="One row per problem or per solver [problem].",
)
@click.option(
    "--target",
    type=float,
    metavar="GAP",
    help="Show each solver at its cheapest setting that reaches GAP.",
)
@click.option("--out", type=_FILE, help="Output file [the terminal].")
def table(
    folder: Path,
    kind: str,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    values: str,
    digits: int | None,
    by: Literal["problem", "solver"],
    target: float | None,
    out: Path | None,
) -> None:
    """Make a table for a paper from a results FOLDER.

    The fastest is in bold if the timing noise permits. A PATTERN is a name, a part of one, or has
    wildcards * and ?.
    """
    from dualgap.experiments.tables.chosen import paper_table  # noqa: PLC0415

    with refusing(ValueError):
        result = paper_table(folder, rows, columns, values.split(","), digits, by, target)
    write(result.to(kind, folder.name), out)


@main.command()
@click.argument("problem", metavar="PROBLEM.yaml|DIR", type=click.Path(exists=True, path_type=Path))
@click.argument("answer", metavar="[ANSWER]", type=_INPUT_FILE, required=False)
@click.option("--answers", type=_FOLDER, help="Certify a folder of answers to the problems in DIR.")
@click.option("--out", type=_PATH, help="Results folder, with --answers [runs/<name>].")
@click.option(
    "--target-gap",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Largest relative gap of a solved problem [1e-6, or the experiment's target_gap].",
)
@click.option("--rigorous", is_flag=True, help="Prove both bounds in ball arithmetic.")
@output_options
def certify(
    problem: Path,
    answer: Path | None,
    answers: Path | None,
    out: Path | None,
    target_gap: float | None,
    rigorous: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Certify an ANSWER from any program.

    Print bounds on the optimum, the verdict and a diagnosis.

    PROBLEM.yaml has the keys of a problem in an experiment file. ANSWER is a .npz, .mat or .csv file
    with alpha, or coefs and index, or w, and optionally b; a model file of LIBSVM or LIBLINEAR; or a
    scikit-learn estimator saved by skops. Exit 1 if it is not solved to the target gap.

    With --answers, DIR is a folder written by `dualgap export --all`. The results folder gets one row
    per problem and program.
    """
    from dualgap.experiments.cases.judging import load_solution  # noqa: PLC0415
    from dualgap.experiments.commands.exchange import (  # noqa: PLC0415
        read_formulation,
        report_lines,
        to_json,
    )

    if answers is not None and answer is None and problem.is_dir():
        from dualgap.experiments.commands.outside import certify_all  # noqa: PLC0415
        from dualgap.experiments.commands.run import RunOptions  # noqa: PLC0415

        options = RunOptions(quiet=quiet, as_json=as_json)
        sys.exit(certify_all(problem, answers, out, options, target_gap, rigorous))
    if answer is None or answers is not None or out is not None or problem.is_dir():
        raise Refusal("Give PROBLEM.yaml and ANSWER, or DIR with --answers and optionally --out.")
    formulation, file_target = read_formulation(problem)
    with refusing(ValueError, OSError):
        solution = load_solution(answer, formulation, target_gap or file_target, rigorous)
        if as_json:
            print_json(to_json(solution))
        elif not quiet:
            say(*report_lines(solution))
    sys.exit(0 if solution.verdict == "solved" else 1)


@main.command()
@click.argument("problem", metavar="PROBLEM.yaml", type=_INPUT_FILE)
@click.option("--out", type=_FILE, help="Output file: .npz, or any other name for LIBSVM.")
@click.option("--qp", is_flag=True, help="Write the dual as a box QP (.npz, .mat or .qps).")
@click.option(
    "--all", "folder", type=_PATH, help="Write all problems of an experiment to this folder."
)
@click.option("--format", "formats", multiple=True, help="File format, with --all [libsvm].")
def export(
    problem: Path, out: Path | None, qp: bool, folder: Path | None, formats: tuple[str, ...]
) -> None:
    """Export the samples or the QP of PROBLEM.yaml to a file.

    The file is a NumPy archive (.npz) or LIBSVM text. An archive has X (n, d) and y, C (n,); with --qp
    it has Q, p, A, b, lb and ub of min ½xᵀQx + pᵀx s.t. Ax = b, lb ≤ x ≤ ub, and `dualgap certify`
    accepts an x. A convex QP is written unchanged, and its x, z and y are accepted.

    With --all, PROBLEM.yaml is an experiment, and problems.json lists its problems, with checksums.
    --format is libsvm, npz, csv, mat, qp (npz), qp_mat or qps, and may be repeated.
    """
    from dualgap.experiments.commands.exchange import write_problem  # noqa: PLC0415

    if folder is not None and out is None and not qp:
        from dualgap.experiments.commands.outside import export_all  # noqa: PLC0415

        for path in export_all(problem, folder, formats or ["libsvm"]):
            say(path)
        return
    if folder is not None or out is None or formats:
        raise Refusal("Give --out FILE, possibly with --qp, or --all DIR, possibly with --format.")
    write_problem(problem, out, qp)
    say(out)


@main.command()
@click.argument("folders", metavar="DIR...", type=_FOLDER, nargs=-1, required=True)
@click.option("--out", type=_PATH, required=True, help="The new results folder.")
@click.option("--force", is_flag=True, help="Merge even if code, libraries or data differ.")
def merge(folders: tuple[Path, ...], out: Path, force: bool) -> None:
    """Merge several results folders into a new one.

    A run that is in several of them is kept once; if its results differ, the merge is refused.
    """
    from dualgap.experiments.commands.run import write_all  # noqa: PLC0415
    from dualgap.experiments.store.merging import merge as merge_folders  # noqa: PLC0415
    from dualgap.experiments.tables.summary import summarise, to_markdown  # noqa: PLC0415

    with writing(out):
        merged = merge_folders(folders, out, force)
    summary = to_markdown(summarise(merged.results), merged.manifest["name"])
    sys.exit(0 if write_all(merged, summary) else 1)


@main.command()
@click.argument("folder", type=_FOLDER)
@click.option("--out", type=_FILE, help="Output file [FOLDER.zip].")
def archive(folder: Path, out: Path | None) -> None:
    """Archive a results FOLDER as one zip file for a paper.

    `dualgap run ARCHIVE.zip --check` reruns it.
    """
    from dualgap.experiments.commands.archive import write_archive  # noqa: PLC0415

    target = out or folder.resolve().with_name(f"{folder.resolve().name}.zip")
    with refusing(ValueError), writing(target):
        write_archive(folder, target)
    say(target)


if __name__ == "__main__":
    main()
