"""Escape untrusted text, such as names, notes and reasons, for each output format.

Terminals get `printable`, which the other functions apply first; figures use
`dualgap.experiments.plots.style.plain`.
"""

import html as _html
import re

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
    "≤": r"$\leq$",
    "≠": r"$\neq$",
    "−": "$-$",
    "–": "--",
    "…": r"\dots{}",
    "×": r"$\times$",
    "±": r"$\pm$",
    "α": r"$\alpha$",
    "∞": r"$\infty$",
    "∅": r"$\emptyset$",
    "✓": r"$\surd$",
    "✗": r"$\times$",
    "†": r"$\dagger$",
    "\0": "{}",  # separates characters that would form a ligature
} | {character: f"\\{character}" for character in "&%$#_{}"}


def printable(text: object, keep: str = "") -> str:
    """Return text without characters that control its display: controls, escapes, bidi overrides.

    White space not in `keep` becomes a blank; the other characters are replaced by U+FFFD.
    """
    string = str(text)
    if string.isprintable():
        return string
    return "".join(
        c if c.isprintable() or c in keep else " " if c.isspace() else "\ufffd" for c in string
    )


def one_line(text: object, max_length: int = 1000) -> str:
    """Return text on one line with single blanks, cut after `max_length` characters."""
    line = " ".join(printable(str(text)[: 2 * max_length]).split())
    return line if len(line) <= max_length else f"{line[:max_length]} ..."


def html(text: object) -> str:
    """Escape text for HTML, including quoted attribute values."""
    return _html.escape(printable(text, keep="\n\t"))


def markdown(text: object) -> str:
    """Escape text for GitHub's Markdown, on one line."""
    anywhere = r"[\\`*\[\]<|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])|:(?=//)|(?<=\bwww)\.|@(?=\w)"
    at_start = r"^[#>]|^[-+](?=[-\s]|$)"
    line = re.sub(f"{anywhere}|{at_start}", r"\\\g<0>", " ".join(printable(text).split()))
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", line)  # would begin a numbered list


def latex(text: object) -> str:
    """Escape text for LaTeX, with numbers such as 4e-07 as 4·10⁻⁷.

    Characters unknown to pdflatex are shown as their code points.
    """
    # text, mantissa, exponent, text, ...
    parts = re.split(r"(?<![\w.])(-?\d+(?:\.\d+)?)e([+-]\d+)(?![\w.])", printable(text))
    # two - or ' in a row would become a longer dash or a quotation mark
    plain = [
        "".join(map(_latex_character, re.sub(r"([-'])(?=\1)", "\\1\0", part)))
        for part in parts[0::3]
    ]
    powers = [
        f"${mantissa} \\cdot 10^{{{int(exponent)}}}$"
        for mantissa, exponent in zip(parts[1::3], parts[2::3], strict=True)
    ]
    joined = "".join(a + b for a, b in zip(plain, [*powers, ""], strict=True))
    # would be read as an argument of the preceding command, such as \\
    return re.sub(r"^\s*[\[*]", r"{\g<0>}", joined)


def _latex_character(character: str) -> str:
    if character in _LATEX:
        return _LATEX[character]
    return character if character <= "ÿ" else f"[U+{ord(character):04X}]"
