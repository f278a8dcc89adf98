"""Convex quadratic programs as data sets: those in files, and the set of Maros and Mészáros.

Maros & Mészáros 1999, "A repository of convex quadratic programming problems". For each of the 138
problems maros_meszaros.csv, next to this module, lists a file in a public copy of the set and its Git
SHA-1. Only five large problems use the MATLAB file: the others' MATLAB files have costs and sides
computed from the original decimals, so that dependent equations no longer agree exactly.
"""

import csv
import hashlib
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import ClassVar, Literal

from dualgap.problems.datasets.published import cache_folder, data_folder, download
from dualgap.problems.datasets.source import Loadable, WholeProblem
from dualgap.problems.quadratic.readers import read_qp
from dualgap.problems.validation import check_choice


@dataclass(frozen=True, kw_only=True)
class QuadraticProgram(Loadable):
    """A convex QP in a file, for the formulation convex_qp.

    Parameters
    ----------
    path : a .npz, .mat, .qps or .mps file, see `read_qp`.
    """

    task: ClassVar[Literal["program"]] = "program"
    kind: ClassVar[str] = "file"
    size: ClassVar[str] = "as in the file"
    origin: ClassVar[str] = "your own .npz, .mat, .qps or .mps"

    path: str

    def check(self) -> None:
        """Raise FileNotFoundError if the file does not exist."""
        if not Path(self.path).expanduser().is_file():
            raise FileNotFoundError(f"path: there is no file {self.path}")

    def load(self) -> WholeProblem:
        """Read the file."""
        return WholeProblem(read_qp(Path(self.path).expanduser()))


@dataclass(frozen=True, kw_only=True)
class MarosMeszaros(Loadable):
    """One of the 138 problems of Maros & Mészáros, for the formulation convex_qp.

    The folder maros_meszaros of DUALGAP_DATA is searched, then that of the cache; else it is downloaded.

    Parameters
    ----------
    problem : its name, such as AUG2D.
    """

    task: ClassVar[Literal["program"]] = "program"
    kind: ClassVar[str] = "published"
    size: ClassVar[str] = "2 to 93,263 variables"
    origin: ClassVar[str] = "Maros & Mészáros 1999"

    problem: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.problem, "problem", _catalogue())

    def load(self) -> WholeProblem:
        """Read the file.

        Raises
        ------
        OSError
            If there is no local file and it cannot be downloaded.
        ValueError
            If its checksum is not that of the catalogue.
        """
        file, checksum = _catalogue()[self.problem]
        folders = [root / "maros_meszaros" for root in (data_folder(), cache_folder()) if root]
        path = next((root / file for root in folders if (root / file).is_file()), None)
        if path is None:
            read = partial(_read_verified, checksum=checksum)
            return download(_copy_of(file), folders[-1] / file, read)
        return _read_verified(path, checksum)


def _copy_of(file: str) -> str:
    """Return the address of a copy of a file of the catalogue."""
    folders = {
        ".QPS": "YimingYAN/QP-Test-Problems/871cc300154cfb438acc20f52b2c585db3f11e31/QPS_Files",
        ".mat": "qpsolvers/maros_meszaros_qpbenchmark/0cae37f473c2fd0a762e537a61bd4db5b31ff00c/data",
    }
    return f"https://raw.githubusercontent.com/{folders[Path(file).suffix]}/{file}"


@cache
def _catalogue() -> dict[str, tuple[str, str]]:
    """Return the file and the checksum of each problem in the set."""
    with Path(__file__).with_name("maros_meszaros.csv").open(encoding="utf-8", newline="") as table:
        _, *rows = csv.reader(table)
    return {Path(file).stem: (file, checksum) for file, checksum in rows}


def _read_verified(path: Path, checksum: str) -> WholeProblem:
    content = path.read_bytes()
    actual = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if actual != checksum:
        raise ValueError(
            f"{path}: expected a file with the checksum {checksum}, found {actual}; this is not the "
            "published content; quadratic_program loads a file as it is"
        )
    return WholeProblem(read_qp(path))
