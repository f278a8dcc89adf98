"""Answers that other programs found: NumPy archives, CSV tables, and LIBSVM's model files.

A table or archive has columns (or arrays) of these names, with one row for each sample:
    alpha          the multipliers αᵢ ≥ 0; for a regression α − α*
    x              the variables of the box QP that `dualgap export --qp` writes
    coefs, index   coefficients αᵢyᵢ, of the samples `index` (from 1), else of all: as R's e1071 has them
    w              the weights, one row for each feature
    b, rho         the intercept, or its negative; it is examined, and never trusted
LIBSVM writes support vectors to eight digits, by which they are found among the samples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from problems import RBF, Formulation, Matrix, Point, Polynomial, Sigmoid, Vector
from problems.kernels import Linear, Precomputed

_ANSWERS = ("alpha", "x", "coefs", "w")
_NAMES = {*_ANSWERS, "index", "b", "rho"}
_KERNELS = {
    "linear": Linear,
    "polynomial": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
    "precomputed": Precomputed,
}
_SIX_DIGITS = 1e-5  # to which a model file has a kernel's settings


def read_answer(path: Path, problem: Formulation) -> Point:
    """Return the answer in a file to a problem, as it was found.

    Raises
    ------
    ValueError
        If it cannot be read, or is no answer to this problem; the message names the file and what is
        missing.
    OSError
        If the file cannot be opened.
    """
    try:
        if path.suffix == ".npz":
            with np.load(path) as archive:
                return _from_columns(dict(archive), problem)
        if path.suffix in (".csv", ".tsv"):
            return _from_columns(_table(path), problem)
        return _from_model(path.read_text(encoding="utf-8"), problem)
    except (ValueError, KeyError, UnicodeDecodeError, pd.errors.ParserError) as error:
        raise ValueError(f"{path}: {str(error).strip(chr(39))}") from None


def _table(path: Path) -> dict[str, Vector]:
    """Return the columns of a table; shorter ones end in blank cells."""
    frame = pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",", skipinitialspace=True)
    names = [str(name) for name in frame if name in _NAMES]
    known = {name: frame[name].dropna().to_numpy(np.float64) for name in names}
    if not known and frame.shape[1] == 1:
        raise ValueError(f"its column is called {frame.columns[0]!r}; call it alpha, coefs or w")
    return known


def _from_columns(columns: Mapping[str, Any], problem: Formulation) -> Point:
    """Return the answer that named columns hold."""
    found = {
        name: np.asarray(columns[name], np.float64).ravel() for name in columns if name in _NAMES
    }
    if not any(name in found for name in _ANSWERS):
        raise ValueError(
            f"has none of {', '.join(_ANSWERS)}; found {', '.join(columns) or 'nothing'}"
        )
    b = found["b"] if "b" in found else -found["rho"] if "rho" in found else None
    alpha = found.get("alpha")
    if alpha is None and "x" in found:
        alpha = problem.from_box_variables(found["x"])
    if alpha is None and "coefs" in found:
        alpha = problem.alpha(_spread(found["coefs"], found.get("index"), problem.n))
    for name, values, size in (("alpha", alpha, problem.n), ("w", found.get("w"), problem.d)):
        if values is not None and values.size != size * problem.outputs:
            raise ValueError(
                f"{name}: has {values.size} entries, expected {size * problem.outputs}"
            )
    return Point(alpha, found.get("w"), None if b is None or not b.size else float(b[0]))


def _spread(coefs: Vector, index: Vector | None, n: int) -> Vector:
    """Return coefficients of all samples, from those of some, counted from 1."""
    if index is None:
        if coefs.size != n:
            raise ValueError(
                f"coefs: has {coefs.size} entries for {n} samples, and there is no index"
            )
        return coefs
    at = index.astype(np.int64) - 1
    if at.size != coefs.size or (at < 0).any() or (at >= n).any() or np.unique(at).size != at.size:
        raise ValueError(f"index: must be {coefs.size} different numbers from 1 to {n}")
    beta = np.zeros(n)
    beta[at] = coefs
    return beta


def _from_model(text: str, problem: Formulation) -> Point:
    """Return the answer of a model file of LIBSVM's command line, of two classes or a regression."""
    head, mark, body = text.partition("\nSV\n")
    lines = [line.split() for line in head.splitlines() if line.strip()]
    settings = {line[0]: line[1:] for line in lines}
    if not mark or "svm_type" not in settings:
        raise ValueError(
            "is no LIBSVM model; answers are .npz, .csv or .tsv files, or what svm-train writes"
        )
    expected = "epsilon_svr" if problem.is_regression else "c_svc"
    if settings["svm_type"] != [expected] or settings["nr_class"] != ["2"]:
        kind = f"{settings['svm_type'][0]} of {settings['nr_class'][0]} classes"
        raise ValueError(f"is a model of {kind}; this problem is {expected} of 2 classes")
    _check_kernel(settings, problem)
    sign = 1.0
    if not problem.is_regression:
        labels = [float(label) for label in settings["label"]]
        if sorted(labels) != [-1.0, 1.0]:
            raise ValueError(f"its labels are {labels}; train on labels -1 and +1, as exported")
        sign = labels[0]  # a positive decision is for the first one
    rows = [line.split() for line in body.splitlines() if line.strip()]
    coefs = sign * np.array([float(row[0]) for row in rows])
    beta = np.zeros(problem.n)
    beta[_places([row[1:] for row in rows], coefs, problem)] = coefs
    return Point(alpha=problem.alpha(beta), b=-sign * float(settings["rho"][0]))


