"""Quadratic programs in QPS (Maros & Mészáros 1999), MPS with a quadratic form, read strictly.

OBJSENSE     MIN, MINIMIZE, MAX or MAXIMIZE, in the same line or the next one.
ROWS         N, L, G or E and a name. The first N row is the objective, other N rows are ignored.
COLUMNS      the entries of one variable after another. Integer variables are refused.
RHS, RANGES  in any order. An entry -c of the objective in RHS states the constant c. A range R makes an
             L row [b - |R|, b], a G row [b, b + |R|], an E row [b, b + R] or, if R < 0, [b + R, b].
BOUNDS       LO, UP, FX, FR, MI or PL; without them 0 ≤ x < ∞. MI does not change the upper bound. LO and
             UP may follow FR, MI and PL. A negative UP without a stated lower bound means that there is
             none, as in CPLEX, QSopt and SAS; HiGHS keeps 0.
QUADOBJ      one triangle of P in ½xᵀPx; also QSECTION, which may be followed by the objective's name.
QMATRIX      all entries of P, which must be symmetric.

If there are several sets of RHS, RANGES or BOUNDS, the first one is used, as usual in MPS. All lines
of a section name a set, or none does. Numbers are decimal, with D or E before an exponent. Sections
begin in column 1, comments with * in column 1. No entry is stated twice. Everything else is refused.

In free format white space separates words; in fixed format, where names may contain spaces, the fields
are columns 2-3, 5-12, 15-22, 25-36, 40-47 and 50-61. If the two formats give different words, the file
must be readable in exactly one of them.
"""

import gzip
import re
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy

_FORMS = ("QUADOBJ", "QSECTION", "QMATRIX")
_WORDS = {  # accepted numbers of words per line of each section
    **{"NAME": (), "ENDATA": (), "OBJSENSE": (1,), "ROWS": (2,), "COLUMNS": (3, 5)},
    **{"RHS": (2, 3, 4, 5), "RANGES": (2, 3, 4, 5), "BOUNDS": (2, 3, 4)},
    **dict.fromkeys(_FORMS, (3, 5)),
}
_OBJECTIVE = -1  # index of the objective among the rows; ignored rows have lower ones
_Lines = list[tuple[int, bool, tuple[str, ...]]]  # number, whether it heads a section, words


class _Refusal(ValueError):
    """A line that cannot be read, with its number and a sentence."""


def read_qps(path: Path) -> tuple[Any, ...]:
    """Return P, q, A, (lower, upper), (lb, ub) of min ½xᵀPx + qᵀx s.t. lower ≤ Ax ≤ upper, lb ≤ x ≤ ub.

    Raises
    ------
    ValueError
        If it cannot be read; the message names the file, the line and the word.
    """
    problems, refusals = list[tuple[Any, ...]](), list[tuple[int, str]]()
    open_text = gzip.open if path.suffix.lower() == ".gz" else open
    with open_text(path, "rt", encoding="utf-8-sig", errors="backslashreplace") as file:
        text = file.read()
    for lines in _formats(text):
        try:
            problems.append(_Reader(lines).problem())
        except _Refusal as refusal:
            refusals.append(refusal.args)
    if len(problems) == 2:
        raise ValueError(f"{path.name} fits two formats; write all names without spaces.")
    if not problems:
        number, sentence = max(refusals, key=lambda args: args[0])  # the format that failed later
        raise ValueError(f"{path.name}, line {number}: {sentence}")
    return problems[0]


def _formats(text: str) -> list[_Lines]:
    """Return the lines in free and, if different, fixed format, in which lines may have no words."""
    free, fixed = _Lines(), _Lines()
    fields = r" (..) (.{8})  (.{8})  (.{12})   (.{8})  (.{12}) *".replace(".", r"[^\t]")
    for number, line in enumerate(text.split("\n"), 1):
        words = tuple(line.split())
        if not words or line.startswith("*"):
            continue
        is_header = not line[0].isspace()
        free.append((number, is_header, words))
        if not is_header:
            match = re.fullmatch(fields, line.ljust(61))
            words = tuple(filter(None, map(str.strip, match.groups()))) if match else ()
        fixed.append((number, is_header, words))
    return [free] if fixed == free else [free, fixed]


