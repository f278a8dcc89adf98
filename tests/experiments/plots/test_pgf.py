"""Figures as PGF: texts are escaped, and without LaTeX a sentence says what to do."""

import re
import shutil

import pytest
from tests.experiments.rows import run, stored

from dualgap.experiments.plots import plot_all
from dualgap.experiments.plots.pgf import save_pgf
from dualgap.experiments.plots.style import figure, plain, style

HOSTILE = r"a_b & 50% #1 {x} \input{/etc/passwd} $y$ ~ α ≠ 0 √"
has_latex = pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no pdflatex")


@has_latex
def test_texts_are_typeset_as_text_and_formulas_as_formulas(tmp_path):
    with style():
        new = figure(3, 2)
        new.add_subplot().set(
            title=plain(HOSTILE), xlabel=plain(HOSTILE) + ": $n^{1.5}$", xscale="log"
        )
        save_pgf(new, tmp_path / "one.pgf")
        save_pgf(new, tmp_path / "two.pgf")
    written = (tmp_path / "one.pgf").read_text()
    escaped = r"a\_b \& 50\% \#1 \{x\} \textbackslash{}input\{/etc/passwd\} \$y\$"
    escaped += r" \textasciitilde{} $\alpha$ $\neq$ 0 [U+221A]"
    assert f"{escaped}}}" in written
    assert f"{escaped}: $n^{{1.5}}$}}" in written
    assert re.search(r"\$\\mathdefault\{10\^\{0\}\}\$", written)
    assert r"\def\mathdefault" in written
    assert (tmp_path / "two.pgf").read_text() == written


@has_latex
def test_every_figure_of_a_folder_is_written_as_pgf(tmp_path):
    folder = stored(tmp_path / "runs", [run(), run(solver="libsvm")])
    written = plot_all(folder, formats=["pgf"])
    assert {path.name for path in written} == {"gap_against_time-p.pgf", "overview.pgf"}


def test_without_latex_a_sentence_says_so(command, tmp_path, monkeypatch):
    folder = stored(tmp_path / "runs", [run()])
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = command("plot", folder, "--format", "svg,pgf", code=2)
    assert "pgf needs pdflatex" in refused.output
    assert not (folder / "figures").exists()
