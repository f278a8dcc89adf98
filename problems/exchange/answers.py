"""Answers that other programs found: NumPy and MATLAB archives, CSV tables, and model files.

Model files are those of LIBSVM, of LIBLINEAR and of scikit-learn (as skops writes them). A table or
archive has columns (or arrays) of these names, with one row for each sample:
    alpha          the multipliers αᵢ ≥ 0; for a regression α − α*
    x              the variables of the box QP that `dualgap export --qp` writes; of a convex QP its own
    z, y           of a convex QP the multipliers of Gx ≤ h and Ax = b, where they are known
    coefs          coefficients αᵢyᵢ, as R's e1071 has them
    w              the weights, one row for each feature
    index          which samples, variables or (of w alone) features the rows are, from 1; others have 0
    b, rho         the intercept, or its negative; it is examined, and never trusted
A file may be damaged, or made to do harm: what it says of its size is compared with the problem's before
memory is taken for it, and every number is checked.
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
from types import SimpleNamespace
from typing import IO, Any

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.exchange import liblinear_model, libsvm_model
from dualgap.problems.exchange.estimator import read_estimator
from dualgap.problems.exchange.words import finite, quoted
from dualgap.problems.forms import Point, Unsupported
from dualgap.problems.formulations.convex_qp import ConvexQP
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.kernels import as_dense
from dualgap.problems.losses import Piece
from dualgap.problems.validation import DAMAGE, decode_text

_ANSWERS = ("alpha", "x", "coefs", "w")  # one of which a file has
_BLANK = ("", "NA")  # NA is R's
_UNNAMED = ("", "Unnamed: 0")  # how R and pandas call a column of row names
_ROW_NAME = re.compile(r"[0-9]+|(?![-+]?[0-9.]+(?:[eE]|$)).+")  # a whole number, or not a number
_WITH_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]{1,3},[0-9]{3}\.[0-9]*")
Rows = list[tuple[int, list[str]]]  # lines by their numbers, in cells
_ENTRY_BYTES, _LEAST_BYTES = 100, 2**20  # of text: for each number of an answer; for what is around
_LONGEST_HEADER = 10_000  # bytes, as numpy has it
_MAT_HEADER, _MAT_COMPRESSED = 128, 15  # bytes; a kind of element
_HEADER = re.compile(  # of an array of real numbers, in any order, of at most two dimensions
    r"(?=.*'descr': *'(?P<dtype>[<>|=]?(?:f[248]|[iu][1248]|b1))')"
    r"(?=.*'fortran_order': *(?P<fortran>True|False))"
    r"(?=.*'shape': *\((?P<shape>|[0-9]{1,19},|[0-9]{1,19}, *[0-9]{1,19},?)\))"
)


def read_answer(path: Path, problem: Formulation) -> Point:
    """Return the answer in a file to a problem, as it was found; its ending says what the file is.

    Raises
    ------
    ValueError
        If it cannot be read, or is no answer to this problem; the message names the file, the place
        and what is accepted.
    OSError
        If the file cannot be opened.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path}: is no file; an answer is one")  # reading a pipe has no end
    with path.open("rb") as file:
        try:
            ending = path.suffix.lower()
            if ending == ".npz":
                return _from_columns(*_archive(file, problem), problem)
            if ending == ".mat":
                return _from_columns(*_matlab(file, problem), problem)
            if ending == ".skops":
                found = read_estimator(path, _largest(problem), problem)
                return _from_columns(found, found, problem)
            text = _text(file, problem)
            if ending in (".csv", ".tsv"):
                delimiter = "\t" if ending == ".tsv" else ","
                return _from_columns(*_table(text, delimiter, problem), problem)
            if not problem.has_samples:
                raise ValueError("is no table or archive; an answer to a convex QP is x in one")
            is_linear = text.startswith("solver_type ")
            return (liblinear_model if is_linear else libsvm_model).read_model(text, problem)
        except (ValueError, Unsupported) as error:
            raise ValueError(f"{path}: {error}") from None


