"""Commands that deal with other programs: `dualgap certify` their answers, `export` problems to them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from experiments.output.terminal import refuse, refusing

if TYPE_CHECKING:
    from problems import Formulation
    from solvers import Solution

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("problem", metavar="PROBLEM.yaml", type=_FILE)
@click.argument("answer", metavar="ANSWER", type=_FILE)
@click.option(
    "--target-gap",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-6,
    show_default=True,
    help="Largest relative gap of an answer that is 'solved'.",
)
@click.option("--rigorous", is_flag=True, help="Prove both bounds in ball arithmetic.")
def certify(problem: Path, answer: Path, target_gap: float, rigorous: bool) -> None:
    """Certify an ANSWER that any program found: bounds on the optimum, verdict and diagnosis.

    PROBLEM.yaml has the keys of a problem in an experiment file; ANSWER is a .npz or .csv file with
    alpha, or coefs and index, or w, and b if it has one; or a model file of LIBSVM's svm-train.
    Exit 1 if it is not solved to the target.
    """
    posed = _posed(problem)
    with refusing(ValueError, OSError):
        found = judged(answer, posed, target_gap, rigorous)
        click.echo(judgement(found))
    sys.exit(0 if found.verdict == "solved" else 1)


def judged(
    answer: Path, problem: Formulation, target_gap: float = 1e-6, rigorous: bool = False
) -> Solution:
    """Return the answer in a file as one that a solver claims to be optimal.

    Raises
    ------
    ValueError, OSError
        If it cannot be read, or is no answer to this problem.
    """
    from experiments.files.answers import read_answer  # noqa: PLC0415
    from solvers import Solution, Status  # noqa: PLC0415

    point, solver = read_answer(answer, problem), None  # none of ours
    return Solution(
        problem,
        solver,  # type: ignore[arg-type]
        point,
        Status.FINISHED,
        "optimal",
        target_gap=target_gap,
        rigorous=rigorous,
    )


@click.command()
@click.argument("problem", metavar="PROBLEM.yaml", type=_FILE)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help=".npz, else LIBSVM.",
)
@click.option("--qp", is_flag=True, help="Write the dual's box QP as matrices (.npz).")
def export(problem: Path, out: Path, qp: bool) -> None:
    """Write the samples of PROBLEM.yaml for other programs: a NumPy archive, or LIBSVM's text.

    An archive has X (n, d) and y, C (n,); with --qp it has Q, p, A, b, lb and ub of
    min ½xᵀQx + pᵀx s.t. Ax = b, lb ≤ x ≤ ub, whose x `dualgap certify` takes.
    """
    from experiments.files.export import write_libsvm, write_qp, write_samples  # noqa: PLC0415
    from problems import Unsupported  # noqa: PLC0415

    posed = _posed(problem)
    if qp and out.suffix != ".npz":
        refuse(f"--out: matrices of a QP are written to a .npz file, got {out}")
    writer = write_qp if qp else write_samples if out.suffix == ".npz" else write_libsvm
    with refusing(Unsupported, MemoryError, OSError):
        writer(posed, out)
    click.echo(out)


def _posed(file: Path) -> Formulation:
    """Return the one problem that a file poses; exit with 2 if there is none, or its data is bad."""
    from experiments.files.experiment import ConfigError, read_problem  # noqa: PLC0415
    from experiments.files.specs import build_problem, build_source  # noqa: PLC0415

    with refusing(ConfigError, ValueError, OSError):
        spec, folder = read_problem(file)
        return build_problem(spec, build_source(spec.dataset, folder).load(), folder)


def judgement(found: Solution) -> str:
    """Return what is known of an answer, a line for each."""
    c = found.certificate
    rounding = f"of which float64's rounding may be {c.resolution:.1g}, " if c.resolution else ""
    lines = {
        "verdict": found.verdict,
        "optimum ≤": f"{c.primal_objective:.15g}",
        "optimum ≥": f"{c.dual_objective:.15g}",
        "relative gap": f"{c.relative_gap:.3g}, {rounding}target {found.target_gap:g}",
        "KKT violation": f"{c.kkt_violation:.3g}",
        "off its constraints": f"{c.primal_residual:.3g}",
        "intercept": _intercept(found),
        "bounds from": c.bound_source,
        "reason": found.reason,
        "diagnosis": found.diagnosis.text if found.diagnosis else "",
    }
    width = max(map(len, lines)) + 2
    return "\n".join(f"{name + ':':<{width}}{text}" for name, text in lines.items() if text)


def _intercept(found: Solution) -> str:
    """Return the best intercept beside the answer's own."""
    import numpy as np  # noqa: PLC0415 - slow to import

    if not found.problem.intercept or found.b is None:
        return ""
    best, own = (
        ", ".join(f"{value:.10g}" for value in np.ravel([] if b is None else b))
        for b in (found.b, found.point.b)
    )
    return f"{best} is best" + (f"; the answer's own is {own}" if own else "")
