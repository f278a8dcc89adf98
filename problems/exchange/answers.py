"""Answers of other programs: NumPy and MATLAB archives, CSV tables, and model files.

Model files are those of LIBSVM and LIBLINEAR. A table or archive has columns (or arrays) with these
names, and one row per sample:
    alpha          the multipliers αᵢ ≥ 0; for a regression α − α*
    x              the variables of the box QP written by `dualgap export --qp`, or of a convex QP
    z, y           for a convex QP the multipliers of Gx ≤ h and Ax = b, if known
    coefs          coefficients αᵢyᵢ, as in R's e1071
    w              the weights, one row per feature
    index          numbers, from 1, of the rows' samples, variables or (w only) features; others are 0
    b, rho         the intercept, or its negative; it is diagnosed, but never trusted
The size that a file declares is compared with the problem's before memory is allocated, and every number
is checked.
"""

import re
import stat
from collections.abc import Collection, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.problems.answers.geometry import coefficients
from dualgap.problems.dataset import Vector
from dualgap.problems.exchange.columns import read_columns, read_text
from dualgap.problems.exchange.models import read_model
from dualgap.problems.exchange.words import quote
from dualgap.problems.forms import Point, Unsupported
from dualgap.problems.formulations.formulation import Formulation, SampleProblem
from dualgap.problems.problem import Problem
from dualgap.problems.quadratic.point import QPPoint
from dualgap.problems.risk.risk import from_box_point


def read_answer(path: Path, problem: Problem) -> Point | QPPoint:
    """Read an answer to a problem, unchanged, from a file whose extension states its format.

    Raises
    ------
    ValueError
        If it cannot be read, or is not an answer to this problem; the message names the file, the
        location and the accepted values.
    OSError
        If the file cannot be opened.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path}: must be a regular file")  # reading a pipe may not end
    with path.open("rb") as file:
        try:
            ending = path.suffix.lower()
            max_bytes = _max_bytes(problem)
            if ending in (".npz", ".mat", ".csv", ".tsv"):
                columns = read_columns(file, ending, _max_entries(problem), max_bytes)
                return _from_columns(*columns, problem)
            if not isinstance(problem, SampleProblem):
                raise ValueError("must be a table or archive; an answer to a convex QP is x in one")
            return read_model(read_text(file, max_bytes), problem)
        except (ValueError, Unsupported) as error:
            raise ValueError(f"{path}: {error}") from None


def significant_digits(path: Path) -> int:
    """Return the maximum number of digits of a number in a table, or a coefficient in a model file."""
    numbers = re.findall(r'(?:^|[,\t])"?[-+]?([0-9.]+)', path.read_text("utf-8-sig"), re.MULTILINE)
    return max((len(digits.replace(".", "").lstrip("0")) for digits in numbers), default=0)


def _box_variables(problem: SampleProblem) -> int:
    """Return the number of variables of the dual's box QP; 0 without one, as for samples in blocks."""
    if not isinstance(problem, Formulation) or problem.in_blocks:
        return 0
    return problem.risk.form.box.n if problem.risk.terms else 0


def _max_entries(problem: Problem) -> dict[str, int]:
    """Return the maximum number of entries of each named array."""
    if not isinstance(problem, SampleProblem):
        return _qp_sizes(problem) | {"index": problem.n}
    n = problem.n * problem.outputs
    limits = {"alpha": n, "coefs": n, "w": prod(problem.weights_shape), "b": n, "rho": n}
    limits |= {"x": _box_variables(problem)}
    return limits | {"index": max(n, limits["w"], limits["x"])}


def _qp_sizes(problem: Any) -> dict[str, int]:
    """Return the numbers of entries in an answer to a `ConvexQP`."""
    return {"x": problem.n, "z": problem.h.size, "y": problem.b_eq.size}


def _max_bytes(problem: Problem) -> int:
    """Return the maximum size of an answer to a problem in bytes; a model contains samples too."""
    entries = prod(problem.X.shape) if isinstance(problem, SampleProblem) else 0
    # ample for headers, and for numbers in text, which have about 25 bytes
    return 2**20 + 100 * (entries + sum(_max_entries(problem).values()))


