"""Tables with a column of labels or targets: CSV and other text, ARFF and Parquet.

Each reader returns a data frame whose columns have distinct names, and the place of each row. A cell is
a number or text; only a blank one (in ARFF also ?) is missing, as NA or None may be the name of a class.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.problems.datasets.readers.formats import (
    check_readable,
    checked_words,
    endings_of,
    read_text,
)
from dualgap.problems.datasets.source import Raw
from dualgap.problems.datasets.steps import by_density
from dualgap.problems.labels import as_numbers
from dualgap.problems.registry import unknown
from dualgap.problems.validation import DAMAGE, shown

Place = Callable[[int], str]
_SEPARATORS = (",", ";", "\t", "|", " ")  # in which a first line is looked for more columns


def read_table(
    path: Path, sep: str | None = None, decimal: str = ".", header: bool | None = None
) -> tuple[Any, Place]:
    """Return the data frame of a table, and where its rows are; options are those of `TableFile`.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not a table; the message names the file, the line and what is accepted.
    """
    check_readable(path)
    reader = _READERS.get(endings_of(path)[0])
    if reader and (sep, decimal, header) != (None, ".", None):
        raise ValueError(f"sep, decimal, header: are of CSV, which {path} is not; leave them out")
    try:
        return reader(path) if reader else _read_csv(path, sep, decimal, header)
    except (*DAMAGE, ValueError) as error:
        raise ValueError(f"{path}: cannot be read as a table: {error}") from error


def _read_parquet(path: Path) -> tuple[Any, Place]:
    import pandas as pd  # noqa: PLC0415 - slow to import
    from pyarrow import parquet  # noqa: PLC0415 - slow to import

    with path.open("rb") as file:  # not by its path, in which a folder y=1 would be a column
        check_names(parquet.ParquetFile(file).schema_arrow.names, "its schema")
        frame = pd.read_parquet(file)
    frame.columns = frame.columns.astype(str)
    return frame, "row {}".format


def check_names(names: Iterable[str], subject: str) -> None:
    """Raise ValueError, begun with `subject`, if two columns have one name."""
    listed = [*names]
    if twice := [name for name in listed if name and listed.count(name) > 1]:
        raise ValueError(f"{subject} names {twice[0]!r} twice; rename one of these columns")


def _read_csv(
    path: Path, given_sep: str | None, decimal: str, header: bool | None
) -> tuple[Any, Place]:
    import pandas as pd  # noqa: PLC0415 - slow to import

    sep = given_sep or ("\t" if endings_of(path)[0] == ".tsv" else ",")
    if sep == decimal:
        raise ValueError(f"its cells are separated by {sep!r}, as are decimals; give another sep")
    found = [*_records(read_text(path), sep)]
    places, records = [place for place, *_ in found], [record for _, record, _ in found]
    if len(records) < 2:
        raise ValueError(
            "has no two lines; the first one names the columns, and each other is a row"
        )
    if given_sep is None:
        _check_separator([record.replace("\n", " ") for record in records[:2]], sep)
    names = _cells(records[0], sep)
    for place, _, count in found:  # pandas would fill a short row, and shift none
        if count != len(names):
            raise ValueError(
                f"line {place}: has {count} cells for {len(names)} columns; a decimal comma, a missing "
                "cell, a stray quotation mark, or numbers of rows without a name change their number"
            )
    if header is None:
        _check_header(names, decimal, places[0])
    named = header is not False
    if named:
        check_names(names, "its first line")
    known: Any = {"sep": sep, "decimal": decimal, "skipinitialspace": True, "header": None}
    known |= {"keep_default_na": False, "na_values": [""], "low_memory": False}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        known["float_precision"] = "round_trip"  # later versions round correctly, and deprecate it
    frame: Any = pd.read_csv(
        io.StringIO("\n".join(records[named:])), skip_blank_lines=False, **known
    )
    frame.columns = names if named else [str(j + 1) for j in range(len(names))]
    return frame, lambda row: f"line {places[row + named]}"


def _records(text: str, sep: str) -> Iterator[tuple[int, str, int]]:
    """Yield the first line of each record, its text and its cells' number; a quoted cell may have lines.

    Raises
    ------
    ValueError
        If a quotation mark has no partner.
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
                raise csv.Error("the end of the last line is in a cell")
            if any(line.strip(" ") for line in record):
                yield start + 1, "\n".join(record), len(row)
            start = reader.line_num
    except csv.Error as error:  # or a cell is too long, as what follows the mark is in it
        raise ValueError(
            f"line {start + 1}: has a quotation mark without its partner: {shown(lines[start])}; remove "
            "it, or double one that is part of a text"
        ) from error