class _Reader:
    """Parser of the lines of each section."""

    def __init__(self, lines: _Lines) -> None:
        self._number, section = 1, "NAME"  # number of the current line
        self._sections = dict[str, list[tuple[int, tuple[str, ...]]]]()
        for self._number, is_header, words in lines:
            if is_header:
                section = self._open(*words)
            elif section in ("NAME", "ENDATA"):
                self._refuse(f"{' '.join(words)!r} does not belong to a section.")
            else:
                self._sections[section].append((self._number, words))
        filled = {name for name, lines in self._sections.items() if lines or name == "ENDATA"}
        if missing := {"ROWS", "COLUMNS", "ENDATA"} - filled:
            self._refuse(f"The file ends without {' and '.join(sorted(missing))}.")

    def problem(self) -> tuple[Any, ...]:
        signs = {"MIN": 1.0, "MINIMIZE": 1.0, "MAX": -1.0, "MAXIMIZE": -1.0}
        senses = [self._look_up(word, signs, "sense") for (word,) in self._words("OBJSENSE")]
        if len(senses) != ("OBJSENSE" in self._sections):
            self._refuse("OBJSENSE must state MIN or MAX, once.")
        sign = senses[0] if senses else 1.0
        rows, types = self._rows()
        columns, entries = self._columns(rows)
        q = np.array([entries.get((_OBJECTIVE, j), 0.0) for j in range(len(columns))])
        constraints = {position: value for position, value in entries.items() if position[0] >= 0}
        A = _matrix(constraints, (len(types), len(columns)))
        limits, bounds = self._limits(rows, types), self._bounds(columns)
        return sign * self._form(columns), sign * q, A, limits, bounds

    def _refuse(self, sentence: str) -> NoReturn:
        raise _Refusal(self._number, sentence)

    def _open(self, section: str, *arguments: str) -> str:
        if "ENDATA" in self._sections:
            self._refuse(f"{section!r} follows ENDATA, which must be last.")
        self._look_up(section, _WORDS, f"section: {', '.join(_WORDS)}")
        if repeated := self._sections.keys() & (_FORMS if section in _FORMS else (section,)):
            self._refuse(f"{section} follows {repeated.pop()}; write one section with all entries.")
        objective = next((w[-1] for _, w in self._sections.get("ROWS", ()) if w[:1] == ("N",)), "")
        self._sections[section] = []
        if arguments and section == "OBJSENSE":
            self._sections[section].append((self._number, arguments))
        elif arguments and section != "NAME" and [section, *arguments] != ["QSECTION", objective]:
            self._refuse(f"{' '.join(arguments)!r} after {section} is not read; remove it.")
        return section

    def _words(self, section: str) -> Iterator[tuple[str, ...]]:
        for number, words in self._sections.get(section, ()):
            self._number = number
            if not words:
                self._refuse("The line does not fit the fields of fixed format.")
            if len(words) not in _WORDS[section]:
                counts = " or ".join(str(count) for count in _WORDS[section])
                self._refuse(f"A line of {section} has {counts} words, not {' '.join(words)!r}.")
            yield words

    def _entries(self, section: str) -> Iterator[tuple[str, str, float]]:
        for words in self._words(section):
            if "'MARKER'" in words:
                self._refuse("'MARKER' states integer variables; a convex QP has none.")
            name, *pairs = words if len(words) % 2 else ("", *words)
            for other, number in zip(pairs[::2], pairs[1::2], strict=True):
                yield name, other, self._float(number)

    def _rows(self) -> tuple[dict[str, int], list[str]]:
        rows, types = dict[str, int](), list[str]()
        for kind, name in self._words("ROWS"):
            self._look_up(kind, dict.fromkeys("NLGE"), "type of a row: N, L, G, E")
            index = _OBJECTIVE - (len(rows) - len(types)) if kind == "N" else len(types)
            self._put(rows, name, index, name)
            types += [kind] if kind != "N" else []
        if _OBJECTIVE not in rows.values():
            self._refuse("ROWS has no row of type N, which is the objective.")
        return rows, types

    def _columns(self, rows: dict[str, int]) -> tuple[dict[str, int], dict[tuple[int, int], float]]:
        columns, entries = dict[str, int](), dict[tuple[int, int], float]()
        for name, row, value in self._entries("COLUMNS"):
            j = columns.setdefault(name, len(columns))
            if j != len(columns) - 1:
                self._refuse(f"The entries of {name} are interrupted; write adjacent lines.")
            self._put(entries, (self._look_up(row, rows, "row"), j), value, name, row)
        return columns, entries

    def _sides(self, section: str, rows: dict[str, int]) -> dict[int, float]:
        sides, first_set = dict[int, float](), None
        for name, row, value in self._entries(section):
            i = self._look_up(row, rows, "row")
            if section == "RANGES" and i < 0:
                self._refuse(f"{row} is a row of type N, which has no range.")
            first_set = name if first_set is None else first_set
            if (name == "") != (first_set == ""):
                self._refuse(f"All lines of {section} must name a set, or none; got {name!r}.")
            if name == first_set:
                self._put(sides, i, value, row)
        return sides

    def _limits(self, rows: dict[str, int], types: list[str]) -> tuple[np.ndarray, np.ndarray]:
        sides, ranges = self._sides("RHS", rows), self._sides("RANGES", rows)
        lower, upper = np.empty(len(types)), np.empty(len(types))
        for i, kind in enumerate(types):
            side, width = sides.get(i, 0.0), ranges.get(i, 0.0 if kind == "E" else inf)
            is_lower = kind == "G" or (kind == "E" and width >= 0)
            lower[i] = side if is_lower else side - abs(width)
            upper[i] = side + abs(width) if is_lower else side
        return lower, upper

    def _bounds(self, columns: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
        bounds: dict[str, dict[int, float]] = {"L": {}, "U": {}}
        limits, first_set = {"L": -inf, "U": inf}, None
        kinds = {"LO": "L", "UP": "U", "FX": "LU", "MI": "L", "PL": "U", "FR": "LU"}
        for kind, *names in self._words("BOUNDS"):
            sides = self._look_up(kind, kinds, f"bound of a real variable: {', '.join(kinds)}")
            value = self._float(names.pop()) if kind in ("LO", "UP", "FX") else None
            first_set = names[:-1] if first_set is None else first_set
            if not names or len(names) > 2 or len(names[:-1]) != len(first_set):
                self._refuse(f"{kind} takes [set] variable, all with a set or none; got {names}.")
            j = self._look_up(names[-1], columns, "variable")
            for side in sides if names[:-1] == first_set else "":
                if value is not None and abs(bounds[side].get(j, 0.0)) == inf:
                    del bounds[side][j]
                self._put(
                    bounds[side], j, limits[side] if value is None else value, names[-1], kind
                )
        lower, upper = bounds["L"], bounds["U"]
        lb = [lower.get(j, -inf if upper.get(j, 0.0) < 0 else 0.0) for j in range(len(columns))]
        return np.array(lb), np.array([upper.get(j, inf) for j in range(len(columns))])

    def _form(self, columns: dict[str, int]) -> Any:
        entries, names = dict[tuple[int, int], float](), list(columns)
        for section in _FORMS:
            for name, other, value in self._entries(section):
                i, j = (self._look_up(word, columns, "variable") for word in (other, name))
                for position in {(i, j)} if section == "QMATRIX" else {(i, j), (j, i)}:
                    self._put(entries, position, value, name, other)
        for (i, j), value in entries.items():
            if value != entries.get((j, i), 0.0):
                self._refuse(f"QMATRIX must be symmetric; at ({names[i]}, {names[j]}) it is not.")
        return _matrix(entries, (len(columns), len(columns)))

    def _look_up(self, word: str, table: Mapping[str, Any], kind: str) -> Any:
        if word not in table:
            self._refuse(f"{word!r} is not a known {kind}.")
        return table[word]

    def _put(self, table: dict[Any, Any], key: Any, value: Any, *names: str) -> None:
        if key in table:
            self._refuse(f"The entry ({', '.join(names)}) is stated twice; state it once.")
        table[key] = value

    def _float(self, word: str) -> float:
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eEdD][+-]?[0-9]+)?", word):
            self._refuse(f"{word!r} is not a number; write it as -1.5, 2e-3 or 2D-3.")
        value = float(word.upper().replace("D", "E"))
        if abs(value) == inf:
            self._refuse(f"{word!r} is beyond float64; sides and bounds are infinite from 1e20 on.")
        return value


def _matrix(entries: dict[tuple[int, int], float], shape: tuple[int, int]) -> Any:
    positions = np.array(list(entries), np.int64).reshape(-1, 2).T
    return scipy.sparse.csr_array((list(entries.values()), tuple(positions)), shape=shape)