def _from_columns(
    columns: Mapping[str, Vector], names: Collection[str], problem: Problem
) -> Point | QPPoint:
    """Return the answer in the known columns of a file; `names` are those of all columns."""
    accepted = [name for name in ("alpha", "x", "coefs", "w") if name in _max_entries(problem)]
    if not any(name in columns for name in accepted):
        present = ", ".join(map(quote, [*names][:10])) or "nothing"
        raise ValueError(f"has none of {', '.join(accepted)}; found {present}")
    for name, values in columns.items():
        if not np.isfinite(values).all():
            entry = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"{name}: entry {entry + 1} must be finite, got {values[entry]}")
    if not isinstance(problem, SampleProblem):
        sizes = _qp_sizes(problem)
        entries = _scatter(columns, sizes, ("x",))
        _check_sizes(entries, sizes)
        return QPPoint(**entries)
    n, variables = problem.n * problem.outputs, _box_variables(problem)
    sizes = {"alpha": n, "coefs": n, "w": prod(problem.weights_shape)}
    sizes |= {"x": variables} if variables else {}
    numbered = [name for name in ("alpha", "coefs", "x") if name in columns]
    entries = _scatter(columns, sizes, numbered or ("w",))
    _check_sizes(entries, sizes)
    return _sample_point(entries, problem)


def _scatter(
    columns: Mapping[str, Vector], sizes: Mapping[str, int], numbered: Collection[str]
) -> dict[str, Vector]:
    """Return the columns, those of `numbered` scattered to the positions `index`, with 0 elsewhere."""
    scattered = dict(columns)
    index = scattered.pop("index", None)
    if index is None:
        return scattered
    for name in {*numbered} & {*sizes}:
        size, values = sizes[name], columns[name]
        different = index.size == values.size == np.unique(index).size
        if not different or not np.isin(index, np.arange(1, size + 1)).all():
            raise ValueError(
                f"index: must be {values.size} different numbers from 1 to {size}, one per {name}"
            )
        scattered[name] = np.zeros(size)
        scattered[name][index.astype(np.int64) - 1] = values
    unnumbered = [name for name in sizes if name in scattered and name not in numbered]
    if unnumbered and (np.diff(index) < 0).any():
        raise ValueError(
            f"index: numbers {', '.join(numbered)}, and is out of order, so the order of "
            f"{unnumbered[0]} is ambiguous; sort the rows, or leave it out"
        )
    return scattered


def _check_sizes(columns: Mapping[str, Vector], sizes: Mapping[str, int]) -> None:
    """Raise ValueError if a column has another number of entries than `sizes`."""
    for name, size in sizes.items():
        if name in columns and columns[name].size != size:
            hint = "; a subset needs a column index, counted from 1" if name != "w" else ""
            raise ValueError(f"{name}: has {columns[name].size} entries, expected {size}{hint}")


def _sample_point(columns: Mapping[str, Vector], problem: SampleProblem) -> Point:
    """Return the answer to a problem that has samples."""
    alpha, w = columns.get("alpha"), columns.get("w")
    if alpha is None and "x" in columns:
        if not isinstance(problem, Formulation):
            raise ValueError(f"x: {problem.name} is no single box QP; give alpha instead")
        alpha = from_box_point(problem.risk, columns["x"])
    if alpha is None and "coefs" in columns:
        alpha = coefficients(problem, columns["coefs"])  # which is its own inverse
    if alpha is None and not problem.samples.is_linear:
        raise ValueError("alpha: is needed with a kernel, as w has no coordinates then")
    if w is not None:
        w = w.reshape(problem.weights_shape)
    b = columns["b"] if "b" in columns else -columns["rho"] if "rho" in columns else np.empty(0)
    if not b.size or (b == b[0]).all():  # one intercept may be repeated in all rows
        return Point(alpha, w, float(b[0]) if b.size else None)
    if b.size != problem.outputs:
        raise ValueError(f"b: has {b.size} different entries, expected {problem.outputs}")
    return Point(alpha, w, b)
