"""Exchange with other programs: `dualgap certify` their answers, `export` problems for them."""

from math import isnan
from pathlib import Path
from typing import Any

from dualgap.experiments.files.experiment import read_problem
from dualgap.experiments.files.specs import build_problem, build_source
from dualgap.experiments.operations.terminal import refusing
from dualgap.experiments.records import Refusal
from dualgap.problems import Problem, SampleProblem, Unsupported
from dualgap.problems.exchange.samples import QP_FORMATS, write
from dualgap.solvers import Solution


def write_problem(file: Path, out: Path, qp: bool) -> None:
    """Export the problem in a file; Refusal if that is impossible."""
    problem, _ = read_formulation(file)
    kind = "npz" if out.suffix == ".npz" else "libsvm"
    if qp or not isinstance(problem, SampleProblem):
        if out.suffix not in QP_FORMATS:
            accepted = ", ".join(QP_FORMATS)
            raise Refusal(f"--out: the file name of a QP must end in {accepted}; got {out}")
        kind = QP_FORMATS[out.suffix]
    with refusing(Unsupported, MemoryError, OSError):
        write(problem, kind, out)


def read_formulation(file: Path) -> tuple[Problem, float]:
    """Return the problem in a file, and its target gap; Refusal if its data is bad."""
    with refusing(ValueError, OSError, ImportError):
        spec, folder, target_gap = read_problem(file)
        return build_problem(spec, build_source(spec.dataset, folder).load(), folder), target_gap


def report_lines(solution: Solution) -> list[str]:
    """Return the lines of a report on an answer."""
    c = solution.certificate
    rounding = f"of which up to {c.resolution:.1g} is rounding error, " if c.resolution else ""
    intercept = ""
    if solution.b is not None and solution.problem.intercept:
        intercepts = [b for b in (solution.b, solution.point.b) if b is not None]
        best, *solver_values = (
            ", ".join(f"{value:.10g}" for value in ([b] if isinstance(b, (int, float)) else b))
            for b in intercepts
        )
        intercept = "; the answer has ".join([f"{best} is best", *solver_values])
    lines = {
        "verdict": solution.verdict,
        "optimum ≤": f"{c.primal_objective:.15g}",
        "optimum ≥": f"{c.dual_objective:.15g}",
        "relative gap": f"{c.relative_gap:.3g}, {rounding}target {solution.target_gap:g}",
        "KKT violation": "" if isnan(c.kkt_violation) else f"{c.kkt_violation:.3g}",
        "constraint violation": f"{c.primal_residual:.3g}",
        "intercept": intercept,
        "bounds from": c.bound_source,
        "reason": solution.reason,
        "diagnosis": solution.diagnosis.text if solution.diagnosis else "",
    }
    width = max(map(len, lines)) + 2
    return [f"{name + ':':<{width}}{text}" for name, text in lines.items() if text]


def to_json(solution: Solution) -> dict[str, Any]:
    """Return the report on an answer as plain values, with the column names of results."""
    c = solution.certificate
    names = ("primal_objective", "dual_objective", "gap", "relative_gap", "kkt_violation")
    names += ("primal_residual", "resolution", "bound_source")
    return {
        "verdict": solution.verdict,
        "reason": solution.reason,
        "target_gap": solution.target_gap,
        **{name: getattr(c, name) for name in names},
        "diagnosis": solution.diagnosis.text if solution.diagnosis else "",
    }