def _check_kernel(settings: Mapping[str, list[str]], problem: Formulation) -> None:
    """Raise ValueError if the model's kernel is not the problem's."""
    kind = settings["kernel_type"][0]
    names = ("degree", "gamma", "coef0")
    given = {name: float(settings[name][0]) for name in names if name in settings}
    own = {name: float(getattr(problem.kernel, name, value)) for name, value in given.items()}
    same = all(isclose(own[name], value, rel_tol=_SIX_DIGITS) for name, value in given.items())
    if type(problem.kernel) is not _KERNELS.get(kind) or not same:
        text = ", ".join([kind, *(f"{name} {value:g}" for name, value in given.items())])
        raise ValueError(f"its kernel is {text}; the problem's is {problem.kernel!r}")


def _places(rows: list[list[str]], coefs: Vector, problem: Formulation) -> list[int]:
    """Return which sample each support vector is; of equal ones the next that is not taken yet."""
    if isinstance(problem.kernel, Precomputed):
        return [int(float(row[0].partition(":")[2])) - 1 for row in rows]
    samples: dict[Any, list[int]] = defaultdict(list)
    for i, key in reversed([*enumerate(_keys(problem.X))]):
        samples[key, _side(problem, problem.y[i])].append(i)
    places: list[int] = []
    for number, (row, coef) in enumerate(zip(rows, coefs.tolist(), strict=True), start=1):
        pairs = [entry.partition(":")[::2] for entry in row]
        entries = {int(j) - 1: float(value) for j, value in pairs if float(value)}
        same = samples[tuple(sorted(entries.items())), _side(problem, coef)]
        if not same:
            raise ValueError(
                f"support vector {number} is none of the problem's samples (of its label): train on "
                "what `dualgap export` writes, without scaling"
            )
        places.append(same.pop())
    return places


def _side(problem: Formulation, value: float) -> bool:
    """Return the label that a value's sign stands for; of a regression always the same."""
    return problem.is_regression or value > 0


def _keys(X: Matrix) -> list[tuple[tuple[int, float], ...]]:
    """Return the entries of each sample that are not 0, to the eight digits of a model file."""
    rows = scipy.sparse.csr_array(X)
    values = [float(f"{value:.8g}") for value in rows.data.tolist()]
    columns = rows.indices.tolist()
    return [
        tuple(sorted((j, v) for j, v in zip(columns[a:b], values[a:b], strict=True) if v))
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]
