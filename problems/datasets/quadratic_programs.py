"""Convex quadratic programs as data sets: those in files, and published sets.

For each problem of a set, NAME.csv next to this module lists a file in a public copy of it and its Git
SHA-1. The sets: Maros & Mészáros 1999, "A repository of convex quadratic programming problems"; those
for model predictive control and of the community in Caron et al., qpbenchmark; and the linear programs
of Netlib (Gay 1985), in COIN-OR's copy.

Of the 138 problems of Maros & Mészáros only five large ones use the MATLAB file: the others' MATLAB
files have costs and sides computed from the original decimals, so that dependent equations no longer
agree exactly.
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
from dualgap.problems.registry import unknown
from dualgap.problems.validation import check_choice


@dataclass(frozen=True, kw_only=True)
class QuadraticProgram(Loadable):
    """A convex QP in a file, for the formulation convex_qp.

    Parameters
    ----------
    path : a .npz, .mat, .qps or .mps file, or one of the last two as .gz, see `read_qp`.
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
class _Catalogued(Loadable):
    """Base class of the problems of published sets, for the formulation convex_qp."""

    task: ClassVar[Literal["program"]] = "program"
    kind: ClassVar[str] = "published"
    size: ClassVar[str] = "2 to 93,263 variables"

    catalogue: ClassVar[str]
    problem: str

    def __post_init__(self) -> None:
        super().__post_init__()
        accepted = ("free_for_all", "maros_meszaros", "mpc", "netlib")
        check_choice(self.catalogue, "catalogue", accepted)
        if self.problem not in (problems := _catalogue(self.catalogue)):
            raise ValueError(
                f"problem: {unknown(f'{self.catalogue} problem', self.problem, problems)}"
            )

    def load(self) -> WholeProblem:
        """Read the file.

        Raises
        ------
        OSError
            If there is no local file and it cannot be downloaded.
        ValueError
            If its checksum is not that of the catalogue.
        """
        file, checksum = _catalogue(self.catalogue)[self.problem]
        folders = [root / self.catalogue for root in (data_folder(), cache_folder()) if root]
        path = next((root / file for root in folders if (root / file).is_file()), None)
        if path is None:
            read = partial(_read_verified, checksum=checksum)
            try:
                return download(_copy_of(self.catalogue, file), folders[-1] / file, read)
            except OSError as error:
                raise OSError(
                    f"{error}; put the file {file} into the folder {folders[0]}"
                ) from error
        return _read_verified(path, checksum)


@dataclass(frozen=True, kw_only=True)
class MarosMeszaros(_Catalogued):
    """One of the 138 problems of Maros & Mészáros, for the formulation convex_qp.

    The folder maros_meszaros of DUALGAP_DATA is searched, then that of the cache; else it is downloaded.

    Parameters
    ----------
    problem : its name, such as AUG2D.
    """

    origin: ClassVar[str] = "Maros & Mészáros 1999"
    catalogue: ClassVar[str] = "maros_meszaros"


@dataclass(frozen=True, kw_only=True)
class PublishedQP(_Catalogued):
    """A problem of a published set of QPs or of LPs, for the formulation convex_qp.

    The folder of that name of DUALGAP_DATA is searched, then that of the cache; else it is downloaded.

    Parameters
    ----------
    catalogue : mpc (model predictive control) or free_for_all (the community's), sets of qpbenchmark;
        netlib, linear programs; or maros_meszaros.
    problem : its name, such as LIPMWALK0 in mpc.
    """

    origin: ClassVar[str] = "Caron et al., qpbenchmark; Gay 1985, Netlib; Maros & Mészáros 1999"

    catalogue: str


def _copy_of(catalogue: str, file: str) -> str:
    """Return the address of a copy of a file of a catalogue."""
    commits = {
        "free_for_all": "ae2db9050cd29575dad999c20e5458091c203ab0",
        "maros_meszaros": "0cae37f473c2fd0a762e537a61bd4db5b31ff00c",
        "mpc": "1548e6b364074fcb708bc400189bfe76bf00442a",
    }
    if catalogue == "netlib":
        folder = "coin-or-tools/Data-Netlib/f1cc423067407d55d579c9c35fb01edf860dbc24"
    elif file.endswith(".QPS"):
        folder = "YimingYAN/QP-Test-Problems/871cc300154cfb438acc20f52b2c585db3f11e31/QPS_Files"
    else:
        folder = f"qpsolvers/{catalogue}_qpbenchmark/{commits[catalogue]}/data"
    return f"https://raw.githubusercontent.com/{folder}/{file}"


@cache
def _catalogue(name: str) -> dict[str, tuple[str, str]]:
    """Return the file and the checksum of each problem in a set."""
    with Path(__file__).with_name(f"{name}.csv").open(encoding="utf-8", newline="") as table:
        _, *rows = csv.reader(table)
    return {file.partition(".")[0]: (file, checksum) for file, checksum in rows}


def _read_verified(path: Path, checksum: str) -> WholeProblem:
    content = path.read_bytes()
    actual = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if actual != checksum:
        raise ValueError(
            f"{path}: expected a file with the checksum {checksum}, found {actual}; this is not the "
            "published content; quadratic_program loads a file as it is"
        )
    return WholeProblem(read_qp(path))
