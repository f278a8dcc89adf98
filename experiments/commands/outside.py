"""Whole experiments for programs of others: `export --all` writes problems, `certify --answers` judges.

Problems are numbered p001, p002, ...; `problems.json` says what each is, with the problem's hash and
the SHA-256 of each of its files. An answer to p001 is a file p001.csv, .npz, .mat, .model or .skops. A
folder of answers holds them, or has a folder of them for each program.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from dualgap.experiments.cases.judging import judged_file
from dualgap.experiments.cases.plan import Case, digest, plan
from dualgap.experiments.cases.records import blank_record
from dualgap.experiments.cases.solving import posed
from dualgap.experiments.commands.run import RunOptions, conclude, place_of
from dualgap.experiments.commands.terminal import refusing
from dualgap.experiments.files.experiment import find_experiments, read_experiment
from dualgap.experiments.files.keys import ExperimentFile, checked_keys
from dualgap.experiments.files.specs import ProblemSpec, SolverSpec
from dualgap.experiments.files.yamlfile import Fault, parse
from dualgap.experiments.records import Refusal
from dualgap.experiments.store.folder import Store
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.store.schema import Name, fault_text
from dualgap.problems import Unsupported
from dualgap.problems.exchange.samples import WRITERS, write
from dualgap.problems.registry import unknown

INDEX = "problems.json"
_KEY = re.compile("p[0-9]{3,}")


class _Problem(BaseModel, strict=True, extra="forbid"):
    """What the index says of one problem."""

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
    problems: dict[Annotated[str, Field(pattern=f"^{_KEY.pattern}$")], _Problem] = Field(
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
        raise Refusal(f"{file}: poses a path; give one C, lam or epsilon instead")
    if folder.exists() and any(folder.iterdir()):
        raise Refusal(f"{folder}: is not empty; choose another --all")
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
            problem, _ = posed(case)
            for kind in formats:
                path = folder / f"{key}{WRITERS[kind][0]}"
                write(problem, kind, path)
                sums[path.name] = _checksum(path)
                written.append(path)
        known = {"name": name, "specification": vars(case.problem), "hash": problem.hash}
        index["problems"][key] = known | {"n": problem.n, "d": problem.d, "files": sums}
    place = folder / INDEX
    place.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    return [*written, place]


def certify_all(
    folder: Path,
    answers: Path,
    out: Path | None,
    options: RunOptions,
    target_gap: float | None = None,
    rigorous: bool = False,
) -> int:
    """Judge a folder of answers to exported problems, print the summary, and return the exit code.

    Parameters
    ----------
    target_gap : in the place of the experiment's own. rigorous : whether bounds are to be theorems.

    Raises
    ------
    Refusal
        If what was exported is not there, or not as it was written.
    """
    inside = sorted(path for path in answers.iterdir() if path.is_dir())
    programs = [path for path in inside if not path.name.startswith(".")] or [answers]
    try:
        index = _Index.model_validate_json((folder / INDEX).read_bytes())
        sums = {f: s for own in index.problems.values() for f, s in own.files.items()}
        changed = [f for f, s in sums.items() if _checksum(folder / f) != s]
        cases = [
            (_case(index, own, place.name, target_gap, rigorous), key, own.hash, place)
            for key, own in index.problems.items()
            for place in programs
        ]
        names = {own.name: vars(own.specification) for own in index.problems.values()}
        if len(names) < len(index.problems):
            raise ValueError("has a name of a problem twice")
        if checked_keys(parse(index.experiment.encode()), faults := [], ExperimentFile) is None:
            raise faults[0]
        for case, *_ in cases:
            if not isinstance(blank_record(case)["dataset"], str):
                raise ValueError(f"{case.problem_id}: the name of its data set must be text")
        answered = {path.name.partition(".")[0] for place in programs for path in place.iterdir()}
        if unknown_keys := {key for key in answered - index.problems.keys() if _KEY.fullmatch(key)}:
            raise ValueError(f"has no problem {min(unknown_keys)}, of which there is an answer")
    except (OSError, ValueError, TypeError, LookupError, AttributeError, Fault) as error:
        fault = fault_text(error) if isinstance(error, ValidationError) else error
        raise Refusal(
            f"{folder / INDEX}: is not what `dualgap export --all` wrote: {fault}"
        ) from None
    if changed:
        raise Refusal(f"{folder / changed[0]}: was changed since it was exported; export again")
    target = out or place_of(answers.absolute().name)
    ids = [case.run_id for case, *_ in cases]
    store = Store.open(target, index.experiment, ids, problems=names)
    try:
        for case, key, known, place in cases:
            store.append(judged_file(case, place, key, known))
    finally:
        store.close()
    recorded = RunFolder(target)
    failed = conclude(recorded, options)
    if recorded.missing:
        raise Refusal(
            f"{folder / INDEX}: {recorded.missing} answers have no row, as what it says of their "
            "problems is not accepted; export again"
        )
    return int(failed)


def _case(
    index: _Index,
    own: _Problem,
    program: str,
    target_gap: float | None,
    rigorous: bool,
) -> Case:
    """Return the case that an answer stands for: nothing is run, and no time is known."""
    solver = SolverSpec("program", {"answers": program}, label=program)
    target = index.target_gap if target_gap is None else target_gap
    run_id = digest(vars(own.specification), program, target, rigorous)[:16]
    known: Any = (0, None, target, None, None, False, index.folder, rigorous)
    return Case(run_id, own.name, own.specification, solver, *known)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
