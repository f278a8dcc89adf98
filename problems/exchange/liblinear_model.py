"""Model files of LIBLINEAR's `train`, of two classes or of a regression.

A model has lines `setting value ...`, a line w, and for each feature a line with its weight; last
that of the constant feature, if `train -B` appended one.
"""

import numpy as np

from dualgap.problems.exchange.words import finite, quoted, whole
from dualgap.problems.forms import Point
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.formulations.task import TARGETS


def read_model(text: str, problem: Formulation) -> Point:
    """Return the weights of a model; those of a feature that only other samples have are 0.

    Raises
    ------
    ValueError
        If it is no model, or one of another problem; the message names the line.
    """
    lines = [line.split() for line in text.split("\n")]
    if ["w"] not in lines:
        raise ValueError("has no line w: it was cut off, or is no model of LIBLINEAR")
    end = lines.index(["w"])
    settings = {words[0]: (line, words[1:]) for line, words in enumerate(lines[:end], 1) if words}

    def word(name: str) -> tuple[str, str]:
        line, words = settings.get(name, (end + 1, []))
        if len(words) != 1:
            raise ValueError(f"line {line}: needs {name} with one value before it")
        return words[0], f"line {line}, {name}"

    if not problem.is_linear or problem.outputs > 1:
        raise ValueError("is a model of LIBLINEAR, which has no kernel and here two classes")
    labels, sign = settings.get("label", (0, []))[1], 1.0
    if problem.task is not TARGETS:
        if sorted(labels) != ["-1", "1"]:
            raise ValueError(f"its labels are {quoted(' '.join(labels))}; train on -1 and +1")
        sign = float(labels[0])  # a positive decision is for the first one
    features, bias = whole(*word("nr_feature")[:1], problem.d, word("nr_feature")[1]), word("bias")
    constant = finite(*bias)
    rows = [(line, words) for line, words in enumerate(lines[end + 1 :], end + 2) if words]
    expected = features + (constant >= 0)
    if len(rows) != expected or any(len(words) != 1 for _, words in rows):
        raise ValueError(f"has {len(rows)} rows of weights, expected {expected} with one each")
    values = sign * np.array([finite(words[0], f"line {line}") for line, words in rows])
    w = np.zeros(problem.d)
    w[:features] = values[:features]
    return Point(w=w, b=constant * float(values[-1]) if constant >= 0 else 0.0)
