"""Model files of LIBSVM's `svm-train`, for two classes or regression.

A model has lines `setting value ...`, a line SV, and one line `coefficient index:value ...` per support
vector. Samples have eight digits, by which they are matched with the problem's.
"""

from collections import defaultdict
from collections.abc import Mapping
from math import isclose
from typing import Any

import numpy as np
import scipy

from dualgap.problems.dataset import Matrix
from dualgap.problems.exchange.words import parse_finite, parse_index, quote
from dualgap.problems.forms import Point
from dualgap.problems.formulations.formulation import Formulation, SampleProblem
from dualgap.problems.kernels import RBF, Linear, Polynomial, Precomputed, Sigmoid
from dualgap.problems.problem.task import TARGETS

_KERNELS = {
    "linear": Linear,
    "polynomial": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
    "precomputed": Precomputed,
}
Rows = list[tuple[int, list[str]]]  # line numbers and words
Settings = Mapping[str, tuple[int, list[str]]]


def read_model(text: str, problem: SampleProblem) -> Point:
    """Return the answer of a model to a problem.

    Raises
    ------
    ValueError
        If it is not a model, or one of another problem; the message names the line.
    """
    settings, rows = _parse(text)
    if not isinstance(problem, Formulation):
        raise ValueError("is a LIBSVM model, but the problem has several decision functions")
    labelled = problem.task is not TARGETS
    expected = "c_svc" if labelled else "epsilon_svr"
    if _value(settings, "svm_type") != expected or _value(settings, "nr_class") != "2":
        kind = f"{_value(settings, 'svm_type')} of {_value(settings, 'nr_class')} classes"
        raise ValueError(
            f"is a model of {quote(kind)[1:-1]}; this problem is {expected} of 2 classes"
        )
    _check_kernel(settings, problem)
    sign = 1.0
    if labelled:
        line, labels = settings.get("label", (0, []))
        if sorted(labels) != ["-1", "1"]:
            raise ValueError(
                f"line {line}: its labels are {quote(' '.join(labels))}; train on labels -1 and +1, "
                "as exported"
            )
        sign = float(labels[0])  # a positive decision value means the first label
    coefs = sign * np.array([parse_finite(row[0], f"line {line}") for line, row in rows])
    beta = np.zeros(problem.n)
    beta[_indices(rows, coefs.tolist(), problem, labelled)] = coefs
    return Point(alpha=problem.risk.alpha(beta), b=-sign * _float(settings, "rho"))


def _parse(text: str) -> tuple[Settings, Rows]:
    """Return the settings of a model by name, and the lines of its support vectors."""
    lines = [
        (number, words)
        for number, line in enumerate(text.split("\n"), 1)
        if (words := line.split())
    ]
    head = [words[0] for _, words in lines]
    if "svm_type" not in head or "SV" not in head:
        raise ValueError(
            "is not a LIBSVM model; answers are .npz, .csv or .tsv files, or models of svm-train"
        )
    end = head.index("SV")
    settings = {words[0]: (number, words[1:]) for number, words in lines[:end]}
    for number, (name, *_) in lines[:end]:
        if settings[name][0] != number:
            raise ValueError(
                f"line {number}: {quote(name)} is set again in line {settings[name][0]}"
            )
    rows = lines[end + 1 :]
    if "total_sv" in settings and _value(settings, "total_sv") != str(len(rows)):
        total = f"line {settings['total_sv'][0]} says {quote(_value(settings, 'total_sv'))}"
        raise ValueError(f"has {len(rows)} support vectors, but {total}: it was cut off or changed")
    return settings, rows


def _value(settings: Settings, name: str) -> str:
    """Return the value of a setting, which must have exactly one."""
    line, words = settings.get(name, (0, []))
    if len(words) != 1:
        subject = f"line {line}: {name} must have" if line else f"needs a line {name} with"
        raise ValueError(f"{subject} one value")
    return words[0]


def _float(settings: Settings, name: str) -> float:
    return parse_finite(_value(settings, name), f"line {settings[name][0]}, {name}")


def _check_kernel(settings: Settings, problem: Formulation) -> None:
    """Raise ValueError if the model's kernel is not the problem's."""
    kind = _value(settings, "kernel_type")
    names = ("degree", "gamma", "coef0")
    values = {name: _float(settings, name) for name in names if name in settings}
    pairs = [(float(getattr(problem.kernel, name, v)), v) for name, v in values.items()]
    agree = all(isclose(*pair, rel_tol=1e-5) for pair in pairs)  # svm-train writes six digits
    if type(problem.kernel) is not _KERNELS.get(kind) or not agree:
        text = ", ".join([kind, *(f"{name} {value:g}" for name, value in values.items())])
        raise ValueError(f"its kernel is {quote(text)[1:-1]}; the problem's is {problem.kernel!r}")


def _indices(rows: Rows, coefs: list[float], problem: Formulation, labelled: bool) -> list[int]:
    """Return the index of each support vector's sample; equal samples are used one after another.

    With labels, the sign of a coefficient is the label of its sample.
    """
    samples: dict[Any, list[int]] = defaultdict(list)
    if isinstance(problem.kernel, Precomputed):
        samples |= {i: [i] for i in range(problem.n)}
    else:
        for i, key in reversed([*enumerate(_keys(problem.X))]):
            samples[key, labelled and problem.y[i] > 0].append(i)
    indices: list[int] = []
    for (line, row), coef in zip(rows, coefs, strict=True):
        key: Any
        if isinstance(problem.kernel, Precomputed):
            number = row[1].removeprefix("0:") if len(row) > 1 else ""
            key = parse_index(number, problem.n, f"line {line}, the number after 0:") - 1
        else:
            key = _entries(row[1:], line, problem.d), labelled and coef > 0
        if not samples[key]:
            raise ValueError(
                f"line {line}: support vector {len(indices) + 1} is none of the problem's samples (of "
                "its label) not matched before: train on the output of `dualgap export`, unscaled"
            )
        indices.append(samples[key].pop())
    return indices


def _entries(words: list[str], line: int, d: int) -> tuple[tuple[int, float], ...]:
    """Return the nonzero entries of a support vector, in order."""
    entries = dict[int, float]()
    for word in words:
        index, _, value = word.partition(":")
        location = f"line {line}, {quote(word)}"
        entries[parse_index(index, d, f"{location}, before the colon") - 1] = parse_finite(
            value, f"{location}, after the colon"
        )
    return tuple(sorted((j, value) for j, value in entries.items() if value))


def _keys(X: Matrix) -> list[tuple[tuple[int, float], ...]]:
    """Return the nonzero entries of each sample, to the eight digits of a model file."""
    rows = scipy.sparse.csr_array(X)
    values = [float(f"{value:.8g}") for value in rows.data.tolist()]
    columns = rows.indices.tolist()
    return [
        tuple(sorted((j, v) for j, v in zip(columns[a:b], values[a:b], strict=True) if v))
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]
