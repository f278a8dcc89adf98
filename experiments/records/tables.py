"""Tables with the columns of `records.columns`: their types, their CSV files, and their description."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dualgap.experiments.records.columns import FILES

_FRICTIONLESS_TYPES = {
    "text": "string",
    "json": "object",
    "flag": "boolean",
    # numbers are loaded as float64, as values may be missing
    "number": "number",
    "whole": "integer",
    "measure": "number",
}


def numeric_columns(file: str) -> list[str]:
    """Return the names of a file's numeric columns."""
    return [
        column.name
        for column in FILES[file]
        if _FRICTIONLESS_TYPES[column.kind] in ("number", "integer")
    ]


def with_column_types(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """Return a table with the columns of a file in their types; missing columns are empty."""
    result = table.reindex(columns=[column.name for column in FILES[file]]).astype(object)
    for name in numeric_columns(file):
        result[name] = result[name].astype(np.float64)
    for name in (column.name for column in FILES[file] if column.kind == "flag"):
        result[name] = result[name].map({True: True, "True": True}).notna()
    return result


def to_csv_bytes(table: pd.DataFrame, file: str) -> bytes:
    """Return a table as CSV: integers without decimal point, measures with twelve digits."""
    counts, measures = (
        [column.name for column in FILES[file] if column.kind == kind and column.name in table]
        for kind in ("whole", "measure")
    )
    present = {name: table[name].dropna() for name in counts}
    integers = [k for k, v in present.items() if (v % 1 == 0).all() and (v.abs() < 2**63).all()]
    formatted = table.astype(dict.fromkeys(integers, "Int64"))
    formatted[measures] = formatted[measures].map("{:.12g}".format).astype(np.float64)
    return formatted.to_csv(index=False).encode()


def datapackage(name: str, tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Return the `datapackage.json` of tables, which are given by file name (keys of `FILES`)."""
    return {
        "profile": "tabular-data-package",
        "name": name.lower(),
        "resources": [
            {
                "profile": "tabular-data-resource",
                "name": file.removesuffix(".csv"),
                "path": file,
                "schema": {
                    "fields": [
                        {
                            "name": col.name,
                            "type": _FRICTIONLESS_TYPES[col.kind],
                            "description": col.meaning,
                        }
                        for col in FILES[file]
                        if col.name in table
                    ]
                },
            }
            for file, table in tables.items()
        ],
    }
