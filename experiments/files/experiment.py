"""Experiment files: read, checked whole, and refused with file and line before anything runs.

An experiment is a list of problems and a list of solvers, every one solved by every other; a list
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
from dualgap.experiments.files.grid import expand, grid_size, with_values
from dualgap.experiments.files.keys import ExperimentFile, checked_keys, checked_labels
from dualgap.experiments.files.overrides import overridden, text_of
from dualgap.experiments.files.selection import kept_problems, kept_solvers
from dualgap.experiments.files.specs import ProblemSpec, SolverSpec
from dualgap.experiments.files.yamlfile import (
    LARGEST,
    ConfigError,
    Fault,
    Node,
    named_by_place,
    parse,
    yaml_text,
)
from dualgap.problems.registry import unknown

COPY = "experiment.yaml"  # how the folder of a run calls it
CONFIGS = Path(__file__).parents[1] / "configs"
S = TypeVar("S")
_MOST_CASES = 100_000


class Experiment(ExperimentFile, frozen=True):
    """A checked experiment file.

    Attributes
    ----------
    problems, solvers : every case of their grids.
    folder : where relative paths begin. text : the file itself, with what the command line has changed.
    options : what it has changed, as `--set C=1,10`.
    """

    problems: list[ProblemSpec]
    solvers: list[SolverSpec]
    folder: str
    text: str
    options: tuple[str, ...] = ()


def experiment_names() -> list[str]:
    """Return the names of the experiments that come with the toolkit, and of folders of them."""
    folders = (path.name for path in CONFIGS.iterdir() if [*path.glob("*.yaml")])
    return sorted([*(path.stem for path in CONFIGS.rglob("*.yaml")), *folders])


def purpose(experiment: str) -> str:
    """Return the first sentence of the comment that an experiment file begins with."""
    comment = re.match(r"(?:#.*\n)*", experiment)
    words = " ".join(re.sub(r"(?m)^# ?", "", comment[0] if comment else "").split())
    return re.split(r"(?<=[.?]) ", words)[0]


def find_experiments(name: str) -> list[Path]:
    """Return the file for a path, or for the name of an experiment that comes with the toolkit.

    A folder, or its name, stands for all experiment files in it.

    Raises
    ------
    ConfigError
        If there is none.
    """
    with suppress(OSError, ValueError):  # no file can have such a name
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
    options : what the command line changes in it: `--set` with KEY=VALUE, `--solver` and `--problem`
        with the name of what to keep, as tables print it, or a regular expression of problems' names.

    Raises
    ------
    ConfigError
        With everything that is wrong with it, line by line, and option by option.
    """
    content, root = read_tree(path)
    return checked_experiment(path, content.decode(), root, options)


def checked_experiment(
    path: Path, text: str, root: Node, options: Sequence[tuple[str, str]] = ()
) -> Experiment:
    """Return the experiment of a tree, as `read_experiment` does; `path` is what its faults name."""
    shown = tuple(f"{option} {value}" for option, value in options)
    try:
        if options:
            root = overridden(root, options, list(ExperimentFile.model_fields))
            text = text_of(root, text, shown)
        return _experiment(path, text, root, shown)
    except Fault as fault:
        raise ConfigError(path, [fault], shown) from None


def described_experiment(content: Mapping[str, Any]) -> Experiment:
    """Return the experiment of a dict such as a file's YAML gives; relative paths begin in this folder.

    Raises
    ------
    ConfigError
        With everything that is wrong with it, by places such as problems.0.kernel.gamma.
    """
    path, places = Path("experiment"), list[str]()
    try:
        text = yaml_text(dict(content))
        root = named_by_place(parse(text.encode()), "", places)
    except Fault as fault:
        raise ConfigError(path, [Fault(0, fault.text)]) from None
    places[0] = path.name
    described = _experiment(path, text, root, tuple(places))
    return described.model_copy(update={"options": ()})


