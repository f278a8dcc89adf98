"""Tables with a column of labels or targets: CSV and other text, ARFF and Parquet.

Each reader returns a data frame with distinct column names, and a function that names a row in messages.
A cell is a number or text; only a blank one (in ARFF also ?) is missing, as NA or None may name a class.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.problems.dataset import names_of_columns
from dualgap.problems.datasets.readers.formats import (
    check_readable,
    check_words,
    file_extensions,
    read_text,
)
from dualgap.problems.datasets.source import Raw
from dualgap.problems.datasets.steps import by_density
from dualgap.problems.labels import as_numbers, exact_numbers
from dualgap.problems.registry import unknown
from dualgap.problems.validation import CORRUPT_FILE_ERRORS, short_repr

RowName = Callable[[int], str]


def read_table(
    path: Path, sep: str | None = None, decimal: str = ".", header: bool | None = None
) -> tuple[Any, RowName]:
    """Return the data frame of a table and the names of its rows; options are those of `TableFile`.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not a table; the message names the file, the line and the accepted format.
    """
    check_readable(path)
    readers = {".parquet": _read_parquet, ".arff": _read_arff}  # all other files are CSV
    reader = readers.get(file_extensions(path)[0])
    if reader and (sep, decimal, header) != (None, ".", None):
        raise ValueError(f"sep, decimal, header: are only for CSV, not for {path}; leave them out")
    try:
        return reader(path) if reader else _read_csv(path, sep, decimal, header)
    except (*CORRUPT_FILE_ERRORS, ValueError) as error:
        raise ValueError(f"{path}: cannot be read as a table: {error}") from error


def _read_parquet(path: Path) -> tuple[Any, RowName]:
    import pandas as pd  # noqa: PLC0415 - slow to import
    from pyarrow import parquet  # noqa: PLC0415 - slow to import

    with path.open("rb") as file:  # given the path, pandas takes a folder y=1 for a column
        check_names(parquet.ParquetFile(file).schema_arrow.names, "its schema")
        frame = pd.read_parquet(file)
    frame.columns = frame.columns.astype(str)
    return frame, "row {}".format


def check_names(names: Iterable[str], subject: str) -> None:
    """Raise ValueError, whose message begins with `subject`, if two columns have the same name."""
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise ValueError(f"{subject} names {twice[0]!r} twice; rename one of these columns")


def _read_csv(
    path: Path, given_sep: str | None, decimal: str, header: bool | None
) -> tuple[Any, RowName]:
    import pandas as pd  # noqa: PLC0415 - slow to import

    sep = given_sep or ("\t" if file_extensions(path)[0] == ".tsv" else ",")
    if sep == decimal:
        raise ValueError(f"sep and decimal are both {sep!r}; give another one")
    numbered = [*_records(read_text(path), sep)]
    lines, records = [line for line, *_ in numbered], [record for _, record, _ in numbered]
    if len(records) < 2:
        raise ValueError(
            "has fewer than two lines; the first one names the columns, each other one is a row"
        )
    if given_sep is None:
        _check_separator([record.replace("\n", " ") for record in records[:2]], sep)
    names = _cells(records[0], sep)
    for line, _, count in numbered:  # pandas would silently pad a short row
        if count != len(names):
            raise ValueError(
                f"line {line}: has {count} cells for {len(names)} columns; look for a decimal comma, a "
                "missing cell, a stray quotation mark, or a column of row numbers without a name"
            )
    if header is None:
        _check_header(names, decimal, lines[0])
    named = header is not False
    if named:
        check_names(names, "its first line")
    options: Any = {"sep": sep, "decimal": decimal, "skipinitialspace": True, "header": None}
    options |= {"keep_default_na": False, "na_values": [""], "low_memory": False}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"  # later versions round correctly and deprecate it
    frame: Any = pd.read_csv(
        io.StringIO("\n".join(records[named:])), skip_blank_lines=False, **options
    )
    frame.columns = names if named else [str(j + 1) for j in range(len(names))]
    return frame, lambda row: f"line {lines[row + named]}"


def _records(text: str, sep: str) -> Iterator[tuple[int, str, int]]:
    """Yield the first line number, text and number of cells of each record; quoted cells may span lines.

    Raises
    ------
    ValueError
        If a quotation mark is not closed, or a cell is too long.
    """
    lines = text.split("\n")
    if sep == " ":
        lines = [" ".join(line.split()) for line in lines]
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=sep, skipinitialspace=True)
    start = 0
    try:
        for row in reader:
            record = lines[start : reader.line_num]
            if row and row[-1].endswith("\n") and "".join(row).count("\n") == len(record):
                raise csv.Error("the last cell is not closed")
            if any(line.strip(" ") for line in record):
                yield start + 1, "\n".join(record), len(row)
            start = reader.line_num
    except csv.Error as error:  # also a cell that is too long, as it continues after the mark
        if '"' not in lines[start]:
            raise ValueError(
                f"line {start + 1}: has a cell of more than {csv.field_size_limit():,} characters; give "
                f"sep if cells are not separated by {sep!r}"
            ) from error
        raise ValueError(
            f"line {start + 1}: has an unclosed quotation mark: {short_repr(lines[start])}; remove it, "
            "or double it if it is part of the text"
        ) from error


def _cells(line: str, sep: str) -> list[str]:
    """Split a line into cells; a space as separator means any number of spaces."""
    text = " ".join(line.split()) if sep == " " else line
    return [cell.strip() for cell in next(csv.reader([text], delimiter=sep, skipinitialspace=True))]


def _check_separator(lines: list[str], sep: str) -> None:
    """Raise ValueError if another separator splits the first two lines into more columns."""
    if excel := re.fullmatch(r"sep=(.)", lines[0].strip()):
        raise ValueError(f"its first line is for Excel; remove it, and give sep: {excel[1]!r}")
    columns = len(_cells(lines[0], sep))
    for other in ",;\t| ":
        try:
            first, *second = (len(_cells(line, other)) for line in lines)
        except csv.Error:  # a cell that is too long: it is not the separator
            continue
        if other != sep and [first] == second and first > 1 and (columns == 1 or other == ";"):
            comma = ", and decimal: ',' if numbers have a decimal comma" if other == ";" else ""
            raise ValueError(
                f"its first line has {columns} column(s) separated by {sep!r}, and {first} by "
                f"{other!r}: give sep: {other!r}{comma}"
            )


def _check_header(names: list[str], decimal: str, line: int) -> None:
    """Raise ValueError if the first line has numbers instead of column names."""
    numbers = [name for name in names if as_numbers([name.replace(decimal, ".")]) is not None]
    if len(numbers) > len(names) / 2 or any(names.count(number) > 1 for number in numbers):
        raise ValueError(
            f"line {line}: has numbers, such as {numbers[0]}, where column names are expected; give "
            "header: false if it is a sample (columns are then called 1, 2, ...), else header: true"
        )


def _read_arff(path: Path) -> tuple[Any, RowName]:
    """Read a dense or sparse ARFF file; nominal attributes become categories.

    scikit-learn's copy of liac-arff parses it, with numbers as text, since it reads 1_0 as 10 and 1.5 of
    type INTEGER as 1. Entries omitted in a sparse row are 0, or the first value of a nominal attribute.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import
    from sklearn.externals import _arff  # noqa: PLC0415 - slow to import

    lines = read_text(path).split("\n")
    marks = (i for i, line in enumerate(lines) if line.strip().lower().startswith("@data"))
    end = next(marks, len(lines))
    head = [re.sub(r"^\s*(@\w+)\s+", r"\1 ", line) for line in lines[:end]]
    as_text = [re.sub(r"(?i)\s(numeric|real|integer)\s*$", " STRING", line) for line in head]
    try:
        arff: Any = _arff.load([*as_text, *lines[end:]])
    except (_arff.ArffException, csv.Error, ValueError) as error:
        raise ValueError(f"is not ARFF: {error}") from error
    frame = pd.DataFrame(arff["data"], columns=[name for name, _ in arff["attributes"]])
    for name, kind in arff["attributes"]:
        present = frame[name].notna().to_numpy()
        numbers = as_numbers(frame[name][present].astype(str))
        if isinstance(kind, list) and (len(kind) != 2 or as_numbers(kind) is None):
            frame[name] = frame[name].astype("category")
        elif numbers is not None and present.all():
            frame[name] = numbers
        elif numbers is not None:
            frame[name] = np.full(present.size, np.nan)
            frame.loc[present, name] = numbers.astype(np.float64)
    lines_of_rows = [
        i for i, s in enumerate(lines, 1) if i > end + 1 and s.strip() and s.strip()[0] != "%"
    ]
    return frame, lambda row: f"line {lines_of_rows[row]}"


