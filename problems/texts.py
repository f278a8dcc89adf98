"""Text from outside, such as names, notes and reasons, for each place that shows it.

`printable` is what terminals get, and what the other functions begin with; figures have one of their
own, `dualgap.experiments.plots.style.plain`.
"""

import html as _html
import re

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# what Markdown takes for markup in the middle of a line, and at its beginning
_MARKDOWN = re.compile(
    r"[\\`*\[\]<|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])|:(?=//)|(?<=\bwww)\.|@(?=\w)|^[#>]|^[-+](?=[-\s]|$)"
)
_NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "≈": r"$\approx$",
    "–": "--",
    "×": r"$\times$",
    "\0": "{}",  # between characters that would become one
} | {character: f"\\{character}" for character in "&%$#_{}"}
_LIGATURE = re.compile(r"([-'])(?=\1)")  # two would become a longer dash, or a quotation mark
_ARGUMENT = re.compile(r"^\s*[\[*]")  # of the command in front, such as the end of the line above
_EXPONENT = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?)e([+-]\d+)(?![\w.])")


def printable(text: object, keep: str = "") -> str:
    """Return text without characters that steer what shows it: controls, escapes, bidi overrides.

    White space is a blank, but for that in `keep`; the others are replaced by U+FFFD.
    """
    string = str(text)
    if string.isprintable():
        return string
    return "".join(
        c if c.isprintable() or c in keep else " " if c.isspace() else _REPLACEMENT for c in string
    )


def one_line(text: object, longest: int = 1000) -> str:
    """Return text on one line with single blanks; of longer text the first `longest` characters."""
    line = " ".join(printable(str(text)[: 2 * longest]).split())
    return line if len(line) <= longest else f"{line[:longest]} ..."


def html(text: object) -> str:
    """Return text that HTML shows as it is, also inside the quotes of an attribute."""
    return _html.escape(printable(text, keep="\n\t"))


def markdown(text: object) -> str:
    """Return text that Markdown, with GitHub's extensions, shows as it is, on one line."""
    line = " ".join(printable(text).split())
    return _NUMBERED.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\g<0>", line))


def latex(text: object) -> str:
    """Return text that LaTeX prints as it is; numbers such as 4e-07 as 4·10⁻⁷.

    Characters that pdflatex does not know are shown by their code points.
    """
    parts = _EXPONENT.split(printable(text))  # text, mantissa, exponent, text, ...
    plain = ["".join(map(_latex_character, _LIGATURE.sub("\\1\0", part))) for part in parts[0::3]]
    powers = [
        f"${mantissa} \\cdot 10^{{{int(exponent)}}}$"
        for mantissa, exponent in zip(parts[1::3], parts[2::3], strict=True)
    ]
    joined = "".join(a + b for a, b in zip(plain, [*powers, ""], strict=True))
    return _ARGUMENT.sub(r"{\g<0>}", joined)


def _latex_character(character: str) -> str:
    if character in _LATEX:
        return _LATEX[character]
    return character if character <= "ÿ" else f"[U+{ord(character):04X}]"