def significant_digits(path: Path) -> int:
    """Return the most digits that a number of a table, or a coefficient of a model file, has."""
    found = re.findall(r'(?:^|[,\t])"?[-+]?([0-9.]+)', path.read_text("utf-8-sig"), re.MULTILINE)
    return max((len(digits.replace(".", "").lstrip("0")) for digits in found), default=0)


def _pieces(problem: Formulation) -> list[Piece]:
    """Return the pieces of a dual that is a QP; of samples in blocks there is none."""
    return [] if problem.in_blocks else problem.pieces or []


def _most_entries(problem: Formulation) -> dict[str, int]:
    """Return how many numbers an array of each name has at most."""
    if isinstance(problem, ConvexQP):
        sizes = {"x": problem.n, "z": problem.h.size, "y": problem.b_eq.size}
        return sizes | {"index": problem.n}
    n = problem.n * problem.outputs
    most = {"alpha": n, "coefs": n, "w": problem.n_weights, "b": n, "rho": n}
    most |= {"x": n * len(_pieces(problem))}
    return most | {"index": max(n, most["w"], most["x"])}


def _archive(file: IO[bytes], problem: Formulation) -> tuple[dict[str, Vector], list[str]]:
    """Return the arrays of an archive whose names are known, and all names."""
    most, names, found, place = _most_entries(problem), list[str](), dict[str, Vector](), ""
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                place = f"{quoted(info.filename)}: "
                name = info.filename.removesuffix(".npy")
                names.append(name)
                if name not in most:
                    continue
                if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise zipfile.BadZipFile(f"it is compressed by method {info.compress_type}")
                with archive.open(info) as member:
                    found[name] = _array(member, name, most[name])
    except DAMAGE as error:
        raise ValueError(
            f"{place}cannot be read ({quoted(error)}); an archive is what numpy.savez writes"
        ) from None
    return found, names


def _array(member: IO[bytes], name: str, most: int) -> Vector:
    """Return the numbers of an array of an archive, of which there are at most so many."""
    start = member.read(8)
    size = int.from_bytes(member.read(2 if start[6:7] == b"\1" else 4), "little")
    if not start.startswith(b"\x93NUMPY") or size > _LONGEST_HEADER:
        raise ValueError(f"{name}: is no array of NumPy; an archive is what numpy.savez writes")
    text = member.read(size).decode("latin1").strip()
    header = _HEADER.match(text)
    if header is None:
        raise ValueError(
            f"{name}: must be a vector or matrix of floats (at most 8 bytes each) or integers, got "
            f"the header {quoted(text)}"
        )
    shape = tuple(map(int, re.findall("[0-9]+", header["shape"])))
    if prod(shape) > most:
        raise ValueError(f"{name}: has {prod(shape)} entries, expected at most {most}")
    dtype = np.dtype(header["dtype"])
    content = member.read(prod(shape) * dtype.itemsize + 1)
    if len(content) != prod(shape) * dtype.itemsize:
        raise ValueError(f"{name}: does not have the {prod(shape)} entries that its header says")
    values = np.frombuffer(content, dtype).astype(np.float64)
    order = "F" if header["fortran"] == "True" else "C"
    return values.reshape(shape, order=order).ravel()


def _matlab(file: IO[bytes], problem: Formulation) -> tuple[dict[str, Vector], list[str]]:
    """Return the arrays of a MATLAB file (of level 5, unpacked here) whose names are known."""
    from scipy.io import loadmat, whosmat  # noqa: PLC0415 - slow to import

    content, most = _content(file, problem), _most_entries(problem)
    limit, place, unpacked = _largest(problem), _MAT_HEADER, content[:_MAT_HEADER]
    try:
        while place < len(content):
            kind, size = np.frombuffer(content, "<u4", 2, place).tolist()
            element = content[place : place + 8 + size]
            if kind == _MAT_COMPRESSED:
                element = zlib.decompressobj().decompress(element[8:], limit)
            unpacked, place = unpacked + element, place + 8 + size
        if len(unpacked) > limit + _MAT_HEADER:
            raise ValueError(f"unpacks to more than {limit} bytes")
        shapes = {name: shape for name, shape, _ in whosmat(io.BytesIO(unpacked))}
        names = [name for name in shapes if name in most]
        for name in names:
            if prod(shapes[name]) > most[name]:
                raise ValueError(f"{name}: has {prod(shapes[name])} entries, not {most[name]}")
        loaded: dict[str, Any] = loadmat(io.BytesIO(unpacked), variable_names=names)
        # a vector may be sparse in MATLAB
        columns = {name: np.asarray(as_dense(loaded[name]), np.float64).ravel() for name in names}
    except Exception as error:  # whatever scipy raises of a file that is damaged
        raise ValueError(
            f"cannot be read ({quoted(error)}); an answer is what MATLAB's or Octave's save -v7 writes"
        ) from None
    return columns, [*shapes]


