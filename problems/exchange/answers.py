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
A file may be corrupt or malicious: the size it declares is compared with the problem's before memory is
allocated, and every number is checked.
"""

import csv
import io
import re
import stat
import zipfile
import zlib
from collections.abc import Collection, Mapping
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from dualgap.problems.answers.geometry import coefficients
from dualgap.problems.dataset import Vector
from dualgap.problems.exchange.models import read_model
from dualgap.problems.exchange.words import parse_finite, quote
from dualgap.problems.forms import Point, Unsupported
from dualgap.problems.formulations.formulation import Formulation, SampleProblem
from dualgap.problems.kernels import as_dense
from dualgap.problems.problem import Problem
from dualgap.problems.quadratic.point import QPPoint
from dualgap.problems.risk.risk import from_box_point
from dualgap.problems.validation import CORRUPT_FILE_ERRORS, decode_text

Rows = list[tuple[int, list[str]]]  # line numbers and cells


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
            if ending == ".npz":
                return _from_columns(*_read_archive(file, problem), problem)
            if ending == ".mat":
                return _from_columns(*_read_mat(file, problem), problem)
            text = _read_text(file, problem)
            if ending in (".csv", ".tsv"):
                delimiter = "\t" if ending == ".tsv" else ","
                return _from_columns(*_parse(text, delimiter, problem), problem)
            if not isinstance(problem, SampleProblem):
                raise ValueError("must be a table or archive; an answer to a convex QP is x in one")
            return read_model(text, problem)
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


def _read_archive(file: IO[bytes], problem: Problem) -> tuple[dict[str, Vector], list[str]]:
    """Read the arrays of an archive with known names; return them and all names."""
    limits, names, arrays, location = _max_entries(problem), list[str](), dict[str, Vector](), ""
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                location = f"{quote(info.filename)}: "
                name = info.filename.removesuffix(".npy")
                names.append(name)
                if name not in limits:
                    continue
                if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise zipfile.BadZipFile(f"unknown compression method {info.compress_type}")
                with archive.open(info) as member:
                    arrays[name] = _read_array(member, name, limits[name])
    except CORRUPT_FILE_ERRORS as error:
        raise ValueError(
            f"{location}cannot be read ({quote(error)}); write an archive by numpy.savez"
        ) from None
    return arrays, names


def _read_array(member: IO[bytes], name: str, limit: int) -> Vector:
    """Read an array of an archive, flattened, with at most `limit` entries."""
    try:
        is_first = npy.read_magic(member) == (1, 0)
        read_header = npy.read_array_header_1_0 if is_first else npy.read_array_header_2_0
        shape, is_fortran, dtype = read_header(member)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{name}: is not a NumPy array ({quote(error)}); write an archive by numpy.savez"
        ) from None
    if (
        dtype.kind not in "fiub"
        or dtype.itemsize > 8
        or len(shape) > 2
        or min(shape, default=0) < 0
    ):
        raise ValueError(
            f"{name}: must be a vector or matrix of floats (at most 8 bytes each) or integers, got "
            f"the type {dtype} and the shape {shape}"
        )
    count = prod(shape)
    if count > limit:
        raise ValueError(f"{name}: has {count} entries, expected at most {limit}")
    content = member.read(count * dtype.itemsize + 1)
    if len(content) != count * dtype.itemsize:
        raise ValueError(f"{name}: does not have the {count} entries stated in its header")
    values = np.frombuffer(content, dtype).astype(np.float64)
    return values.reshape(shape, order="F" if is_fortran else "C").ravel()


def _read_mat(file: IO[bytes], problem: Problem) -> tuple[dict[str, Vector], list[str]]:
    """Read the arrays with known names of a MATLAB file of level 5, decompressed here up to a limit."""
    from scipy.io import loadmat, whosmat  # noqa: PLC0415 - slow to import

    content, limits = _read_content(file, problem), _max_entries(problem)
    header = 128  # bytes, by the specification of MAT files
    limit, offset, unpacked = _max_bytes(problem), header, content[:header]
    try:
        while offset < len(content):
            kind, size = np.frombuffer(content, "<u4", 2, offset).tolist()
            element = content[offset : offset + 8 + size]
            if kind == 15:  # miCOMPRESSED
                element = zlib.decompressobj().decompress(element[8:], limit)
            unpacked, offset = unpacked + element, offset + 8 + size
        if len(unpacked) > limit + header:
            raise ValueError(f"unpacks to more than {limit} bytes")
        shapes = {name: shape for name, shape, _ in whosmat(io.BytesIO(unpacked))}
        names = [name for name in shapes if name in limits]
        for name in names:
            if prod(shapes[name]) > limits[name]:
                raise ValueError(f"{name}: has {prod(shapes[name])} entries, not {limits[name]}")
        loaded: dict[str, Any] = loadmat(io.BytesIO(unpacked), variable_names=names)
        # a vector may be sparse in MATLAB
        columns = {name: np.asarray(as_dense(loaded[name]), np.float64).ravel() for name in names}
    except Exception as error:  # scipy raises many types for corrupt files
        raise ValueError(
            f"cannot be read ({quote(error)}); write an answer by MATLAB's or Octave's save -v7"
        ) from None
    return columns, [*shapes]


def _max_bytes(problem: Problem) -> int:
    """Return the maximum size of an answer to a problem in bytes; a model contains samples too."""
    entries = prod(problem.X.shape) if isinstance(problem, SampleProblem) else 0
    # ample for headers, and for numbers in text, which have about 25 bytes
    return 2**20 + 100 * (entries + sum(_max_entries(problem).values()))


def _read_content(file: IO[bytes], problem: Problem) -> bytes:
    """Read a file that is at most as large as any answer to the problem."""
    limit = _max_bytes(problem)
    content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"is larger than {limit} bytes, the limit for answers to this problem")
    return content


def _read_text(file: IO[bytes], problem: Problem) -> str:
    """Read the text of a file."""
    return decode_text(_read_content(file, problem))


def _parse(text: str, delimiter: str, problem: Problem) -> tuple[dict[str, Vector], list[str]]:
    """Parse the columns of a table with known names; return them and all names."""
    reader = csv.reader(text.split("\n"), delimiter=delimiter, skipinitialspace=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: is not a row of a table ({error})") from None
    header = rows[0][1]
    if _has_row_names(rows, text):
        header.insert(0, "")
    columns = {name: list[float]() for name in header if name in _max_entries(problem)}
    if not columns and len([*filter(None, header)]) == 1:
        suggested = "alpha, coefs or w" if isinstance(problem, SampleProblem) else "x"
        raise ValueError(
            f"its column is called {quote(header[-1])}; call it {suggested}, and separate columns by "
            f"{delimiter!r}"
        )
    if duplicates := [name for name in columns if header.count(name) > 1]:
        raise ValueError(f"line 1: names {duplicates[0]} twice")
    blank_lines = dict[str, int]()  # line of the first blank cell of each column
    for line, row in rows[1:]:
        if len(row) > len(header):
            raise ValueError(
                f"line {line}: has {len(row)} cells for {len(header)} columns; write numbers with a "
                "decimal point, no thousands commas, and a name for each column"
            )
        for name, cell in zip(header, row, strict=False):
            if name not in columns or cell in ("", "NA"):  # R writes NA
                blank_lines.setdefault(name, line)
            elif name in blank_lines:
                raise ValueError(
                    f"line {line}: {name} has a number below the blank cell of line "
                    f"{blank_lines[name]}; only the end of a column may be blank"
                )
            else:
                columns[name].append(parse_finite(cell, f"line {line}, {name}"))
    _check_order(header, rows)
    return {name: np.array(values) for name, values in columns.items()}, header


def _has_row_names(rows: Rows, text: str) -> bool:
    """Whether rows begin with names, for which R's write.table writes no header cell.

    Then each row has one cell more than the header, and all names differ. A number that is split at a
    decimal or thousands comma looks the same, unless names are quoted.
    """
    n_columns, filled = len(rows[0][1]), [row for _, row in rows[1:] if any(row)]
    if {len(row) for row in filled} != {n_columns + 1} or not any(row[-1] for row in filled):
        return False
    if len({row[0] for row in filled}) < len(filled):
        return False
    if all(line.startswith('"') for line in text.split("\n")[1:] if line.strip()):
        return True
    with_comma = r"[-+]?[0-9]+,[0-9]+(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]{1,3},[0-9]{3}\.[0-9]*"
    pairs = [[",".join(row[i : i + 2]) for row in filled] for i in range(n_columns)]
    if any(all(re.fullmatch(with_comma, pair) for pair in column) for column in pairs):
        return False
    integer_or_word = r"[0-9]+|(?![-+]?[0-9.]+(?:[eE]|$)).+"
    return all(re.fullmatch(integer_or_word, row[0]) for row in filled)


def _check_order(header: list[str], rows: Rows) -> None:
    """Raise ValueError if row numbers are out of order, as in a table that was sorted by its values."""
    if header and header[0] in ("", "Unnamed: 0") and "index" not in header:
        numbers = [(int(row[0]), line) for line, row in rows[1:] if row and row[0].isdecimal()]
        for (previous, _), (number, line) in pairwise(numbers):
            if number <= previous:
                raise ValueError(
                    f"line {line}: row {number} comes after row {previous}; call that column index "
                    "(counted from 1), or write the rows in their order"
                )


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
