"""The input files of a plan: user-defined classes, data, and other files that settings refer to.

For a data file the manifest has a checksum of its bytes, and one of the samples and labels that data
sets read from it: a file that was rewritten with the same samples, or compressed, has not changed.
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
    iter_texts,
    user_class_file,
    user_class_names,
)
from dualgap.problems.dataset import content_hash
from dualgap.problems.datasets import SOURCES, Source
from dualgap.problems.datasets.block_files import BlockFiles
from dualgap.problems.registry import find_path

_MAX_PARSED_BYTES = 2**26  # parsing a larger file would delay the first run; its bytes are compared
_STEPS = {each.name for each in fields(Source)} - {"n_features"}  # applied after reading


@dataclass
class InputFile:
    """An input file of some cases.

    Attributes
    ----------
    is_code : whether it defines a user's class.
    run_ids : the cases that refer to it, in the order of the plan.
    sources : the data sets read from it, by their descriptions.
    """

    path: Path
    is_code: bool
    run_ids: list[str] = field(default_factory=list[str])
    sources: dict[str, Source] = field(default_factory=dict[str, Source])

    def checksums(self, previous: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return checksums of the bytes and the content of a data file.

        `previous` checksums are returned unchanged if the bytes or the content are the same.
        """
        digest = content = ""
        with suppress(OSError, ValueError):  # the runs will report what is wrong with the file
            with self.path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if previous and previous.get("bytes") == digest:
                return dict(previous)
            if self.path.stat().st_size <= _MAX_PARSED_BYTES:
                raws = [source.read() for _, source in sorted(self.sources.items())]
                parts = [part for raw in raws for part in (raw.X, raw.y.tolist())]
                content = content_hash(*parts) if parts else ""
        if previous and content and previous.get("content") == content:
            return dict(previous)
        return {"bytes": digest, "content": content}


def input_files(cases: Iterable[Case]) -> dict[str, InputFile]:
    """Return the input files of cases, by the names that the cases use."""
    inputs: dict[str, InputFile] = {}
    # names of code and of other possible files, by problem and by solver
    names_of: dict[int, tuple[set[str], set[str]]] = {}
    for case in cases:
        dataset = case.problem.dataset
        for part in (case.problem, case.solver):
            if id(part) not in names_of:
                values = list(vars(part).values())
                names_of[id(part)] = user_class_names(values), _setting_texts(part)
        names = names_of[id(case.problem)], names_of[id(case.solver)]
        code, texts = (first | second for first, second in zip(*names, strict=True))
        for name in code | texts:
            is_code, source, spec = name in code, None, dict[str, Any]()
            path = user_class_file(name, case.folder) if is_code else _file(name, case.folder)
            files = {name: path} if path else {}
            if name == dataset.get("path") and dataset["name"] in SOURCES:
                spec = {k: v for k, v in dataset.items() if k not in _STEPS}
                source = build_source(spec, case.folder)
                if isinstance(source, BlockFiles):
                    files = _block_files(source, case.folder)
            for file_name, path in files.items():
                file = inputs.setdefault(file_name, InputFile(path, is_code=is_code))
                file.run_ids.append(case.run_id)
                if isinstance(source, Source):  # for blocks, only the bytes are compared
                    file.sources[json.dumps(spec)] = source
    return inputs


def _block_files(source: BlockFiles, folder: str) -> dict[str, Path]:
    """Return the files of samples in blocks, by paths relative to the experiment's folder if inside."""
    files, roots = dict[str, Path](), (Path(folder).absolute(), Path.cwd())
    with suppress(OSError, ValueError):  # the runs will report what is wrong with them
        for file in source.files():
            relative = [file.relative_to(root) for root in roots if file.is_relative_to(root)]
            files[str([*relative, file][0])] = file
    return files


def _setting_texts(part: ProblemSpec | SolverSpec) -> set[str]:
    """Return the texts in the settings of a problem or solver, and the scripts of a command."""
    settings = part.settings if isinstance(part, SolverSpec) else [part.dataset, part.parameters]
    texts = {text for loc, text in iter_texts(settings) if loc[-1] != "name"}
    if isinstance(part, SolverSpec) and part.name == "program":
        words = str(part.settings["command"]).split()
        folder = str(part.settings["folder"])
        texts |= {word.replace("{folder}", folder) for word in words if "{folder}" in word}
    return texts


@lru_cache(maxsize=1000)
def _file(name: str, folder: str) -> Path | None:
    """Return the file that a setting refers to, or None if it is not the path of a file."""
    with suppress(OSError, ValueError):
        path = find_path(name, folder)
        return path if path.is_file() else None
    return None
