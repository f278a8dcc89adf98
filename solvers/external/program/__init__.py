"""Any executable as a solver: it is given a problem in a file, and leaves an answer in another.

The command is a list of arguments, and never goes through a shell. Its `{placeholders}` are names of
files, the problem's parameters and the solver's own settings. What a program says of its answer is a
claim like any solver's: the certificate judges the answer.
"""

import os
import re
import shlex
import shutil
import signal
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from math import isfinite, nan
from pathlib import Path
from tempfile import mkdtemp
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np

from dualgap.problems import FORMULATIONS
from dualgap.problems.exchange.answers import read_answer, significant_digits
from dualgap.problems.exchange.samples import WRITERS, refusal, write
from dualgap.problems.forms import AsPosed, FormPoint
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.kernels import KERNELS, Precomputed
from dualgap.problems.registry import unknown
from dualgap.problems.validation import check_choice, check_positive
from dualgap.solvers.base import NotInstalled, Solver
from dualgap.solvers.external.program.child import Child, remove

_ANSWERS = {  # the ending of each format's files
    **{"libsvm_model": ".model", "liblinear_model": ".model"},
    **{"csv": ".csv", "npz": ".npz", "mat": ".mat", "skops": ".skops"},
}
_OWN = ("samples", "answer", "folder", "tol", "seed", "threads", "n", "d", "intercept")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_TOLD = ("formulation", "kernel", "intercept")  # what `takes` may be about
_BINARY = ("npz", "mat", "skops")
_NO_NUMBERS = {"X", "y", "kernel", "loss", "groups", "left", "right", "intercept"}
_NUMBER = r"[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?"
_POLL = 0.1  # seconds between two looks at what it writes
_LONGEST_UNTIMED = 5.0  # seconds that its version, and two samples, may take
_LONGEST_VERSION, _LAST_WORDS = 80, 300  # characters
_DOUBLE = 15  # digits, below which a text does not have a double
_SHORT = 4  # digits, up to which a number may be exact


