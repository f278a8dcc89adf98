"""Model files of LIBLINEAR's `train`, for two classes or regression.

A model has lines `setting value ...`, a line w, and one line per feature with its weight, the last
being that of the constant feature if `train -B` appended one.
"""

import numpy as np

from dualgap.problems.exchange.words import parse_finite, parse_index, quote
from dualgap.problems.forms import Point
from dualgap.problems.formulations.formulation import SampleProblem
from dualgap.problems.problem.task import TARGETS


def read_model(text: str, problem: SampleProblem) -> Point:
    """Return the weights of a model; those of features that it does not have are 0.

    Raises
    ------
    ValueError
        If it is not a model, or one of another problem; the message names the line.
    """
    lines = [line.split() for line in text.split("\n")]
    if ["w"] not in lines:
        raise ValueError("has no line w: it was cut off, or is not a LIBLINEAR model")
    end = lines.index(["w"])
    settings = {words[0]: (line, words[1:]) for line, words in enumerate(lines[:end], 1) if words}

    def setting(name: str) -> tuple[str, str]:
        line, words = settings.get(name, (end + 1, []))
        if len(words) != 1:
            raise ValueError(f"line {line}: {name} with one value must precede it")
        return words[0], f"line {line}, {name}"

    if not problem.samples.is_linear or problem.outputs > 1:
        raise ValueError("is a LIBLINEAR model, but the problem has a kernel or several classes")
    labels, sign = settings.get("label", (0, []))[1], 1.0
    if problem.task is not TARGETS:
        if sorted(labels) != ["-1", "1"]:
            raise ValueError(f"its labels are {quote(' '.join(labels))}; train on -1 and +1")
        sign = float(labels[0])  # a positive decision value means the first label
    word, location = setting("nr_feature")
    n_features = parse_index(word, problem.d, location)
    constant = parse_finite(*setting("bias"))
    rows = [(line, words) for line, words in enumerate(lines[end + 1 :], end + 2) if words]
    expected = n_features + (constant >= 0)
    if len(rows) != expected or any(len(words) != 1 for _, words in rows):
        raise ValueError(f"has {len(rows)} rows of weights, expected {expected} of one number each")
    values = sign * np.array([parse_finite(words[0], f"line {line}") for line, words in rows])
    w = np.zeros(problem.d)
    w[:n_features] = values[:n_features]
    return Point(w=w, b=constant * float(values[-1]) if constant >= 0 else 0.0)