def _largest(problem: Formulation) -> int:
    """Return how many bytes an answer to a problem has at most; a model has samples in it."""
    entries = prod(problem.X.shape) if problem.has_samples else 0
    return _LEAST_BYTES + _ENTRY_BYTES * (entries + sum(_most_entries(problem).values()))


def _content(file: IO[bytes], problem: Formulation) -> bytes:
    """Return what is in a file that is no larger than an answer to the problem may be."""
    most = _largest(problem)
    content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"is larger than {most} bytes, which no answer to this problem is")
    return content


def _text(file: IO[bytes], problem: Formulation) -> str:
    """Return the text of a file."""
    return decode_text(_content(file, problem))


def _table(text: str, delimiter: str, problem: Formulation) -> tuple[dict[str, Vector], list[str]]:
    """Return the columns of a table whose names are known, and all names."""
    reader = csv.reader(text.split("\n"), delimiter=delimiter, skipinitialspace=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: is no row of a table ({error})") from None
    header = rows[0][1]
    if _has_row_names(rows, text):
        header.insert(0, "")
    found = {name: list[float]() for name in header if name in _most_entries(problem)}
    if not found and len([*filter(None, header)]) == 1:
        wanted = "alpha, coefs or w" if problem.has_samples else "x"
        raise ValueError(
            f"its column is called {quoted(header[-1])}; call it {wanted}, and separate columns by "
            f"{delimiter!r}"
        )
    if twice := [name for name in found if header.count(name) > 1]:
        raise ValueError(f"line 1: names {twice[0]} twice")
    ended = dict[str, int]()  # the lines of the first blank cells
    for line, row in rows[1:]:
        if len(row) > len(header):
            raise ValueError(
                f"line {line}: has {len(row)} cells for {len(header)} columns; write numbers with a "
                "decimal point, no thousands commas, and a name for each column"
            )
        for name, cell in zip(header, row, strict=False):
            if name not in found or cell in _BLANK:
                ended.setdefault(name, line)
            elif name in ended:
                raise ValueError(
                    f"line {line}: {name} has a number below the blank cell of line "
                    f"{ended[name]}; a shorter column ends in blank cells"
                )
            else:
                found[name].append(finite(cell, f"line {line}, {name}"))
    _check_order(header, rows)
    return {name: np.array(values) for name, values in found.items()}, header


def _has_row_names(rows: Rows, text: str) -> bool:
    """Return whether rows begin with names, a column that R's write.table gives no name.

    Then each row has one cell more than the header, and no two names are equal. A name without quotation
    marks may be the whole part of a number with a decimal comma, or its thousands.
    """
    columns, filled = len(rows[0][1]), [row for _, row in rows[1:] if any(row)]
    if {len(row) for row in filled} != {columns + 1} or not any(row[-1] for row in filled):
        return False
    if len({row[0] for row in filled}) < len(filled):
        return False
    if all(line.startswith('"') for line in text.split("\n")[1:] if line.strip()):
        return True
    pairs = [[",".join(row[i : i + 2]) for row in filled] for i in range(columns)]
    has_commas = any(all(map(_WITH_COMMA.fullmatch, column)) for column in pairs)
    return not has_commas and all(_ROW_NAME.fullmatch(row[0]) for row in filled)


def _check_order(header: list[str], rows: Rows) -> None:
    """Raise ValueError if the rows' own numbers are out of order, as in a table sorted by its values."""
    if header and header[0] in _UNNAMED and "index" not in header:
        numbers = [(int(row[0]), line) for line, row in rows[1:] if row and row[0].isdecimal()]
        for (before, _), (number, line) in pairwise(numbers):
            if number <= before:
                raise ValueError(
                    f"line {line}: row {number} comes after row {before}; call that column index "
                    "(counted from 1), or write the rows in their order"
                )


def _from_columns(
    columns: Mapping[str, Vector], names: Collection[str], problem: Formulation
) -> Point:
    """Return the answer that named columns hold; `names` are those of all that the file has."""
    accepted = [name for name in _ANSWERS if name in _most_entries(problem)]
    if not any(name in columns for name in accepted):
        given = ", ".join(map(quoted, [*names][:10])) or "nothing"
        raise ValueError(f"has none of {', '.join(accepted)}; found {given}")
    for name, values in columns.items():
        if not np.isfinite(values).all():
            entry = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"{name}: entry {entry + 1} must be finite, got {values[entry]}")
    if isinstance(problem, ConvexQP):
        sizes = {name: size for name, size in _most_entries(problem).items() if name != "index"}
        placed = _placed(columns, sizes, ("x",))
        _check_sizes(placed, sizes)
        return problem.point(SimpleNamespace(**placed))
    n, pieces = problem.n * problem.outputs, _pieces(problem)
    sizes = {"alpha": n, "coefs": n, "w": problem.n_weights}
    sizes |= {"x": n * len(pieces)} if pieces else {}
    numbered = [name for name in ("alpha", "coefs", "x") if name in columns]
    placed = _placed(columns, sizes, numbered or ("w",))
    _check_sizes(placed, sizes)
    return _of_samples(placed, problem)


