"""Model files of LIBSVM's `svm-train`, of two classes or of a regression.

A model has lines `setting value ...`, a line SV, and for each support vector a line `coefficient
index:value ...`. It has the samples to eight digits, by which they are found among the problem's.
"""

from collections import defaultdict
from collections.abc import Mapping
from math import isclose
from typing import Any

import numpy as np
import scipy

from dualgap.problems.dataset import Matrix
from dualgap.problems.exchange.words import finite, quoted, whole
from dualgap.problems.forms import Point
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.formulations.task import TARGETS
from dualgap.problems.kernels import RBF, Linear, Polynomial, Precomputed, Sigmoid

_KERNELS = {
    "linear": Linear,
    "polynomial": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
    "precomputed": Precomputed,
}
_SIX_DIGITS = 1e-5  # to which a model file has a kernel's settings
Rows = list[tuple[int, list[str]]]  # lines with their numbers, in words
Settings = Mapping[str, tuple[int, list[str]]]


def read_model(text: str, problem: Formulation) -> Point:
    """Return the answer of a model to a problem.

    Raises
    ------
    ValueError
        If it is no model, or one of another problem; the message names the line.
    """
    settings, rows = _parts(text)
    labelled = problem.task is not TARGETS
    expected = "c_svc" if labelled else "epsilon_svr"
    if _word(settings, "svm_type") != expected or _word(settings, "nr_class") != "2":
        kind = f"{_word(settings, 'svm_type')} of {_word(settings, 'nr_class')} classes"
        raise ValueError(
            f"is a model of {quoted(kind)[1:-1]}; this problem is {expected} of 2 classes"
        )
    _check_kernel(settings, problem)
    sign = 1.0
    if labelled:
        line, labels = settings.get("label", (0, []))
        if sorted(labels) != ["-1", "1"]:
            raise ValueError(
                f"line {line}: its labels are {quoted(' '.join(labels))}; train on labels -1 and +1, "
                "as exported"
            )
        sign = float(labels[0])  # a positive decision is for the first one
    coefs = sign * np.array([finite(row[0], f"line {line}") for line, row in rows])
    beta = np.zeros(problem.n)
    beta[_places(rows, coefs.tolist(), problem, labelled)] = coefs
    return Point(alpha=problem.alpha(beta), b=-sign * _number(settings, "rho"))


def _parts(text: str) -> tuple[Settings, Rows]:
    """Return the settings of a model by their names, and the lines of its support vectors."""
    lines = [
        (number, words)
        for number, line in enumerate(text.split("\n"), 1)
        if (words := line.split())
    ]
    head = [words[0] for _, words in lines]
    if "svm_type" not in head or "SV" not in head:
        raise ValueError(
            "is no LIBSVM model; answers are .npz, .csv or .tsv files, or what svm-train writes"
        )
    end = head.index("SV")
    settings = {words[0]: (number, words[1:]) for number, words in lines[:end]}
    for number, (name, *_) in lines[:end]:
        if settings[name][0] != number:
            raise ValueError(
                f"line {number}: {quoted(name)} is set again in line {settings[name][0]}"
            )
    rows = lines[end + 1 :]
    if "total_sv" in settings and _word(settings, "total_sv") != str(len(rows)):
        total = f"line {settings['total_sv'][0]} says {quoted(_word(settings, 'total_sv'))}"
        raise ValueError(f"has {len(rows)} support vectors, but {total}: it was cut off or changed")
    return settings, rows


def _word(settings: Settings, name: str) -> str:
    """Return the one value of a setting."""
    line, words = settings.get(name, (0, []))
    if len(words) != 1:
        place = f"line {line}: {name} must have" if line else f"needs a line {name} with"
        raise ValueError(f"{place} one value")
    return words[0]


def _number(settings: Settings, name: str) -> float:
    return finite(_word(settings, name), f"line {settings[name][0]}, {name}")


def _check_kernel(settings: Settings, problem: Formulation) -> None:
    """Raise ValueError if the model's kernel is not the problem's."""
    kind = _word(settings, "kernel_type")
    names = ("degree", "gamma", "coef0")
    given = {name: _number(settings, name) for name in names if name in settings}
    own = {name: float(getattr(problem.kernel, name, value)) for name, value in given.items()}
    same = all(isclose(own[name], value, rel_tol=_SIX_DIGITS) for name, value in given.items())
    if type(problem.kernel) is not _KERNELS.get(kind) or not same:
        text = ", ".join([kind, *(f"{name} {value:g}" for name, value in given.items())])
        raise ValueError(f"its kernel is {quoted(text)[1:-1]}; the problem's is {problem.kernel!r}")


def _places(rows: Rows, coefs: list[float], problem: Formulation, labelled: bool) -> list[int]:
    """Return which sample each support vector is; of equal ones the next that is not taken yet.

    Where samples are labelled, the sign of a coefficient is that of the sample's label.
    """
    samples: dict[Any, list[int]] = defaultdict(list)
    if isinstance(problem.kernel, Precomputed):
        samples |= {i: [i] for i in range(problem.n)}
    else:
        for i, key in reversed([*enumerate(_keys(problem.X))]):
            samples[key, labelled and problem.y[i] > 0].append(i)
    places: list[int] = []
    for (line, row), coef in zip(rows, coefs, strict=True):
        key: Any
        if isinstance(problem.kernel, Precomputed):
            number = row[1].removeprefix("0:") if len(row) > 1 else ""
            key = whole(number, problem.n, f"line {line}, the number after 0:") - 1
        else:
            key = _entries(row[1:], line, problem.d), labelled and coef > 0
        if not samples[key]:
            raise ValueError(
                f"line {line}: support vector {len(places) + 1} is none of the problem's samples (of "
                "its label) that are left: train on what `dualgap export` writes, without scaling"
            )
        places.append(samples[key].pop())
    return places


def _entries(words: list[str], line: int, d: int) -> tuple[tuple[int, float], ...]:
    """Return the entries of a support vector that are not 0, in order."""
    found = dict[int, float]()
    for word in words:
        index, _, value = word.partition(":")
        place = f"line {line}, {quoted(word)}"
        found[whole(index, d, f"{place}, before the colon") - 1] = finite(
            value, f"{place}, after the colon"
        )
    return tuple(sorted((j, value) for j, value in found.items() if value))


def _keys(X: Matrix) -> list[tuple[tuple[int, float], ...]]:
    """Return the entries of each sample that are not 0, to the eight digits of a model file."""
    rows = scipy.sparse.csr_array(X)
    values = [float(f"{value:.8g}") for value in rows.data.tolist()]
    columns = rows.indices.tolist()
    return [
        tuple(sorted((j, v) for j, v in zip(columns[a:b], values[a:b], strict=True) if v))
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]