@dataclass(frozen=True)
class Program(Solver):
    """Any program that reads a problem from a file and writes its answer to another.

    Its time is that of the whole process: starting, reading and writing count. What two samples take is
    measured beside it (`time_empty`); what it prints as its own time is recorded (`time_own`), and ranks
    nothing. It runs in an empty folder of its own, which is removed with all that it wrote.

    Attributes
    ----------
    command : the program and its arguments, as one line. `{samples}` and `{answer}` are files, `{C}`,
        `{kernel.gamma}` and the like the problem's parameters, `{intercept}` is 1 or 0, `{folder}` the
        folder below; `{{` is a brace.
    samples : what it reads: libsvm, npz, csv, mat, qp (npz), qp_mat, qps; of a convex QP the last three.
    answer : what it writes: libsvm_model, liblinear_model, csv, npz, mat, skops.
    takes : the values of formulation, kernel or intercept that it is run on; all where it says nothing.
    claims : a regular expression; where what it prints matches, it claims its answer to be optimal.
    time : a regular expression whose group is its own time, in seconds.
    version : a command that prints its version.
    folder : where its scripts are, from the experiment file on.
    tol : what `{tol}` is. seed : what `{seed}` is.
    disk_limit : bytes that it may write.
    """

    command: str
    samples: str = "libsvm"
    answer: str = "libsvm_model"
    takes: dict[str, list[str | bool]] = field(default_factory=dict[str, list[str | bool]])
    claims: str | None = None
    time: str | None = None
    version: str | None = None
    folder: str = "."
    tol: float | None = None
    seed: int = 0
    disk_limit: float = 2.0**30

    form: ClassVar = AsPosed
    source: ClassVar[str] = "the program's own"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.samples, "samples", [*WRITERS])
        check_choice(self.answer, "answer", [*_ANSWERS])
        check_positive(self.disk_limit, "disk_limit")
        known = [*_OWN, *_parameters(FORMULATIONS)]
        known += [f"kernel.{name}" for name in _parameters(KERNELS)]
        for setting in ("command", "version"):
            text = getattr(self, setting)
            try:
                words = shlex.split(text) if text is not None else ["none"]
            except ValueError as error:
                raise ValueError(f"{setting}: {error}, got {text!r}") from None
            if not words:
                raise ValueError(f"{setting}: needs the name of a program, got {text!r}")
            for name in _placeholders(text or ""):
                if name not in known:
                    raise ValueError(f"{setting}: {unknown('placeholder', name, known)}")
        for setting in ("claims", "time"):
            try:
                groups = re.compile(getattr(self, setting) or "").groups
            except re.error as error:
                raise ValueError(f"{setting}: is no regular expression: {error}") from None
            if setting == "time" and self.time is not None and groups != 1:
                raise ValueError(
                    f"time: needs one group (...) around the seconds, got {self.time!r}"
                )
        if self.tol is not None and "tol" not in _placeholders(self.command):
            raise ValueError("tol: is used nowhere; write {tol} where the command takes it")
        for name in self.takes:
            if name not in _TOLD:
                raise ValueError(f"takes: {unknown('part of a problem', name, _TOLD)}")

    def aimed_at(self, target_gap: float, bounded: bool = True) -> Self:
        """Return the program with a tolerance, if its command takes one."""
        takes = "tol" in _placeholders(self.command)
        return super().aimed_at(target_gap, bounded) if takes else self

    def refuses(self, problem: Formulation) -> str | None:
        """What it does not take, and placeholders that the problem has no one value for."""
        if why := refusal(problem, self.samples):
            return why
        told: dict[str, str | bool] = {"formulation": problem.name, "intercept": problem.intercept}
        told["kernel"] = problem.kernel.name
        for name, accepted in self.takes.items():
            if told[name] not in accepted:
                listed = ", ".join(map(str, accepted)) or "nothing"
                return f"its entry takes {name} {listed} only, not {told[name]}"
        for name in _placeholders(self.command):
            if name not in _OWN and _value(problem, name) is None:
                return f"its command has {{{name}}}, of which this problem has no one value"
        return None

    def prepare(self, problem: Formulation) -> "Run":
        """Write the samples, find the program and its version, and measure two samples.

        Raises
        ------
        NotInstalled
            If the program is not there. Unsupported, MemoryError: as the format's writer.
        """
        run = Run(self, problem)
        if self.version is not None and (told := run.alone(run.words(self.version))):
            lines = [line.strip() for line in told.printed.splitlines() if line.strip()]
            run.version = lines[0][:_LONGEST_VERSION] if lines else ""
        with suppress(ValueError):  # two samples are no problem, of nu-SVC for one
            empty = Run(self, _first_samples(problem))
            told = empty.alone(empty.words(self.command))
            run.empty = told.seconds if told and told.code == 0 else nan
            empty.close()
        return run

    def iterates(self, run: "Run") -> Iterator[FormPoint]:
        """Yield nothing while the program runs; RuntimeError if it writes too much."""
        run.child = Child(run.words(self.command), run.folder, self.disk_limit)
        try:
            while not run.child.ended(_POLL):
                yield FormPoint(None)
        except BaseException:  # nobody asks for its answer any more
            run.close()
            raise
        run.has_ended = True

    def finish(self, run: "Run", point: FormPoint) -> FormPoint:
        """Return the answer that the program left.

        Raises
        ------
        RuntimeError, ValueError
            If it failed, or left no answer to this problem.
        """
        try:
            return run.read(run.child) if run.child and run.has_ended else point  # a limit ended it
        finally:
            run.close()


