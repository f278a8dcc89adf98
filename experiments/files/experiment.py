"""Experiment files: read and checked completely before anything runs; faults name file and line.

An experiment is a list of problems and a list of solvers; every solver runs on every problem. A list
anywhere inside an entry is an axis of a grid. See `configs/quickstart.yaml` for a commented example.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from dualgap.experiments.files.entries import Describer
from dualgap.experiments.files.grid import expand, grid_size, protect_list_settings
from dualgap.experiments.files.keys import ExperimentFile, check_labels, checked_keys
from dualgap.experiments.files.overrides import override, text_of
from dualgap.experiments.files.selection import select_problems, select_solvers
from dualgap.experiments.files.specs import ProblemSpec, SolverSpec
from dualgap.experiments.files.yamlfile import (
    MAX_FILE_BYTES,
    ConfigError,
    Fault,
    Node,
    parse,
    with_paths,
    yaml_text,
)
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
    """

    problems: list[ProblemSpec]
    solvers: list[SolverSpec]
    folder: str
    text: str
    options: tuple[str, ...] = ()


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
        raise ConfigError(name, [Fault(0, "there is no such file")])
    raise ConfigError(name, [Fault(0, unknown("experiment", name, experiment_names()))])


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
    content, root = read_tree(path)
    return checked_experiment(path, content.decode(), root, options)


def checked_experiment(
    path: Path, text: str, root: Node, options: Sequence[tuple[str, str]] = ()
) -> Experiment:
    """Return the experiment of a tree, as `read_experiment` does; its faults refer to `path`."""
    option_texts = tuple(f"{option} {value}" for option, value in options)
    try:
        if options:
            root = override(root, options, list(ExperimentFile.model_fields))
            text = text_of(root, text, option_texts)
        return _experiment(path, text, root, option_texts)
    except Fault as fault:
        raise ConfigError(path, [fault], option_texts) from None


def experiment_from_dict(content: Mapping[str, Any]) -> Experiment:
    """Return the experiment of a dict with the content of a file, relative to the current folder.

    Raises
    ------
    ConfigError
        With all faults, by paths such as problems.0.kernel.gamma.
    """
    path, key_paths = Path("experiment"), list[str]()
    try:
        text = yaml_text(dict(content))
        root = with_paths(parse(text.encode()), "", key_paths)
    except Fault as fault:
        raise ConfigError(path, [Fault(0, fault.text)]) from None
    key_paths[0] = path.name
    experiment = _experiment(path, text, root, tuple(key_paths))
    return experiment.model_copy(update={"options": ()})


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
    content, root = read_tree(path)
    if isinstance(root.value, dict) and "formulation" in root.value:
        wrapped = {"name": "problem", "problems": [root], "solvers": [Node("smo", 1)]}
        root = Node({key: Node(value, 1) for key, value in wrapped.items()}, 1)
    experiment = _experiment(path, content.decode(), root)
    if len(experiment.problems) != 1:
        text = f"has {len(experiment.problems)} problems; leave one value in each list"
    elif experiment.problems[0].path:
        text = "has a path; give one C, lam or epsilon instead"
    else:
        return experiment.problems[0], experiment.folder, experiment.target_gap
    raise ConfigError(path, [Fault(1, text)])


def read_tree(path: Path) -> tuple[bytes, Node]:
    """Return the content of a file and its tree; raise ConfigError if it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise Fault(0, f"is larger than {MAX_FILE_BYTES // 1024} KiB; shorten it")
        return content, parse(content)
    except OSError as error:
        raise ConfigError(path, [Fault(0, f"cannot be read: {error.strerror}")]) from None
    except Fault as fault:
        raise ConfigError(path, [fault]) from None


def _experiment(path: Path, text: str, root: Node, options: tuple[str, ...] = ()) -> Experiment:
    """Return the experiment of a tree; raise ConfigError with all of its faults."""
    if not isinstance(root.value, dict):
        text = "must be a mapping with the keys name, problems and solvers"
        raise ConfigError(path, [Fault(1, text)])
    faults: list[Fault] = []
    shape = checked_keys(root, faults, ExperimentFile)
    folder = _folder_of(path)
    entries = {key: _entries(root.listed(key), faults) for key in ("problems", "solvers")}
    check_labels(entries["solvers"], faults)
    n_problems, n_solvers = (sum(map(grid_size, entries[key])) for key in ("problems", "solvers"))
    repetitions = shape.repetitions if shape else 1
    n_cases = max(n_problems, 1) * max(n_solvers, 1) * repetitions
    if n_cases > _MAX_CASES:
        counts = (n_cases, n_problems, n_solvers, repetitions)
        texts = [f"{count:,}" if count < 10**18 else "more than 10^18" for count in counts]
        fault = (
            f"the grid has {texts[0]} cases ({texts[1]} problems, {texts[2]} solvers, {texts[3]} "
            f"repetitions); at most {_MAX_CASES:,} are accepted: shorten its lists"
        )
        longest = root.value.get("problems" if n_problems >= n_solvers else "solvers", root)
        raise ConfigError(path, [Fault(longest.line, fault)], options)
    with closing(Describer(folder)) as describer:
        problems = _checked(entries["problems"], describer.problem, faults)
        solvers = _checked(entries["solvers"], describer.solver, faults)
    if shape and shape.target == "proven" and any(problem.path for problem in problems):
        line = root.value["target"].line
        faults.append(Fault(line, "target: the bounds of a path are certified, not proven"))
    if shape and shape.warm_start and any(solver.searched for solver in solvers):
        fault = "warm_start: needs solvers with a fixed tolerance, not auto"
        faults.append(Fault(root.value["warm_start"].line, fault))
    if faults or shape is None:
        raise ConfigError(path, faults, options)
    problems = select_problems(root, problems, faults)
    solvers = select_solvers(root, solvers, faults)
    if faults:
        raise ConfigError(path, faults, options)
    return Experiment(
        **shape.model_dump(exclude={"problems", "solvers"}),
        problems=problems,
        solvers=solvers,
        folder=folder,
        text=text,
        options=options,
    )


def _folder_of(path: Path) -> str:
    """Return the base of relative paths: the file's folder, or the original's for a copy in results."""
    manifest = path.with_name("manifest.json")
    with suppress(OSError, ValueError, AttributeError, TypeError):
        original = json.loads(manifest.read_text()).get("folder", "") if path.name == COPY else ""
        if original and (path.parent / original).is_dir():  # relative in a published folder
            return str((path.parent / original).resolve())
    return str(path.absolute().parent)


def _entries(listed: list[Node], faults: list[Fault]) -> list[Node]:
    """Return those entries of `problems` or `solvers` whose grids are not empty."""
    entries: list[Node] = []
    for entry in map(protect_list_settings, listed):
        try:
            grid_size(entry)
            entries.append(entry)
        except Fault as fault:
            faults.append(fault)
    return entries


def _checked(entries: list[Node], check: Callable[[Node], S], faults: list[Fault]) -> list[S]:
    """Return the results of `check` for all cases of the entries' grids; a repeated case is a fault."""
    lines: dict[str, int] = {}
    specs: list[S] = []
    for node in chain.from_iterable(map(expand, entries)):
        try:
            spec = check(node)
        except Fault as fault:
            faults.append(fault)
            continue
        if str(spec) in lines:
            line = lines[str(spec)]
            text = f"repeats the case of line {line}" if line > 0 else "repeats another case"
            faults.append(Fault(node.line, text))
        lines.setdefault(str(spec), node.line)
        specs.append(spec)
    return specs
