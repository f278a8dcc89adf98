"""The progress of a run, in a terminal and where there is none."""

import io
import re
import sys

import pytest

from experiments.output.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_description_is_shortened_and_count_and_time_left_are_not(monkeypatch, columns):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    with progress(1000, lambda _: "smo on " + "breast_cancer " * 20) as advance:
        for _ in range(3):
            advance(None)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sys.stderr.getvalue())
    last = [line for line in re.split("[\r\n]", shown) if line.strip()][-1]
    assert len(last) <= columns
    assert re.search(r"   3/1000 (\d|-):[\d-]{2}:[\d-]{2} smo on .*…$", last.rstrip())
