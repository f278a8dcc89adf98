"""`dualgap certify`: certify answers from any program."""

import sys
from pathlib import Path

import click

from dualgap.experiments.commands import FOLDER, INPUT_FILE, run_options
from dualgap.experiments.operations.options import CommandOptions
from dualgap.experiments.operations.terminal import print_json, refusing, say
from dualgap.experiments.records import Refusal


@click.command("certify")
@click.argument("problem", metavar="PROBLEM.yaml|DIR", type=click.Path(exists=True, path_type=Path))
@click.argument("answer", metavar="[ANSWER]", type=INPUT_FILE, required=False)
@click.option("--answers", type=FOLDER, help="Certify a folder of answers to the problems in DIR.")
@click.option(
    "--target-gap",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Largest relative gap of a solved problem [1e-6, or the experiment's target_gap].",
)
@click.option("--rigorous", is_flag=True, help="Prove both bounds in ball arithmetic.")
@run_options(
    *("out", "quiet", "as_json"), out={"help": "Results folder, with --answers [runs/<name>]."}
)
def command(
    problem: Path,
    answer: Path | None,
    answers: Path | None,
    target_gap: float | None,
    rigorous: bool,
    options: CommandOptions,
) -> None:
    """Certify an ANSWER from any program.

    Print bounds on the optimum, the verdict and a diagnosis.

    PROBLEM.yaml has the keys of a problem in an experiment file. ANSWER is a .npz, .mat or .csv file
    with alpha, or coefs and index, or w, and optionally b; or a model file of LIBSVM or LIBLINEAR. Exit
    1 if it is not solved to the target gap.

    With --answers, DIR is a folder written by `dualgap export --all`. The results folder gets one row
    per problem and program.
    """
    from dualgap.experiments.cases.judging import load_solution  # noqa: PLC0415
    from dualgap.experiments.operations.exchange import (  # noqa: PLC0415
        certify_all,
        read_formulation,
        report_lines,
        to_json,
    )

    if answers is not None and answer is None and problem.is_dir():
        sys.exit(certify_all(problem, answers, options, target_gap, rigorous))
    if answer is None or answers is not None or options.out is not None or problem.is_dir():
        raise Refusal("Give PROBLEM.yaml and ANSWER, or DIR with --answers and optionally --out.")
    formulation, file_target = read_formulation(problem)
    with refusing(ValueError, OSError):
        solution = load_solution(answer, formulation, target_gap or file_target, rigorous)
        if options.as_json:
            print_json(to_json(solution))
        elif not options.quiet:
            say(*report_lines(solution))
    sys.exit(0 if solution.verdict == "solved" else 1)
