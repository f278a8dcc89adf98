"""Tables with a column of labels or targets: CSV and TSV text, ARFF and Parquet.

Each reader returns a data frame whose columns have distinct names, and a function that says where a row
is. A cell is a number or the text that the file has: only a blank one (in ARFF also ?) is missing, since
NA or None may be the name of a class.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from problems.datasets.formats import check_readable, checked_words, endings_of, read_text
from problems.datasets.source import Raw
from problems.datasets.steps import by_density
from problems.labels import as_numbers
from problems.registry import unknown
from problems.validation import DAMAGE, shown

Place = Callable[[int], str]
_SEPARATORS = (",", ";", "\t", "|", " ")  # in which a first line is looked for more columns


@dataclass(frozen=True)
class TextOptions:
    """How a table of text is written: `sep` None for that of the ending, `header` None for unknown."""

    sep: str | None = None
    decimal: str = "."
    header: bool | None = None


def read_table(path: Path, options: TextOptions) -> tuple[Any, Place]:
    """Return the data frame of a table, and where its rows are.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not a table; the message names the file, the line and what is accepted.
    """
    check_readable(path)
    reader = READERS.get(endings_of(path)[0], _read_csv)
    if reader is not _read_csv and options != TextOptions():
        name = next(
            name for name, value in vars(options).items() if value != getattr(TextOptions, name)
        )
        raise ValueError(f"{name}: is an option of CSV and other text, which {path} is not")
    try:
        return reader(path, options)
    except (*DAMAGE, ValueError) as error:
        raise ValueError(f"{path}: cannot be read as a table: {error}") from error


def _read_parquet(path: Path, _: TextOptions) -> tuple[Any, Place]:
    import pandas as pd  # noqa: PLC0415 - slow to import
    from pyarrow import parquet  # noqa: PLC0415 - slow to import

    with path.open("rb") as file:  # not by its path, in which a folder y=1 would be a column
        check_names(parquet.ParquetFile(file).schema_arrow.names)
        frame = pd.read_parquet(file)
    frame.columns = frame.columns.astype(str)
    return frame, "row {}".format


def check_names(names: Iterable[str]) -> None:
    """Raise ValueError if two columns have one name."""
    listed = [*names]
    if twice := [name for name in dict.fromkeys(listed) if listed.count(name) > 1]:
        raise ValueError(f"has the column {twice[0]!r} twice; rename one of them")


def _read_csv(path: Path, options: TextOptions) -> tuple[Any, Place]:
    import pandas as pd  # noqa: PLC0415 - slow to import

    text = read_text(path)
    sep = options.sep or ("\t" if endings_of(path)[0] == ".tsv" else ",")
    if sep == options.decimal:
        raise ValueError(f"its cells are separated by {sep!r}, as are decimals; give another sep")
    # of lines that pandas counts as rows, the numbers
    lines = [i for i, line in enumerate(text.split("\n"), 1) if line.strip(" \t".replace(sep, ""))]
    if not lines:
        raise ValueError("is empty; its first line names the columns")
    _check_quotes(text)
    first = text.split("\n")[lines[0] - 1]
    names = _cells(first, sep)
    _check_separator(first, names, sep, options)
    named = _is_header(names, lines[0], options)
    if not named:
        names = [str(j + 1) for j in range(len(names))]
    elif twice := [name for name in names if name and names.count(name) > 1]:
        raise ValueError(
            f"its first line names {twice[0]!r} twice; rename one, or give header: false"
        )
    rows = lines[named:]
    if not rows:
        raise ValueError("has no rows below the names of its columns")
    known: Any = {"sep": r"\s+" if sep == " " else sep, "decimal": options.decimal}
    known |= {"keep_default_na": False, "na_values": [""], "skipinitialspace": True}
    known |= {"header": None, "skiprows": rows[0] - 1}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        known["float_precision"] = "round_trip"  # later versions round correctly, and deprecate it
    try:
        frame: Any = pd.read_csv(io.StringIO(text), **known, low_memory=False)
    except pd.errors.ParserError as error:
        _check_lengths(text, rows, sep, len(names))
        raise ValueError(str(error)) from error
    if frame.shape[1] != len(names) or frame.iloc[:, -1].isna().any():
        _check_lengths(text, rows, sep, len(names))
    frame.columns = names
    return frame, lambda row: f"line {rows[row]}"


def _cells(line: str, sep: str) -> list[str]:
    """Return the cells of one line."""
    if sep == " ":
        return [cell.strip('"') for cell in line.split()]
    (cells,) = csv.reader([line], delimiter=sep, skipinitialspace=True)
    return [cell.strip() for cell in cells]


def _check_quotes(text: str) -> None:
    """Raise ValueError at a line with a quotation mark that is not closed: rows would be swallowed."""
    if '"' in text:
        for number, line in enumerate(text.split("\n"), 1):
            if line.count('"') % 2:
                raise ValueError(
                    f"line {number}: has a quotation mark without its partner: {shown(line)}; remove "
                    "it, or double one that is part of a text; text of several lines is not accepted"
                )


def _check_separator(first: str, names: list[str], sep: str, options: TextOptions) -> None:
    """Raise ValueError if the first line has more columns with another separator."""
    if options.sep is not None:
        return
    counts = {other: len(_cells(first, other)) for other in _SEPARATORS if other != sep}
    best = max(counts, key=lambda other: counts[other])
    if counts[best] > 1 and (len(names) == 1 or (best == ";" and counts[best] >= len(names))):
        comma = ", and decimal: ',' if that is how numbers are written" if best == ";" else ""
        raise ValueError(
            f"its first line has {len(names)} column(s) separated by {sep!r}, and {counts[best]} by "
            f"{best!r}: give sep: {best!r}{comma}"
        )


def _is_header(names: list[str], line: int, options: TextOptions) -> bool:
    """Return whether the first line names the columns; ValueError if it has numbers instead of names."""
    if options.header is not None:
        return options.header
    numbers = [
        name for name in names if as_numbers([name.replace(options.decimal, ".")]) is not None
    ]
    repeated = any(names.count(number) > 1 for number in numbers)
    if len(numbers) == len(names) or repeated or len(numbers) > len(names) / 2:
        raise ValueError(
            f"line {line}: has numbers, such as {numbers[0]}, where the names of columns are expected; "
            "give header: false if it is a sample (columns are then called 1, 2, ...), or header: "
            "true if these are names"
        )
    return True


def _check_lengths(text: str, rows: list[int], sep: str, columns: int) -> None:
    """Raise ValueError at the first row that does not have as many cells as there are columns."""
    split = text.split("\n")
    for number in rows:
        count = len(_cells(split[number - 1], sep))
        if count != columns:
            raise ValueError(
                f"line {number}: has {count} cells for {columns} columns; a decimal or thousands comma, "
                "a missing cell or numbers of rows without a name change the number of cells"
            )


def _read_arff(path: Path, _: TextOptions) -> tuple[Any, Place]:
    """Return the frame of an ARFF file, dense or sparse; nominal attributes are categories.

    scikit-learn's copy of liac-arff reads the header and splits the rows. An entry that a sparse row
    leaves out is 0, or the first value of a nominal attribute.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import
    from sklearn.externals import _arff  # noqa: PLC0415 - slow to import

    text = read_text(path).split("\n")
    end = next((i for i, line in enumerate(text) if line.strip().lower() == "@data"), len(text))
    head = [re.sub(r"^\s*(@\w+)\s+", r"\1 ", line) for line in text[: end + 1]]
    lines, rows = list[int](), list[Any]()
    try:
        attributes: list[Any] = _arff.loads("\n".join(head))["attributes"]
        for number, line in enumerate(text[end + 1 :], end + 2):
            if (row := line.strip()) and not row.startswith("%"):
                lines.append(number)
                rows.append(_arff._parse_values(row))  # pyright: ignore[reportPrivateUsage]
    except (_arff.ArffException, csv.Error, ValueError) as error:
        where = f"line {lines[-1]}: is not a row of ARFF" if lines else f"in its header: {error}"
        raise ValueError(where) from error
    for number, row in zip(lines, rows, strict=True):
        is_sparse = isinstance(row, dict)
        if is_sparse != isinstance(rows[0], dict):
            raise ValueError(f"line {number}: is dense or sparse, as the first row is not")
        if max(row, default=0) >= len(attributes) if is_sparse else len(row) != len(attributes):
            raise ValueError(f"line {number}: does not fit to {len(attributes)} attributes: {row}")
    columns = dict[str, Any]()
    for j, (name, kind) in enumerate(attributes):
        omitted = kind[0] if isinstance(kind, list) else "0"
        words = [row.get(j, omitted) if isinstance(row, dict) else row[j] for row in rows]
        columns[name] = _attribute(name, kind, words, lines)
    return pd.DataFrame(columns), lambda row: f"line {lines[row]}"