def _cells(line: str, sep: str) -> list[str]:
    """Return the cells of one line; a blank as separator stands for several."""
    text = " ".join(line.split()) if sep == " " else line
    return [cell.strip() for cell in next(csv.reader([text], delimiter=sep, skipinitialspace=True))]


def _check_separator(lines: list[str], sep: str) -> None:
    """Raise ValueError if the first two lines have more columns with another separator."""
    if excel := re.fullmatch(r"sep=(.)", lines[0].strip()):
        raise ValueError(f"its first line is for Excel; remove it, and give sep: {excel[1]!r}")
    columns = len(_cells(lines[0], sep))
    for other in _SEPARATORS:
        more, *rest = (len(_cells(line, other)) for line in lines)
        if other != sep and [more] == rest and more > 1 and (columns == 1 or other == ";"):
            comma = ", and decimal: ',' if numbers have a decimal comma" if other == ";" else ""
            raise ValueError(
                f"its first line has {columns} column(s) separated by {sep!r}, and {more} by {other!r}: "
                f"give sep: {other!r}{comma}"
            )


def _check_header(names: list[str], decimal: str, line: int) -> None:
    """Raise ValueError if the first line has numbers instead of names of columns."""
    numbers = [name for name in names if as_numbers([name.replace(decimal, ".")]) is not None]
    if len(numbers) > len(names) / 2 or any(names.count(number) > 1 for number in numbers):
        raise ValueError(
            f"line {line}: has numbers, such as {numbers[0]}, where the names of columns are expected; "
            "give header: false if it is a sample (columns are then called 1, 2, ...), else header: true"
        )


