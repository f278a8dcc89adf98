"""Row groups of Parquet files, with a column of labels or targets and perhaps one of weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.problems.datasets.readers.sections import FileSection, FileSource
from dualgap.problems.datasets.readers.tables import check_names


@dataclass(frozen=True)
class ParquetSource(FileSource):
    """Row groups of Parquet files, with a column of labels or targets and perhaps one of weights."""

    features: tuple[str, ...] = ()
    target: str = ""
    weight: str | None = None

    def _read(self, section: FileSection) -> tuple[Any, Any, Any]:
        from pyarrow import parquet  # noqa: PLC0415 - slow to import

        with parquet.ParquetFile(section.file) as file:

            def column(name: str) -> Any:
                groups = file.read_row_groups(range(*section.extent), columns=[name])
                return _values(groups[name])

            X = np.empty((section.end - section.first, len(self.features)))
            for j, name in enumerate(self.features):
                X[:, j] = column(name)
            return X, column(self.target), column(self.weight) if self.weight else None


def open_parquet(
    files: list[Path],
    target: str | None,
    weight: str | None,
    rows: int,
    positive: float | str | None,
) -> ParquetSource:
    """Return the row groups of files, which must have the same columns."""
    import pyarrow  # noqa: PLC0415 - slow to import
    from pyarrow import parquet, types  # noqa: PLC0415

    if target is None:
        raise ValueError("target: name the column of labels or targets")
    features, sections = tuple[str, ...](), list[FileSection]()
    for path in files:
        try:
            file = parquet.ParquetFile(path)
        except pyarrow.ArrowException as error:
            raise ValueError(f"{path}: is not a Parquet file: {error}") from error
        with file:
            schema, groups = file.schema_arrow, file.metadata
            check_names(schema.names, f"X: {path}: its schema")
            for name, column in (("target", target), ("weight", weight)):
                if column is not None and column not in schema.names:
                    raise ValueError(f"{name}: {path} has no {column!r}, it has {schema.names[:9]}")
            # an index that pandas or Dask stored as a column is not a feature
            index = (schema.pandas_metadata or {}).get("index_columns", [])
            not_features = {target, weight}.union(name for name in index if isinstance(name, str))
            columns = tuple(name for name in schema.names if name not in not_features)
            text = [name for name in columns if not _is_number(types, schema.field(name).type)]
            if text:
                raise ValueError(
                    f"X: {path}: features must be numbers, but {', '.join(text[:9])} are not"
                )
            features = features or columns
            if different := set(columns) ^ set(features):
                raise ValueError(
                    f"X: {path} and {files[0]} differ in columns: {sorted(different)[:9]}"
                )
            lengths = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
        sections += _row_group_sections(str(path), lengths, rows)
    return ParquetSource(tuple(sections), positive, features, target, weight)


def _row_group_sections(file: str, lengths: list[int], rows: int) -> Iterator[FileSection]:
    """Yield runs of consecutive row groups with at most `rows` rows, or one group that has more."""
    row = start = 0
    for group, length in enumerate(lengths):
        size = sum(lengths[start:group])
        if start < group and size + length > rows:
            yield FileSection(file, row, row + size, (start, group))
            row, start = row + size, group
    yield FileSection(file, row, row + sum(lengths[start:]), (start, len(lengths)))


def _is_number(types: Any, kind: Any) -> bool:
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)


def _values(column: Any) -> Any:
    """Return a Parquet column as an array: numbers, with NaN for missing values, or text."""
    from pyarrow import int8, string, types  # noqa: PLC0415 - slow to import

    if types.is_boolean(column.type):
        column = column.cast(int8())
    elif not _is_number(types, column.type):
        column = column.cast(string())
    return column.to_numpy()
