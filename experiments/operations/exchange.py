"""Exchange with other programs: `dualgap export` writes problems for them, `certify` their answers.

`export --all` numbers the problems of an experiment p001, p002, ...; `problems.json` describes each,
with its hash and the SHA-256 of its files. An answer to p001 is a file p001.csv, .npz, .mat or .model.
A folder of answers has them directly, or in one subfolder per program.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from dualgap.experiments.cases.judging import certify_file
from dualgap.experiments.cases.plan import Case, RunKey, digest, plan, solvers_of
from dualgap.experiments.cases.records import blank_record
from dualgap.experiments.cases.solving import load_problem
from dualgap.experiments.files.document import Fault
from dualgap.experiments.files.experiment import find_experiments, read_experiment, read_problem
from dualgap.experiments.files.models import ExperimentFile, validate
from dualgap.experiments.files.specs import ProblemSpec, SolverSpec, build_problem, build_source
from dualgap.experiments.files.yaml import load
from dualgap.experiments.operations.conclusion import conclude
from dualgap.experiments.operations.defaults import load_defaults
from dualgap.experiments.operations.options import CommandOptions
from dualgap.experiments.operations.terminal import refusing
from dualgap.experiments.records import Refusal
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.store.schema import Name, fault_text
from dualgap.experiments.store.session import Session
from dualgap.problems import Problem, SampleProblem, Unsupported
from dualgap.problems.exchange.samples import QP_FORMATS, WRITERS, write
from dualgap.problems.registry import unknown
from dualgap.solvers import Solution

INDEX = "problems.json"
_KEY = re.compile("p[0-9]{3,}")


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
        "relative gap": f"{c.relative_gap:.3g}, {rounding}target {solution.target.gap:g}",
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
        "target_gap": solution.target.gap,
        **{name: getattr(c, name) for name in names},
        "diagnosis": solution.diagnosis.text if solution.diagnosis else "",
    }


class _ExportedProblem(BaseModel, strict=True, extra="forbid"):
    """The entry of one problem in the index."""

    name: str
    specification: ProblemSpec
    hash: str
    n: int
    d: int
    files: dict[Name, str] = Field(min_length=1)


class _Index(BaseModel, strict=True, extra="forbid"):
    """The content of problems.json."""

    experiment: str
    folder: str
    target_gap: float = Field(gt=0, lt=1)
    problems: dict[Annotated[str, Field(pattern=f"^{_KEY.pattern}$")], _ExportedProblem] = Field(
        min_length=1
    )


def export_all(file: Path, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write every problem of an experiment in each format; return the paths, the index last.

    Raises
    ------
    Refusal
        If the folder is not empty, a format is unknown, or a problem has no such form or bad data.
    """
    for name in formats:
        if name not in WRITERS:
            raise Refusal(f"--format: {unknown('format', name, WRITERS)}")
    experiment = read_experiment(find_experiments(str(file))[0])
    if any(problem.path for problem in experiment.problems):
        raise Refusal(f"{file} contains a path. Give values of C, lam or epsilon instead.")
    if folder.exists() and any(folder.iterdir()):
        raise Refusal(f"Output folder {folder} is not empty. Choose another --all.")
    folder.mkdir(parents=True, exist_ok=True)
    firsts = {case.problem_id: case for case in reversed(plan(experiment))}
    index: dict[str, Any] = {
        "experiment": experiment.text,
        "folder": experiment.folder,
        "target_gap": experiment.target_gap,
        "problems": {},
    }
    written = list[Path]()
    for number, (name, case) in enumerate(reversed(firsts.items()), 1):
        key, sums = f"p{number:03d}", dict[str, str]()
        with refusing(Unsupported, MemoryError, ValueError, OSError, ImportError):
            problem, _ = load_problem(case)
            for kind in formats:
                path = folder / f"{key}{WRITERS[kind][0]}"
                write(problem, kind, path)
                sums[path.name] = _checksum(path)
                written.append(path)
        entry = {"name": name, "specification": vars(case.problem), "hash": problem.hash}
        index["problems"][key] = entry | {"n": problem.n, "d": problem.d, "files": sums}
    index_file = folder / INDEX
    index_file.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    return [*written, index_file]


