"""The progress of a run, in a terminal and where there is none."""

import errno
import io
import re
import sys
from types import SimpleNamespace

import pytest

from dualgap.experiments.operations.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_description_is_shortened_but_not_count_and_remaining_time(monkeypatch, columns):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    with progress(1000) as advance:
        for _ in range(3):
            advance("smo on " + "breast_cancer " * 20)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sys.stderr.getvalue())
    last = [line for line in re.split("[\r\n]", text) if line.strip()][-1]
    assert len(last) <= columns
    assert re.search(r"   3/1000 (\d|-):[\d-]{2}:[\d-]{2} smo on .*…$", last.rstrip())


def test_a_long_phase_is_printed_once_and_replaced_by_the_next_outcome(monkeypatch, capsys):
    with progress(3) as advance:
        for _ in range(3):
            advance.begin_phase("compiling smo")
        advance("solved")
    assert capsys.readouterr().err.splitlines() == ["0/3 compiling smo", "1/3 solved"]
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with progress(3) as advance:
        advance.begin_phase("compiling smo")
    assert "compiling smo" in sys.stderr.getvalue()


def test_a_notebook_has_a_progress_bar_and_escapes_user_text(monkeypatch):
    text = []
    handle = SimpleNamespace(update=text.append)
    display = SimpleNamespace(HTML=str, display=lambda bar, display_id: text.append(bar) or handle)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(
        "dualgap.experiments.operations.progress.Console.is_jupyter", True, raising=False
    )
    monkeypatch.setattr(
        "dualgap.experiments.operations.progress.Console.__init__", lambda self: None
    )
    with progress(2) as advance:
        advance("solved: <b>")
    assert [re.findall(r'value="(\d)" max="(\d)"', bar) for bar in text] == [
        [("0", "2")],
        [("1", "2")],
    ]
    assert "1/2 solved: &lt;b&gt;" in text[-1]


def test_a_run_continues_after_its_progress_pipe_breaks(monkeypatch):
    def raise_broken_pipe(*_, **__):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("dualgap.experiments.operations.progress.say", raise_broken_pipe)
    with progress(2) as advance:
        advance.begin_phase("compiling smo")
        advance("solved")
        advance("solved")
    assert advance.count == 2
