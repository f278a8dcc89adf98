"""Model files of LIBSVM's `svm-train` and LIBLINEAR's `train`, for two classes or regression.

Both have lines `setting value ...`. In one of LIBSVM a line SV and a line `coefficient index:value ...`
per support vector follow; samples have eight digits, by which they are matched with the problem's. In
one of LIBLINEAR a line w and a line per feature with its weight follow, the last being that of the
constant feature if `train -B` appended one.
"""

from collections import defaultdict
from math import isclose
from typing import Any, NamedTuple

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


class _Model(NamedTuple):
    """The settings of a model by name, each with its line and its words, and the lines that follow."""

    settings: dict[str, tuple[int, list[str]]]
    rows: Rows

    def value(self, name: str) -> str:
        """Return the value of a setting, which must have exactly one."""
        line, words = self.settings.get(name, (0, []))
        if len(words) != 1:
            subject = f"line {line}: {name} must have" if line else f"needs a line {name} with"
            raise ValueError(f"{subject} one value")
        return words[0]

    def number(self, name: str) -> float:
        """Return the value of a setting that is a number."""
        return parse_finite(self.value(name), f"line {self.settings[name][0]}, {name}")

    def sign(self, problem: SampleProblem) -> float:
        """Return the label of which a positive decision is a sign; 1 for a regression."""
        if problem.task is TARGETS:
            return 1.0
        line, labels = self.settings.get("label", (0, []))
        if sorted(labels) != ["-1", "1"]:
            raise ValueError(
                f"line {line}: its labels are {quote(' '.join(labels))}; train on labels -1 and +1, "
                "as exported"
            )
        return float(labels[0])


def read_model(text: str, problem: SampleProblem) -> Point:
    """Return the answer of a model to a problem.

    Raises
    ------
    ValueError
        If it is not a model, or one of another problem; the message names the line.
    """
    if text.startswith("solver_type "):
        return _read_linear(_parse(text, "w"), problem)
    return _read_kernel(_parse(text, "SV"), problem)


def _parse(text: str, last: str) -> _Model:
    """Split a model at the line `last`, which ends its settings."""
    numbered = enumerate(text.split("\n"), 1)
    lines = [(number, words) for number, line in numbered if (words := line.split())]
    head = [words[0] for _, words in lines]
    if last not in head or not {"svm_type", "solver_type"} & {*head}:
        raise ValueError(
            "is not a LIBSVM model or was cut off; answers are .npz, .csv or .tsv files, or models of "
            "svm-train and LIBLINEAR's train"
        )
    end = head.index(last)
    settings = {words[0]: (number, words[1:]) for number, words in lines[:end]}
    for number, (name, *_) in lines[:end]:
        if settings[name][0] != number:
            raise ValueError(
                f"line {number}: {quote(name)} is set again in line {settings[name][0]}"
            )
    return _Model(settings, lines[end + 1 :])


def _read_linear(model: _Model, problem: SampleProblem) -> Point:
    """Return the weights of a LIBLINEAR model; those of features that it does not have are 0."""
    if not problem.samples.is_linear or problem.outputs > 1:
        raise ValueError("is a LIBLINEAR model, but the problem has a kernel or several classes")
    sign, constant = model.sign(problem), model.number("bias")
    n_features = parse_index(model.value("nr_feature"), problem.d, "nr_feature")
    expected, rows = n_features + (constant >= 0), model.rows
    if len(rows) != expected or any(len(words) != 1 for _, words in rows):
        raise ValueError(f"has {len(rows)} rows of weights, expected {expected} of one number each")
    values = sign * np.array([parse_finite(words[0], f"line {line}") for line, words in rows])
    w = np.zeros(problem.d)
    w[:n_features] = values[:n_features]
    return Point(w=w, b=constant * float(values[-1]) if constant >= 0 else 0.0)


def _read_kernel(model: _Model, problem: SampleProblem) -> Point:
    """Return the multipliers of a LIBSVM model."""
    if not isinstance(problem, Formulation):
        raise ValueError("is a LIBSVM model, but the problem has several decision functions")
    rows, labelled = model.rows, problem.task is not TARGETS
    if "total_sv" in model.settings and model.value("total_sv") != str(len(rows)):
        total = f"line {model.settings['total_sv'][0]} says {quote(model.value('total_sv'))}"
        raise ValueError(f"has {len(rows)} support vectors, but {total}: it was cut off or changed")
    expected = "c_svc" if labelled else "epsilon_svr"
    if model.value("svm_type") != expected or model.value("nr_class") != "2":
        kind = f"{model.value('svm_type')} of {model.value('nr_class')} classes"
        raise ValueError(
            f"is a model of {quote(kind)[1:-1]}; this problem is {expected} of 2 classes"
        )
    _check_kernel(model, problem)
    sign = model.sign(problem)
    coefs = sign * np.array([parse_finite(row[0], f"line {line}") for line, row in rows])
    beta = np.zeros(problem.n)
    beta[_indices(rows, coefs.tolist(), problem, labelled)] = coefs
    return Point(alpha=problem.risk.alpha(beta), b=-sign * model.number("rho"))


def _check_kernel(model: _Model, problem: Formulation) -> None:
    """Raise ValueError if the model's kernel is not the problem's."""
    kind = model.value("kernel_type")
    names = ("degree", "gamma", "coef0")
    values = {name: model.number(name) for name in names if name in model.settings}
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
