"""Dealings with other programs: `dualgap certify` their answers, `export` problems to them."""

from math import isnan
from pathlib import Path
from typing import Any

from dualgap.experiments.commands.terminal import refusing
from dualgap.experiments.files.experiment import read_problem
from dualgap.experiments.files.specs import build_problem, build_source
from dualgap.experiments.records import Refusal
from dualgap.problems import Formulation, Unsupported
from dualgap.problems.exchange.samples import QP_FORMATS, write
from dualgap.solvers import Solution


def write_problem(file: Path, out: Path, qp: bool) -> None:
    """Write the problem in a file for other programs; Refusal if that is impossible."""
    problem, _ = posed(file)
    kind = "npz" if out.suffix == ".npz" else "libsvm"
    if qp or not problem.has_samples:
        if out.suffix not in QP_FORMATS:
            accepted = ", ".join(QP_FORMATS)
            raise Refusal(f"--out: a QP is written to a file that ends in {accepted}, got {out}")
        kind = QP_FORMATS[out.suffix]
    with refusing(Unsupported, MemoryError, OSError):
        write(problem, kind, out)


def posed(file: Path) -> tuple[Formulation, float]:
    """Return the one problem that a file poses, and its target gap; Refusal if its data is bad."""
    with refusing(ValueError, OSError, ImportError):
        spec, folder, target_gap = read_problem(file)
        return build_problem(spec, build_source(spec.dataset, folder).load(), folder), target_gap


def judgement(found: Solution) -> list[str]:
    """Return the lines that say what is known of an answer."""
    c = found.certificate
    rounding = f"of which float64's rounding may be {c.resolution:.1g}, " if c.resolution else ""
    intercept = ""
    if found.problem.intercept and found.b is not None:
        given = [b for b in (found.b, found.point.b) if b is not None]
        best, *own = (
            ", ".join(f"{value:.10g}" for value in ([b] if isinstance(b, (int, float)) else b))
            for b in given
        )
        intercept = "; the answer's own is ".join([f"{best} is best", *own])
    lines = {
        "verdict": found.verdict,
        "optimum ≤": f"{c.primal_objective:.15g}",
        "optimum ≥": f"{c.dual_objective:.15g}",
        "relative gap": f"{c.relative_gap:.3g}, {rounding}target {found.target_gap:g}",
        "KKT violation": "" if isnan(c.kkt_violation) else f"{c.kkt_violation:.3g}",
        "off its constraints": f"{c.primal_residual:.3g}",
        "intercept": intercept,
        "bounds from": c.bound_source,
        "reason": found.reason,
        "diagnosis": found.diagnosis.text if found.diagnosis else "",
    }
    width = max(map(len, lines)) + 2
    return [f"{name + ':':<{width}}{text}" for name, text in lines.items() if text]


def to_json(found: Solution) -> dict[str, Any]:
    """Return what is known of an answer as plain values, named as the columns of results."""
    c = found.certificate
    names = ("primal_objective", "dual_objective", "gap", "relative_gap", "kkt_violation")
    names += ("primal_residual", "resolution", "bound_source")
    return {
        "verdict": found.verdict,
        "reason": found.reason,
        "target_gap": found.target_gap,
        **{name: getattr(c, name) for name in names},
        "diagnosis": found.diagnosis.text if found.diagnosis else "",
    }
