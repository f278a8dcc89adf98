"""Arrays that sessions store: starting points of other runs, and models in the plane, for figures."""

import json
from pathlib import Path

import numpy as np

from dualgap.experiments.files.specs import (
    ProblemSpec,
    build_problem,
    user_class_file,
    user_class_names,
)
from dualgap.problems import Dataset, Geometry, Point, SampleProblem, Vector
from dualgap.problems.validation import CORRUPT_FILE_ERRORS


def load_answer(path: Path) -> Vector | None:
    """Return the dual variables in a file; None if it is missing or damaged: runs then start from 0."""
    try:
        return np.load(path)
    except (*CORRUPT_FILE_ERRORS, MemoryError, ValueError):
        return None


def load_model(path: Path, folder: Path) -> Geometry | None:
    """Return the answer in a file, with its problem; None if it is damaged: it is only for a figure.

    Also None if its kernel is a class of a file within the results folder `folder`: reading a stranger's
    folder runs no code that is in it.
    """
    try:
        with path.open("rb") as file, np.load(file) as stored:
            arrays = dict(stored)
        spec, base = json.loads(str(arrays["problem"]))
        files = [user_class_file(name, base).resolve() for name in user_class_names(spec)]
        if any(file.is_relative_to(folder.resolve()) for file in files):
            return None
        problem = build_problem(ProblemSpec(**spec), Dataset(arrays["X"], arrays["y"]), base)
        if not isinstance(problem, SampleProblem):
            return None
        b = arrays.get("b", np.zeros(()))
        point = Point(arrays["alpha"], arrays.get("w"), b if b.ndim else float(b))
        return Geometry(problem, point, tuple(arrays["offsets"].tolist()))
    except Exception:
        # the file of its kernel may be missing, or raise anything
        return None