def read_problem(path: Path) -> tuple[ProblemSpec, str, float]:
    """Read a file that poses one problem: the entry of a problem alone, or an experiment with one.

    Returns
    -------
    tuple
        The problem, the folder where its relative paths begin, and the target gap.

    Raises
    ------
    ConfigError
        With everything that is wrong with it, or if it poses several problems.
    """
    content, root = read_tree(path)
    if isinstance(root.value, dict) and "formulation" in root.value:
        alone = {"name": "problem", "problems": [root], "solvers": [Node("smo", 1)]}
        root = Node({key: Node(value, 1) for key, value in alone.items()}, 1)
    experiment = _experiment(path, content.decode(), root)
    if len(experiment.problems) != 1:
        told = f"poses {len(experiment.problems)} problems; leave one value in each list"
    elif experiment.problems[0].path:
        told = "poses a path; give one C, lam or epsilon instead"
    else:
        return experiment.problems[0], experiment.folder, experiment.target_gap
    raise ConfigError(path, [Fault(1, told)])


def read_tree(path: Path) -> tuple[bytes, Node]:
    """Return what is in a file, and the tree of it; ConfigError if it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise Fault(0, f"is larger than {LARGEST // 1024} KiB; shorten it")
        return content, parse(content)
    except OSError as error:
        raise ConfigError(path, [Fault(0, f"cannot be read: {error.strerror}")]) from None
    except Fault as fault:
        raise ConfigError(path, [fault]) from None


def _experiment(path: Path, text: str, root: Node, options: tuple[str, ...] = ()) -> Experiment:
    """Return the experiment that a tree is; ConfigError with all that is wrong with it."""
    if not isinstance(root.value, dict):
        told = "must be a mapping with the keys name, problems and solvers"
        raise ConfigError(path, [Fault(1, told)])
    faults: list[Fault] = []
    shape = checked_keys(root, faults, ExperimentFile)
    folder = _folder_of(path)
    entries = {key: _entries(root.listed(key), faults) for key in ("problems", "solvers")}
    checked_labels(entries["solvers"], faults)
    posed, tried = (sum(map(grid_size, entries[key])) for key in ("problems", "solvers"))
    repetitions = shape.repetitions if shape else 1
    cases = max(posed, 1) * max(tried, 1) * repetitions
    if cases > _MOST_CASES:
        counts = (cases, posed, tried, repetitions)
        shown = [f"{count:,}" if count < 10**18 else "more than 10^18" for count in counts]
        told = (
            f"the grid has {shown[0]} cases ({shown[1]} problems, {shown[2]} solvers, {shown[3]} "
            f"repetitions); at most {_MOST_CASES:,} are accepted: shorten its lists"
        )
        longest = root.value.get("problems" if posed >= tried else "solvers", root)
        raise ConfigError(path, [Fault(longest.line, told)], options)
    with closing(Describer(folder)) as describer:
        problems = _checked(entries["problems"], describer.problem, faults)
        solvers = _checked(entries["solvers"], describer.solver, faults)
    if shape and shape.target == "proven" and any(problem.path for problem in problems):
        line = root.value["target"].line
        faults.append(Fault(line, "target: the bounds of a path are certified, not proven"))
    if shape and shape.warm_start and any(solver.searched for solver in solvers):
        told = "warm_start: needs solvers with a tolerance of their own, not auto"
        faults.append(Fault(root.value["warm_start"].line, told))
    if faults or shape is None:
        raise ConfigError(path, faults, options)
    problems = kept_problems(root, problems, faults)
    solvers = kept_solvers(root, solvers, faults)
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
    """Return where relative paths begin: in the file's folder, or of a run's copy in the original's."""
    beside = path.with_name("manifest.json")
    with suppress(OSError, ValueError, AttributeError, TypeError):
        begun = json.loads(beside.read_text()).get("folder", "") if path.name == COPY else ""
        if begun and (path.parent / begun).is_dir():  # of a published folder it is a relative one
            return str((path.parent / begun).resolve())
    return str(path.absolute().parent)


def _entries(listed: list[Node], faults: list[Fault]) -> list[Node]:
    """Return those entries of `problems` or `solvers` whose grids are not empty."""
    entries: list[Node] = []
    for entry in map(with_values, listed):
        try:
            grid_size(entry)
            entries.append(entry)
        except Fault as fault:
            faults.append(fault)
    return entries


def _checked(entries: list[Node], check: Callable[[Node], S], faults: list[Fault]) -> list[S]:
    """Return what `check` makes of every case of the entries' grids; the same one twice is a fault."""
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
            told = f"repeats the case of line {line}" if line > 0 else "repeats another case"
            faults.append(Fault(node.line, told))
        lines.setdefault(str(spec), node.line)
        specs.append(spec)
    return specs