def certify_all(
    folder: Path,
    answers: Path,
    options: CommandOptions,
    target_gap: float | None = None,
    rigorous: bool = False,
) -> int:
    """Certify a folder of answers to exported problems, print the summary, return the exit code.

    Parameters
    ----------
    target_gap : overrides that of the experiment. rigorous : whether to prove bounds in ball arithmetic.

    Raises
    ------
    Refusal
        If the exported files are missing or have changed.
    """
    subfolders = sorted(path for path in answers.iterdir() if path.is_dir())
    programs = [path for path in subfolders if not path.name.startswith(".")] or [answers]
    try:
        index, cases = _read_answers(folder, programs, target_gap, rigorous)
        changed = [
            file
            for entry in index.problems.values()
            for file, checksum in entry.files.items()
            if _checksum(folder / file) != checksum
        ]
    except (OSError, ValueError, TypeError, LookupError, AttributeError, Fault) as error:
        fault = fault_text(error) if isinstance(error, ValidationError) else error
        raise Refusal(
            f"{folder / INDEX} is not as written by `dualgap export --all`: {fault}"
        ) from None
    if changed:
        raise Refusal(f"{folder / changed[0]} has changed since it was exported. Export again.")
    target = Path(options.out or Path(load_defaults().out, answers.absolute().name))
    session = Session.begin(
        target,
        index.experiment,
        [case.run_id for case, *_ in cases],
        problems={case.problem_id: vars(case.problem) for case, *_ in cases},
        solvers=solvers_of(case for case, *_ in cases),
    )
    try:
        for case, key, problem_hash, program in cases:
            session.append(certify_file(case, program, key, problem_hash))
    finally:
        session.close()
    recorded = RunFolder(target)
    failed = conclude(recorded, options)
    if recorded.missing:
        raise Refusal(
            f"{recorded.missing} answers could not be recorded, as their entries in {folder / INDEX} "
            "are not accepted. Export again."
        )
    return int(failed)


def _read_answers(
    folder: Path, programs: Sequence[Path], target_gap: float | None, rigorous: bool
) -> tuple[_Index, list[tuple[Case, str, str, Path]]]:
    """Return the index of a folder, and the case, key, problem's hash and program of each answer."""
    index = _Index.model_validate_json((folder / INDEX).read_bytes())
    cases = [
        (_case(index, entry, program.name, target_gap, rigorous), key, entry.hash, program)
        for key, entry in index.problems.items()
        for program in programs
    ]
    if len({entry.name for entry in index.problems.values()}) < len(index.problems):
        raise ValueError("two problems have the same name")
    _, faults = validate(ExperimentFile, load(index.experiment.encode())[0])
    if faults:
        raise faults[0]
    for case, *_ in cases:
        if not isinstance(blank_record(case)["dataset"], str):
            raise ValueError(f"{case.problem_id}: the name of its data set must be text")
    keys = {path.name.partition(".")[0] for program in programs for path in program.iterdir()}
    if unknown_keys := {key for key in keys - index.problems.keys() if _KEY.fullmatch(key)}:
        raise ValueError(f"there is an answer to {min(unknown_keys)}, but no such problem")
    return index, cases


def _case(
    index: _Index,
    entry: _ExportedProblem,
    program: str,
    target_gap: float | None,
    rigorous: bool,
) -> Case:
    """Return the case of an answer, which is not run and has no time."""
    solver = SolverSpec("program", {"answers": program}, label=program)
    target = index.target_gap if target_gap is None else target_gap
    key = RunKey(digest(vars(entry.specification), program, target, rigorous)[:16])
    plan_fields: Any = (0, None, target, None, None, False, index.folder, rigorous)
    names = {"label": program, "series": program}
    return Case(key, entry.name, entry.specification, solver, *plan_fields, **names)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