def _read_arff(path: Path) -> tuple[Any, Place]:
    """Return the frame of an ARFF file, dense or sparse; nominal attributes are categories.

    scikit-learn's copy of liac-arff reads it; numbers are text there, as it takes 1_0 for 10, and 1.5 of
    type INTEGER for 1. What a sparse row leaves out is 0, or the first value of a nominal attribute.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import
    from sklearn.externals import _arff  # noqa: PLC0415 - slow to import

    lines = read_text(path).split("\n")
    end = next((i for i, line in enumerate(lines) if line.strip().lower() == "@data"), len(lines))
    head = [re.sub(r"^\s*(@\w+)\s+", r"\1 ", line) for line in lines[:end]]
    as_text = [re.sub(r"(?i)\s(numeric|real|integer)\s*$", " STRING", line) for line in head]
    try:
        found: Any = _arff.load([*as_text, *lines[end:]])
    except (_arff.ArffException, csv.Error, ValueError) as error:
        raise ValueError(f"is not ARFF: {error}") from error
    frame = pd.DataFrame(found["data"], columns=[name for name, _ in found["attributes"]])
    for name, kind in found["attributes"]:
        present = frame[name].notna().to_numpy()
        numbers = as_numbers(frame[name][present].astype(str))
        if isinstance(kind, list) and (len(kind) != 2 or as_numbers(kind) is None):
            frame[name] = frame[name].astype("category")
        elif numbers is not None:
            frame[name] = np.full(present.size, np.nan)
            frame.loc[present, name] = numbers
    places = [
        i for i, s in enumerate(lines, 1) if i > end + 1 and s.strip() and s.strip()[0] != "%"
    ]
    return frame, lambda row: f"line {places[row]}"


# by the ending of a file, in small letters; all other files are CSV
_READERS: dict[str, Callable[[Path], tuple[Any, Place]]] = {
    ".parquet": _read_parquet,
    ".arff": _read_arff,
}


def chosen_columns(
    frame: Any, target: str, columns: list[str], drop: list[str], place: str
) -> tuple[Any, Any]:
    """Return the columns of features and that of labels or targets; ValueError if one is missing."""
    names = [*frame.columns]
    if target not in names:
        raise ValueError(f"target: {place} has no column {target!r}; {some(names)}")
    for option, listed in (("columns", columns), ("drop", drop)):
        if missing := [name for name in listed if name not in names]:
            raise ValueError(f"{option}: {place}: {unknown('column', missing[0], names)}")
        if target in listed or len({*listed}) < len(listed):
            raise ValueError(
                f"{option}: must be different columns, none of them the target {target!r}"
            )
    chosen = columns or [name for name in names if name != target and name not in drop]
    if "" in chosen:
        raise ValueError(
            f"{place}: cannot be read as a table: its first line has no name for column "
            f"{names.index('') + 1}; give it one, leave it out with drop: [''], or write the table "
            "without numbers of rows, as `to_csv(..., index=False)` does"
        )
    return frame[chosen], frame[target]


def raw_of(features: Any, y: Any, place: str, where: Place = "row {}".format) -> Raw:
    """Return the rows of a data frame of features and of a series of labels or targets.

    Raises
    ------
    ValueError
        Naming their place and the row, if features are not numbers or values are missing.
    """
    X = feature_matrix(features, f"{place}: the columns but {y.name}", where)
    rows, columns = np.nonzero(~np.isfinite(X))
    if rows.size:
        raise ValueError(
            f"{place}: X: {features.columns[int(columns[0])]} is NaN, infinite or missing at "
            f"{where(int(rows[0]))}; drop or impute it"
        )
    if is_number(y.dtype) and y.notna().all():
        return Raw(by_density(X), y.to_numpy(np.float64))
    words = checked_words(y.astype(object).where(y.notna(), ""), f"{place}: {y.name}", where)
    if (broken := np.char.find(words, "\n") >= 0).any():
        raise ValueError(
            f"{place}: {y.name} has a line break at {where(int(broken.argmax()))}; a stray quotation "
            "mark may have taken two rows for one"
        )
    numbers = None if str(y.dtype) == "category" else as_numbers(words)
    return Raw(by_density(X), words if numbers is None else numbers)


def feature_matrix(features: Any, subject: str, where: Place = "row {}".format) -> Any:
    """Return the numbers (n, d) of a data frame; ValueError, begun with `subject`, for others."""
    kinds = [*features.dtypes]
    text = [j for j, kind in enumerate(kinds) if not is_number(kind)]
    if kinds and not text:
        return features.to_numpy(np.float64, na_value=np.nan)
    names, first = some([str(features.columns[j]) for j in text]), ""
    if text:
        cells = features.iloc[:, text[0]].astype(str).tolist()
        odd = (i for i, cell in enumerate(cells) if as_numbers([cell]) is None or "−" in cell)
        row = next(odd, 0)
        first = f"; {where(row)} has {shown(cells[row])}"
    raise ValueError(
        f"{subject} are features, which are numbers; these are not: {names}{first} (leave "
        "them out with drop, or make numbers of categories by pandas.get_dummies)"
    )


def is_number(dtype: Any) -> bool:
    """Whether a type of pandas or NumPy is one of real numbers or booleans."""
    return getattr(dtype, "kind", "O") in "biuf"


def some(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return (", ".join(names[:8]) or "there are none") + more
