"""Experiment files: read and checked completely before anything runs; faults name file and line.

An experiment is a list of problems and a list of solvers; every solver runs on every problem. A list
anywhere inside an entry is an axis of a grid. See `configs/quickstart.yaml` for a commented example.

`yaml` reads plain values, `overrides` applies the command line, `models` checks the keys, `grid` expands
the entries, and `build` makes each of them a description of `specs`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from dualgap.experiments.files.build import Describer
from dualgap.experiments.files.document import ConfigError, Document, Fault, Loc, Span, relocated
from dualgap.experiments.files.grid import expand, grid_size
from dualgap.experiments.files.models import ExperimentFile, label_faults, validate
from dualgap.experiments.files.specs import ProblemSpec, SolverSpec
from dualgap.experiments.files.yaml import MAX_FILE_BYTES, load, parse, yaml_text
from dualgap.problems.registry import unknown

COPY = "experiment.yaml"  # the name of the file in a results folder
CONFIGS = Path(__file__).parents[1] / "configs"
S = TypeVar("S")
_MAX_CASES = 100_000  # more are probably a mistake, such as a product of long lists


class Experiment(ExperimentFile, frozen=True):
    """A checked experiment file.

    Attributes
    ----------
    problems, solvers : all cases of their grids.
    folder : the base of relative paths.
    text : the content of the file, with the changes made by the command line.
    options : these changes, such as `--set C=1,10`.
    source : the results folder whose runs are repeated, instead of planning the file; None for a file.
    """

    problems: list[ProblemSpec]
    solvers: list[SolverSpec]
    folder: str
    text: str
    options: tuple[str, ...] = ()
    source: Path | None = None


def experiment_names() -> list[str]:
    """Return the names of the bundled experiments, and of the folders that contain some."""
    folders = (path.name for path in CONFIGS.iterdir() if [*path.glob("*.yaml")])
    return sorted([*(path.stem for path in CONFIGS.rglob("*.yaml")), *folders])


def purpose(experiment: str) -> str:
    """Return the first sentence of the leading comment of an experiment file."""
    comment = re.match(r"(?:#.*\n)*", experiment)
    text = " ".join(re.sub(r"(?m)^# ?", "", comment[0] if comment else "").split())
    return re.split(r"(?<=[.?]) ", text)[0]


def find_experiments(name: str) -> list[Path]:
    """Return the file for a path, or for the name of a bundled experiment.

    For a folder, or its name, return all experiment files in it.

    Raises
    ------
    ConfigError
        If there is none.
    """
    with suppress(OSError, ValueError):  # a name that no file can have
        for path in (Path(name), CONFIGS / name):
            files = sorted(path.glob("*.yaml")) if path.is_dir() else []
            if files:
                return files
        named = CONFIGS.rglob(f"{name}.yaml") if re.fullmatch(r"[\w-]+", name) else []
        for path in (Path(name), *named):
            if path.is_file():
                return [path]
    if Path(name).suffix in (".yaml", ".yml") or "/" in name:
        raise ConfigError(name, [Fault("there is no such file")])
    raise ConfigError(name, [Fault(unknown("experiment", name, experiment_names()))])


def read_experiment(path: Path, options: Sequence[tuple[str, str]] = ()) -> Experiment:
    """Read and check an experiment file.

    Parameters
    ----------
    options : changes by the command line: `--set` with KEY=VALUE, `--solver` and `--problem` with a
        name as tables print it, or a regular expression for names of problems.

    Raises
    ------
    ConfigError
        With all faults, by line and by option.
    """
    return checked_experiment(read_document(path), _folder_of(path), options)


def checked_experiment(
    document: Document, folder: str, options: Sequence[tuple[str, str]] = ()
) -> Experiment:
    """Return the experiment of a document as `read_experiment` does; its paths begin in `folder`."""
    if not options:
        return _experiment(document, folder)
    from dualgap.experiments.files.overrides import override, text_of  # noqa: PLC0415 - rarely needed

    texts = tuple(f"{option} {value}" for option, value in options)
    changed = override(document, options)
    text = text_of(changed.value, document.text, texts)
    experiment = _experiment(changed, folder)
    return experiment.model_copy(update={"text": text, "options": texts})


def experiment_from_dict(content: Mapping[str, Any]) -> Experiment:
    """Return the experiment of a dict with the content of a file, relative to the current folder.

    Raises
    ------
    ConfigError
        With all faults, by keys such as problems.0.kernel.gamma.
    """
    try:
        text = yaml_text(dict(content))
        value, spans = load(text.encode())
    except Fault as fault:
        raise ConfigError("experiment", [Fault(fault.text)]) from None
    return _experiment(Document("experiment", text, value, spans, has_lines=False), str(Path.cwd()))


def read_problem(path: Path) -> tuple[ProblemSpec, str, float]:
    """Read a file with one problem: a single entry, or an experiment with one problem.

    Returns
    -------
    tuple
        The problem, the base folder of its relative paths, and the target gap.

    Raises
    ------
    ConfigError
        With all faults, or if it has several problems.
    """
    document = read_document(path)
    if isinstance(document.value, dict) and "formulation" in document.value:
        wrapped = {"name": "problem", "problems": [document.value], "solvers": ["smo"]}
        spans: dict[Loc, Span] = {("problems", 0, *loc): at for loc, at in document.spans.items()}
        document = replace(document, value=wrapped, spans={(): Span(1)} | spans)
    experiment = _experiment(document, _folder_of(path))
    if len(experiment.problems) != 1:
        text = f"has {len(experiment.problems)} problems; leave one value in each list"
    elif experiment.problems[0].path:
        text = "has a path; give one C, lam or epsilon instead"
    else:
        return experiment.problems[0], experiment.folder, experiment.target_gap
    raise ConfigError(document, [Fault(text)])


def read_document(path: Path) -> Document:
    """Return the content of a file; raise ConfigError if it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(path, [Fault(f"cannot be read: {error.strerror}")]) from None
    if len(content) > MAX_FILE_BYTES:
        text = f"is larger than {MAX_FILE_BYTES // 1024} KiB; shorten it"
        raise ConfigError(path, [Fault(text)])
    return parse(content, path)


