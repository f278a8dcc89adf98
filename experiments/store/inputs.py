"""The files that a plan names: of classes from outside, of data, and whatever else a setting names.

Of a file of data the manifest keeps a checksum of its bytes, and one of the samples and labels that data
sets read from it: bytes that are equal are read alike, and a file that was written anew with the same
samples, or compressed, has not changed.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.files.specs import (
    ProblemSpec,
    SolverSpec,
    build_source,
    outside_file,
    outside_names,
    texts_in,
)
from dualgap.problems.dataset import content_hash
from dualgap.problems.datasets import SOURCES, Source
from dualgap.problems.datasets.block_files import BlockFiles
from dualgap.problems.registry import find_path

_PARSED = 2**26  # bytes; of a larger file the bytes decide, as reading it would delay the first run
_STEPS = {each.name for each in fields(Source)} - {"n_features"}  # are taken after reading


@dataclass
class InputFile:
    """A file that cases name.

    Attributes
    ----------
    is_code : whether it is of a class from outside.
    run_ids : of the cases that name it, in the order of the plan.
    sources : the data sets that are read from it, by their descriptions.
    """

    path: Path
    is_code: bool
    run_ids: list[str] = field(default_factory=list[str])
    sources: dict[str, Source] = field(default_factory=dict[str, Source])

    def checksums(self, known: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return checksums of the bytes and the content of a file of data.

        `known`, those it had before, are returned if it has not changed.
        """
        read = content = ""
        with suppress(OSError, ValueError):  # what is wrong with a file is found by its runs
            with self.path.open("rb") as file:
                read = hashlib.file_digest(file, "sha256").hexdigest()
            if known and known.get("bytes") == read:
                return dict(known)
            if self.path.stat().st_size <= _PARSED:
                raws = [source.read() for _, source in sorted(self.sources.items())]
                parts = [part for raw in raws for part in (raw.X, raw.y.tolist())]
                content = content_hash(*parts) if parts else ""
        if known and content and known.get("content") == content:
            return dict(known)
        return {"bytes": read, "content": content}


def input_files(cases: Iterable[Case]) -> dict[str, InputFile]:
    """Return the files that cases name, by these names."""
    found: dict[str, InputFile] = {}
    named: dict[
        int, tuple[set[str], set[str]]
    ] = {}  # of each problem and each solver, code and others
    for case in cases:
        dataset = case.problem.dataset
        for part in (case.problem, case.solver):
            if id(part) not in named:
                values = list(vars(part).values())
                named[id(part)] = outside_names(values), _settings_in(part)
        names = named[id(case.problem)], named[id(case.solver)]
        code, others = (one | other for one, other in zip(*names, strict=True))
        for name in code | others:
            own, source, read = name in code, None, dict[str, Any]()
            path = outside_file(name, case.folder) if own else _file(name, case.folder)
            files = {name: path} if path else {}
            if name == dataset.get("path") and dataset["name"] in SOURCES:
                read = {k: v for k, v in dataset.items() if k not in _STEPS}
                source = build_source(read, case.folder)
                if isinstance(source, BlockFiles):
                    files = _block_files(source, case.folder)
            for each, path in files.items():
                file = found.setdefault(each, InputFile(path, is_code=own))
                file.run_ids.append(case.run_id)
                if isinstance(source, Source):  # of blocks the bytes decide
                    file.sources[json.dumps(read)] = source
    return found


def _block_files(source: BlockFiles, folder: str) -> dict[str, Path]:
    """Return the files of samples in blocks by their paths from the experiment's folder, if inside."""
    found, places = dict[str, Path](), (Path(folder).absolute(), Path.cwd())
    with suppress(OSError, ValueError):  # what is wrong with them is found by their runs
        for file in source.files():
            inside = [file.relative_to(place) for place in places if file.is_relative_to(place)]
            found[str([*inside, file][0])] = file
    return found


def _settings_in(part: ProblemSpec | SolverSpec) -> set[str]:
    """Return the texts that settings of a problem or solver have, and the scripts of a command."""
    settings = part.settings if isinstance(part, SolverSpec) else [part.dataset, part.parameters]
    found = {text for key, text in texts_in(settings) if key != "name"}
    if isinstance(part, SolverSpec) and part.name == "program":
        words = str(part.settings["command"]).split()
        folder = str(part.settings["folder"])
        found |= {word.replace("{folder}", folder) for word in words if "{folder}" in word}
    return found


@lru_cache(maxsize=1000)
def _file(name: str, folder: str) -> Path | None:
    """Return the file of a setting, if it is the path of one."""
    with suppress(OSError, ValueError):
        path = find_path(name, folder)
        return path if path.is_file() else None
    return None
