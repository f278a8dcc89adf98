"""The catalogue of published data sets: what each must contain, and where it is published.

The table itself is catalogue.csv, beside this module. Checksums are of the parsed content, not of a
file: SHA-256 over the canonical CSR form of the samples with the published number of features, and
the labels as the source has them (`Dataset.checksum`). Addresses are those of the LIBSVM data page
(C.-C. Chang, C.-J. Lin). There is none where the checked copy was made from another publication of
the same data, which need not agree with the file on that page in every digit, label or row: `usps`
has the digits 0-9 as labels, `diabetes_scale` was scaled anew, `svmguide1.t`, `svmguide3`,
`splice_scale`, `abalone`, `cpusmall`, `housing` and `mpg` were converted. Those are found locally only.
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from problems.datasets.source import Task

_SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"


@dataclass(frozen=True)
class Entry:
    """One published data set.

    Parameters
    ----------
    n, d
        Number of samples, and of features as published (the last may be zero throughout).
    checksum
        SHA-256 of the content.
    url
        Where to download it, None if there is no place with that content.
    licence
        As usually stated.
    decimals
        Decimals of the published values, where copies are in single precision.
    """

    name: str
    n: int
    d: int
    task: Task
    checksum: str
    url: str | None
    licence: str
    decimals: int | None = None


def _read_table() -> dict[str, Entry]:
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as table:
        _, *rows = csv.reader(table)
    return {
        name: Entry(
            name,
            int(n),
            int(d),
            cast(Task, task),
            checksum,
            _SITE + address if address else None,
            licence,
            int(decimals) if decimals else None,
        )
        for name, n, d, task, checksum, address, licence, decimals in rows
    }


ENTRIES = _read_table()