def _experiment(document: Document, folder: str) -> Experiment:
    """Return the experiment of a document; raise ConfigError with all of its faults."""
    if not isinstance(document.value, dict):
        text = "must be a mapping with the keys name, problems and solvers"
        raise ConfigError(document, [Fault(text)])
    shape, faults = validate(ExperimentFile, document.value)
    entries = {key: _entries(document, key, faults) for key in ("problems", "solvers")}
    faults += label_faults(document)
    if fault := _size_fault(entries, shape.repetitions if shape else 1):
        raise ConfigError(document, [fault])
    with closing(Describer(folder)) as describer:
        problems = _checked(document, entries["problems"], describer.problem, faults)
        solvers = _checked(document, entries["solvers"], describer.solver, faults)
    if shape and shape.target == "proven" and any(problem.path for problem in problems):
        text = "target: the bounds of a path are certified, not proven"
        faults.append(Fault(text, "target"))
    if shape and shape.warm_start and any(solver.searched for solver in solvers):
        text = "warm_start: needs solvers with a fixed tolerance, not auto"
        faults.append(Fault(text, "warm_start"))
    if not faults and shape and (shape.only_problems or shape.only_solvers):
        from dualgap.experiments.files import overrides  # noqa: PLC0415 - rarely needed

        problems = overrides.select_problems(document, problems, faults)
        solvers = overrides.select_solvers(document, solvers, faults)
    if faults or shape is None:
        raise ConfigError(document, faults)
    return Experiment(
        **shape.model_dump(exclude={"problems", "solvers"}),
        problems=problems,
        solvers=solvers,
        folder=folder,
        text=document.text,
    )


def _folder_of(path: Path) -> str:
    """Return the base of relative paths: the file's folder, or the original's for a copy in results."""
    manifest = path.with_name("manifest.json")
    with suppress(OSError, ValueError, AttributeError, TypeError):
        original = json.loads(manifest.read_bytes()).get("folder", "") if path.name == COPY else ""
        if original and (path.parent / original).is_dir():  # relative in a published folder
            return str((path.parent / original).resolve())
    return str(path.absolute().parent)


def _entries(document: Document, key: str, faults: list[Fault]) -> dict[Loc, Any]:
    """Return those entries of `problems` or `solvers` whose grids are not empty."""
    entries = dict[Loc, Any]()
    for k, entry in enumerate(document.listed(key)):
        try:
            grid_size(entry, (key, k))
            entries[key, k] = entry
        except Fault as fault:
            faults.append(fault)
    return entries


def _size_fault(entries: Mapping[str, Mapping[Loc, Any]], repetitions: int) -> Fault | None:
    """Return the fault of a grid that is too large, or None."""
    sizes = {key: sum(grid_size(e, ()) for e in each.values()) for key, each in entries.items()}
    n_problems, n_solvers = sizes.values()
    n_cases = max(n_problems, 1) * max(n_solvers, 1) * repetitions
    if n_cases <= _MAX_CASES:
        return None
    counts = (n_cases, n_problems, n_solvers, repetitions)
    texts = [f"{count:,}" if count < 10**18 else "more than 10^18" for count in counts]
    text = (
        f"the grid has {texts[0]} cases ({texts[1]} problems, {texts[2]} solvers, {texts[3]} "
        f"repetitions); at most {_MAX_CASES:,} are accepted: shorten its lists"
    )
    return Fault(text, "problems" if n_problems >= n_solvers else "solvers")


def _checked(
    document: Document,
    entries: Mapping[Loc, Any],
    check: Callable[[Any], S],
    faults: list[Fault],
) -> list[S]:
    """Return the results of `check` for all cases of the entries' grids; a repeated case is a fault."""
    specs, locs = list[S](), dict[str, Loc]()
    for loc, entry in entries.items():
        for case, origins in expand(entry, loc):
            try:
                with relocated({(): loc} | origins):
                    spec = check(case)
            except Fault as fault:
                faults.append(fault)
                continue
            specs.append(spec)
            if first := locs.get(str(spec)):
                text = f"repeats the case of {document.location(first)}"
                faults.append(Fault(text, *origins.get((), loc)))
            locs.setdefault(str(spec), origins.get((), loc))
    return specs