def _placed(
    columns: Mapping[str, Vector], sizes: Mapping[str, int], numbered: Collection[str]
) -> dict[str, Vector]:
    """Return columns with the entries of `numbered` ones where `index` says, and 0 elsewhere."""
    placed = dict(columns)
    index = placed.pop("index", None)
    if index is None:
        return placed
    for name in {*numbered} & {*sizes}:
        size, values = sizes[name], columns[name]
        different = index.size == values.size == np.unique(index).size
        if not different or not np.isin(index, np.arange(1, size + 1)).all():
            raise ValueError(
                f"index: must be {values.size} different numbers from 1 to {size}, beside {name}"
            )
        placed[name] = np.zeros(size)
        placed[name][index.astype(np.int64) - 1] = values
    others = [name for name in sizes if name in placed and name not in numbered]
    if others and (np.diff(index) < 0).any():
        raise ValueError(
            f"index: numbers {', '.join(numbered)}, and is out of order: whether {others[0]} is, too, "
            "cannot be known; sort the rows, or leave it out"
        )
    return placed


def _check_sizes(columns: Mapping[str, Vector], sizes: Mapping[str, int]) -> None:
    """Raise ValueError if a column does not have as many entries as it must."""
    for name, size in sizes.items():
        if name in columns and columns[name].size != size:
            fewer = "; a column index, from 1, says which fewer ones are" if name != "w" else ""
            raise ValueError(f"{name}: has {columns[name].size} entries, expected {size}{fewer}")


def _of_samples(columns: Mapping[str, Vector], problem: Formulation) -> Point:
    """Return the answer to a problem that is posed on samples."""
    alpha, w = columns.get("alpha"), columns.get("w")
    if alpha is None and "x" in columns:
        alpha = problem.from_box_variables(columns["x"])
    if alpha is None and "coefs" in columns:
        alpha = problem.alpha(columns["coefs"])
    if alpha is None and not problem.is_linear:
        raise ValueError("alpha: is needed with a kernel, where w has no coordinates")
    if w is not None:
        w = w.reshape(problem.weights_shape)
    b = columns["b"] if "b" in columns else -columns["rho"] if "rho" in columns else np.empty(0)
    if not b.size or (b == b[0]).all():  # one intercept may be repeated in all rows
        return Point(alpha, w, float(b[0]) if b.size else None)
    if b.size != problem.outputs:
        raise ValueError(f"b: has {b.size} different entries, expected {problem.outputs}")
    return Point(alpha, w, b)