def _attribute(name: str, kind: Any, words: list[str | None], lines: list[int]) -> Any:
    """Return the column of an ARFF attribute, whose type is REAL, INTEGER, NUMERIC, STRING or a list."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    if kind == "STRING":
        return pd.Series(words, dtype=object)
    known = [word for word in {*words} if word is not None and kind != "STRING"]
    accepted = [
        w for w in known if (w in kind if isinstance(kind, list) else as_numbers([w]) is not None)
    ]
    for word, line in zip(words, lines, strict=True):
        if word is not None and word not in accepted:
            raise ValueError(f"line {line}: {name} is {shown(word)}, and its type is {shown(kind)}")
    if isinstance(kind, list) and (len(kind) != 2 or as_numbers(kind) is None):
        return pd.Series(words, dtype="category")
    numbers: dict[str | None, float] = {word: float(as_numbers([word])[0]) for word in accepted}
    return pd.Series([numbers.get(word, np.nan) for word in words], dtype=np.float64)


Reader = Callable[[Path, TextOptions], tuple[Any, Place]]
# by the ending of a file, in small letters; all other files are CSV
READERS: Mapping[str, Reader] = {".parquet": _read_parquet, ".arff": _read_arff}


def chosen_columns(
    frame: Any, target: str, columns: Iterable[str], drop: Iterable[str], place: str
) -> tuple[Any, Any]:
    """Return the columns of features and that of labels or targets.

    Raises
    ------
    ValueError
        If there is no such column, or one of the features has no name.
    """
    names = [*frame.columns]
    if target not in names:
        raise ValueError(f"target: {place} has no column {target!r}; {some(names)}")
    for option, listed in (("columns", columns), ("drop", drop)):
        if missing := [name for name in listed if name not in names]:
            raise ValueError(f"{option}: {place}: {unknown('column', missing[0], names)}")
    chosen = [*columns] or [name for name in names if name != target and name not in drop]
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
        name = features.columns[int(columns[0])]
        raise ValueError(
            f"{place}: X: {name} is NaN, infinite or missing at {where(int(rows[0]))}; drop or impute it"
        )
    if y.isna().any():
        first = where(int(y.isna().to_numpy().argmax()))
        raise ValueError(
            f"{place}: {y.name} is missing in {int(y.isna().sum())} rows, first at {first}"
        )
    if is_number(y.dtype):
        return Raw(by_density(X), y.to_numpy(np.float64))
    words = checked_words(y, f"{place}: {y.name}", where)
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
        row = next((i for i, cell in enumerate(cells) if as_numbers([cell]) is None), 0)
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