class Run:
    """A problem and a program, in a folder of their own.

    Attributes
    ----------
    child : the program that runs, or has run. has_ended : whether it has, by itself.
    empty : seconds that two samples take. version : the first line of what its version command prints.
    """

    def __init__(self, solver: Program, problem: Formulation) -> None:
        self.solver, self.problem = solver, problem
        self.folder = Path(mkdtemp(prefix="dualgap_"))
        self._remove = weakref.finalize(self, remove, self.folder)
        self.samples = self.folder / f"samples{WRITERS[solver.samples][0]}"
        self.answer = self.folder / f"answer{_ANSWERS[solver.answer]}"
        self.child: Child | None = None
        self.has_ended, self.empty, self.version = False, nan, ""
        write(problem, solver.samples, self.samples)

    def close(self) -> None:
        """End the program, and remove all that it wrote."""
        if self.child is not None:
            self.child.end()
        self._remove()

    def words(self, command: str) -> list[str]:
        """Return a command as arguments; NotInstalled if there is no such program."""
        solver, problem = self.solver, self.problem
        known = {
            "samples": self.samples,
            "answer": self.answer,
            "folder": Path(solver.folder).absolute(),
            "tol": solver.tolerance,
            "seed": solver.seed,
            "threads": os.environ.get("OMP_NUM_THREADS", os.cpu_count()),
            "n": problem.n,
            "d": problem.d,
            "intercept": int(problem.intercept),
        }

        def filled(found: re.Match[str]) -> str:
            name = found[1]
            if name is None:
                return found[0][0]
            return str(known[name] if name in known else _value(problem, name))

        program, *arguments = (_PLACEHOLDER.sub(filled, word) for word in shlex.split(command))
        path = shutil.which(program)
        if path is None:
            raise NotInstalled(
                f"there is no program {program} that may be executed: install it or give its path"
            )
        return [os.path.abspath(path), *arguments]

    def alone(self, words: Sequence[str]) -> Child | None:
        """Return what has run untimed, and has ended; None if it took too long or wrote too much."""
        child = Child(words, self.folder, self.solver.disk_limit)
        last = perf_counter() + _LONGEST_UNTIMED
        try:
            while not (has_ended := child.ended(_POLL)) and perf_counter() < last:
                pass
            return child if has_ended else None
        except RuntimeError:
            return None
        finally:
            child.end()

    def read(self, child: Child) -> FormPoint:
        """Return the answer of a program that has ended; errors as `Program.finish`."""
        child.end()
        child.check_written()
        if code := child.code:
            how = f"ended with exit code {code}"
            if code < 0:
                names = {each.value: each.name for each in signal.Signals}
                how = f"was killed by {names.get(-code, f'signal {-code}')}"
                too_large = code == -signal.SIGXFSZ
                how += ", as it wrote a file larger than its disk_limit" if too_large else ""
            words = child.printed.strip()[-_LAST_WORDS:]
            raise RuntimeError(f"the program {how}; its last words: {words!r}")
        solver, name = self.solver, self.answer.name
        if not self.answer.exists():
            raise RuntimeError(
                f"the program left no answer: expected {solver.answer} in {{answer}}"
            )
        try:
            point = read_answer(self.answer, self.problem)
            digits = 0 if solver.answer in _BINARY else significant_digits(self.answer)
        except (ValueError, OSError) as error:
            told = str(error).replace(str(self.answer), name)
            raise RuntimeError(f"its answer cannot be read as {solver.answer}: {told}") from None
        own = re.search(solver.time, child.printed) if solver.time else None
        own_seconds = float(own[1]) if own and re.fullmatch(_NUMBER, own[1] or "") else nan
        counters = {"time_empty": self.empty, "time_own": own_seconds}
        is_short = _SHORT < digits < _DOUBLE
        return FormPoint(
            point.alpha,
            b=point.b if isinstance(point.b, float) else None,
            claim="optimal"
            if solver.claims and re.search(solver.claims, child.printed)
            else "stopped",
            counters={name: value for name, value in counters.items() if isfinite(value)},
            note=f"its answer has {digits} of a double's 17 digits" if is_short else "",
            w=point.w,
            version=self.version,
        )


def _placeholders(command: str) -> list[str]:
    return [found[1] for found in _PLACEHOLDER.finditer(command) if found[1] is not None]


def _parameters(classes: Mapping[str, type[Any]]) -> set[str]:
    """Return the fields of some dataclasses that may be numbers."""
    return {each.name for cls in classes.values() for each in fields(cls)} - _NO_NUMBERS


def _value(problem: Formulation, name: str) -> float | int | None:
    """Return a parameter of a problem, or of its kernel; None if it has none, or not one for all."""
    kernel, _, parameter = name.rpartition(".")
    values = np.asarray(getattr(problem.kernel if kernel else problem, parameter, None))
    if values.dtype.kind not in "biuf" or values.size == 0 or np.ptp(values) > 0:
        return None
    return values.flat[0].item()


def _first_samples(problem: Formulation) -> Formulation:
    """Return the problem of two samples, of different labels if there are any; a QP of one variable."""
    if not problem.has_samples:
        return problem.from_data(*problem.example_samples({}))
    rows = np.array([int(np.argmin(problem.y)), int(np.argmax(problem.y))])
    X = problem.X[rows]
    X = X[:, rows] if isinstance(problem.kernel, Precomputed) else X
    values: dict[str, Any] = {"X": X, "y": problem.y[rows]}
    C = getattr(problem, "C", None)
    return replace(problem, **values | ({"C": C[rows]} if isinstance(C, np.ndarray) else {}))  # type: ignore[type-var]
