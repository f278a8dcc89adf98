"""Tables as files: each value as the kind of its column has it."""

import pandas as pd

from dualgap.experiments.records.tables import to_csv_bytes


def test_integers_are_written_without_a_point_and_beyond_64_bits():
    for largest, written in ((5.0, "5"), (2.0**63, "9.223372036854776e+18"), (1e300, "1e+300")):
        table = pd.DataFrame({"iterations": [1.0, largest]})
        assert to_csv_bytes(table, "runs.csv").decode().split()[-1] == written
