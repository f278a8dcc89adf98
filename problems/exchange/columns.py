"""Named columns of numbers in files: archives of NumPy and MATLAB, and CSV tables.

A file may be corrupt or malicious: what it declares is compared with limits before memory is allocated.
"""

import csv
import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from itertools import pairwise
from math import prod
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from dualgap.problems.dataset import Vector
from dualgap.problems.exchange.words import parse_finite, quote
from dualgap.problems.kernels import as_dense
from dualgap.problems.validation import CORRUPT_FILE_ERRORS, decode_text

Rows = list[tuple[int, list[str]]]  # line numbers and cells


def read_columns(
    file: IO[bytes], ending: str, limits: Mapping[str, int], max_bytes: int
) -> tuple[dict[str, Vector], list[str]]:
    """Return the columns with known names, and the names of all columns.

    Parameters
    ----------
    ending : the file's extension: .npz, .mat, .csv or .tsv.
    limits : the known names, and the maximum number of entries of each column.
    max_bytes : the maximum size of the file, unpacked.

    Raises
    ------
    ValueError
        If it cannot be read, or exceeds a limit; the message names the location.
    """
    if ending == ".npz":
        return _read_archive(file, limits)
    if ending == ".mat":
        return _read_mat(_read_content(file, max_bytes), limits, max_bytes)
    return _parse(read_text(file, max_bytes), "\t" if ending == ".tsv" else ",", limits)


def read_text(file: IO[bytes], max_bytes: int) -> str:
    """Return the text of a file; ValueError if it is not UTF-8, or larger than `max_bytes`."""
    return decode_text(_read_content(file, max_bytes))


def _read_content(file: IO[bytes], max_bytes: int) -> bytes:
    content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"is larger than {max_bytes} bytes, the limit for answers to this problem")
    return content


def _read_archive(
    file: IO[bytes], limits: Mapping[str, int]
) -> tuple[dict[str, Vector], list[str]]:
    """Read the arrays of an archive with known names; return them and all names."""
    names, arrays, location = list[str](), dict[str, Vector](), ""
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # written by Python 2, which is accepted
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


def _read_mat(
    content: bytes, limits: Mapping[str, int], max_bytes: int
) -> tuple[dict[str, Vector], list[str]]:
    """Read the arrays with known names of a MATLAB file of level 5, decompressed here up to a limit."""
    from scipy.io import loadmat, whosmat  # noqa: PLC0415 - slow to import

    header = 128  # bytes, by the specification of MAT files
    offset, unpacked = header, content[:header]
    try:
        while offset < len(content):
            kind, size = np.frombuffer(content, "<u4", 2, offset).tolist()
            element = content[offset : offset + 8 + size]
            if kind == 15:  # miCOMPRESSED
                element = zlib.decompressobj().decompress(element[8:], max_bytes)
            unpacked, offset = unpacked + element, offset + 8 + size
        if len(unpacked) > max_bytes + header:
            raise ValueError(f"unpacks to more than {max_bytes} bytes")
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


def _parse(
    text: str, delimiter: str, limits: Mapping[str, int]
) -> tuple[dict[str, Vector], list[str]]:
    """Parse the columns of a table with known names; return them and all names."""
    reader = csv.reader(text.split("\n"), delimiter=delimiter, skipinitialspace=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: is not a row of a table ({error})") from None
    header = rows[0][1]
    if _has_row_names(rows, text):
        header.insert(0, "")
    columns = {name: list[float]() for name in header if name in limits}
    if not columns and len([*filter(None, header)]) == 1:
        suggested = "alpha, coefs or w" if "alpha" in limits else "x"
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
