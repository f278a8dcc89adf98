"""Tables as files: each value as the kind of its column has it."""

from typing import get_args

import pandas as pd
import pytest

from dualgap.experiments.records.columns import FILES, Kind
from dualgap.experiments.records.tables import to_csv_bytes


def test_integers_are_written_without_a_point_and_beyond_64_bits():
    for largest, written in ((5.0, "5"), (2.0**63, "9.223372036854776e+18"), (1e300, "1e+300")):
        table = pd.DataFrame({"iterations": [1.0, largest]})
        assert to_csv_bytes(table, "runs.csv").decode().split()[-1] == written


@pytest.mark.parametrize("file", FILES)
def test_the_columns_of_a_file_have_distinct_names_known_kinds_and_meanings(file):
    names, kinds, meanings = zip(*FILES[file], strict=True)
    assert len(set(names)) == len(names)
    assert set(kinds) <= set(get_args(Kind))
    assert all(meanings)