def select_columns(
    frame: Any, target: str, columns: list[str], drop: list[str], location: str
) -> tuple[Any, Any]:
    """Return the feature columns and the column of labels or targets; ValueError if one is missing."""
    names = [*frame.columns]
    if target not in names:
        listed = list_names(names)
        raise ValueError(f"target: {location} has no column {target!r}; it has {listed}")
    for option, listed in (("columns", columns), ("drop", drop)):
        if missing := [name for name in listed if name not in names]:
            raise ValueError(f"{option}: {location}: {unknown('column', missing[0], names)}")
        if target in listed or len({*listed}) < len(listed):
            raise ValueError(
                f"{option}: must be different columns, none of them the target {target!r}"
            )
    chosen = columns or [name for name in names if name != target and name not in drop]
    if "" in chosen:
        raise ValueError(
            f"{location}: cannot be read as a table: its first line has no name for column "
            f"{names.index('') + 1}; give it one, leave it out with drop: [''], or write the table "
            "without row numbers, by `to_csv(..., index=False)`"
        )
    return frame[chosen], frame[target]


def to_raw(features: Any, y: Any, location: str, row_name: RowName = "row {}".format) -> Raw:
    """Convert a data frame of features and a series of labels or targets.

    Raises
    ------
    ValueError
        If features are not numbers or values are missing; the message names the file and the row.
    """
    X = feature_matrix(features, f"{location}: the columns but {y.name}", row_name)
    rows, columns = np.nonzero(~np.isfinite(X))
    if rows.size:
        raise ValueError(
            f"{location}: X: {features.columns[int(columns[0])]} is NaN, infinite or missing at "
            f"{row_name(int(rows[0]))}; drop or impute it"
        )
    names = names_of_columns(features).features
    if is_number(y.dtype) and y.notna().all():
        kind = y.dtype.kind if y.dtype.kind in "iu" else "f"
        return Raw(by_density(X), exact_numbers(y.to_numpy(f"{kind}8"), y.size), (), names)
    words = check_words(y.astype(object).where(y.notna(), ""), f"{location}: {y.name}", row_name)
    if (broken := np.char.find(words, "\n") >= 0).any():
        raise ValueError(
            f"{location}: {y.name} has a line break at {row_name(int(broken.argmax()))}; a stray "
            "quotation mark may have merged two rows"
        )
    numbers = None if str(y.dtype) == "category" else as_numbers(words)
    return Raw(by_density(X), words if numbers is None else numbers, (), names)


def feature_matrix(features: Any, subject: str, row_name: RowName = "row {}".format) -> Any:
    """Return the numbers (n, d) of a data frame; for others ValueError that begins with `subject`."""
    kinds = [*features.dtypes]
    text = [j for j, kind in enumerate(kinds) if not is_number(kind)]
    if kinds and not text:
        return features.to_numpy(np.float64, na_value=np.nan)
    names, first = list_names([str(features.columns[j]) for j in text]), ""
    if text:
        cells = features.iloc[:, text[0]].astype(str).tolist()
        odd = (i for i, cell in enumerate(cells) if as_numbers([cell]) is None or "−" in cell)
        row = next(odd, 0)
        first = f"; {row_name(row)} has {short_repr(cells[row])}"
    raise ValueError(
        f"{subject} are features and must be numbers; these are not: {names}{first} (leave "
        "them out with drop, or encode categories by pandas.get_dummies)"
    )


def is_number(dtype: Any) -> bool:
    """Whether a type of pandas or NumPy represents real numbers or booleans."""
    return getattr(dtype, "kind", "O") in "biuf"


def list_names(names: list[str]) -> str:
    """Return the first eight names as text, and the number of further ones."""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return (", ".join(names[:8]) or "there are none") + more
