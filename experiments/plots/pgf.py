"""Figures as PGF, the drawing commands of LaTeX: a paper that inputs them typesets their texts."""

import re
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import patch

from matplotlib.backends import backend_pgf
from matplotlib.figure import Figure

from dualgap.problems.texts import latex


def check_pgf() -> None:
    """Raise ValueError if there is no LaTeX to measure texts with."""
    if not shutil.which("pdflatex"):
        raise ValueError(
            "format: pgf needs pdflatex, which measures the texts, and it is not on PATH; install LaTeX "
            "(Debian: texlive-latex-recommended, texlive-latex-extra), or choose pdf, svg or png"
        )


def save_pgf(figure: Figure, path: Path) -> None:
    """Write a figure as PGF, with its pixels as `NAME-img0.png`, ... in the same folder.

    Raises
    ------
    ValueError
        If LaTeX cannot typeset its texts, as a package is missing.
    """
    with patch.object(backend_pgf, "RendererPgf", _Renderer):
        try:
            figure.savefig(path, dpi=200, backend="pgf")
        except backend_pgf.LatexError as error:
            fault = next((line for line in str(error).splitlines() if line[:1] == "!"), "")
            raise ValueError(f"format: pgf: pdflatex failed: {fault[2:] or error}") from error
    # matplotlib leaves the command of its tick labels to the paper's preamble
    start = "\\begingroup%\n"
    commands = path.read_text(encoding="utf-8")
    commands = commands.replace(start, f"{start}\\def\\mathdefault#1{{#1}}%\n", 1)
    path.write_text(commands, encoding="utf-8")


class _Renderer(backend_pgf.RendererPgf):
    """matplotlib's renderer with texts escaped: names of solvers and columns are not LaTeX."""

    def draw_text(self, gc: Any, x: Any, y: Any, s: str, *args: Any, **options: Any) -> None:
        """Draw a text."""
        is_formula = args[2] if len(args) > 2 else options.get("ismath", False)
        super().draw_text(gc, x, y, _escape(s, is_formula), *args, **options)

    def get_text_width_height_descent(
        self, s: str, prop: Any, ismath: Any
    ) -> tuple[float, float, float]:
        """Return the size of a text, as LaTeX measures it."""
        return super().get_text_width_height_descent(_escape(s, ismath), prop, ismath)


def _escape(text: str, has_formulas: bool) -> str:
    """Return a text of matplotlib as LaTeX; `\\$` is a dollar, and $...$ a formula if it has any."""
    if not has_formulas:
        return latex(text)
    parts = re.split(r"((?<!\\)\$.*?(?<!\\)\$)", text)
    return "".join(
        part.replace("−", "-") if i % 2 else latex(part.replace(r"\$", "$"))
        for i, part in enumerate(parts)
    )
