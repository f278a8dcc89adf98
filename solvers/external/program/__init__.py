"""Any executable as a solver: it reads a problem from one file, and writes its answer to another.

The command is a list of arguments, and never passes through a shell. Its `{placeholders}` are file
names, the problem's parameters and the solver's settings. A program's statement about its answer is a
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

from dualgap.problems import FORMULATIONS, Problem, SampleProblem
from dualgap.problems.exchange.answers import read_answer, significant_digits
from dualgap.problems.exchange.samples import WRITERS, refusal, write
from dualgap.problems.forms import FormPoint
from dualgap.problems.kernels import KERNELS, Precomputed
from dualgap.problems.registry import unknown
from dualgap.problems.validation import check_choice, check_positive
from dualgap.solvers.base import NotInstalled, Solver
from dualgap.solvers.external.program.child import Child, remove

_SUFFIXES = {  # file name extension of each format
    **{"libsvm_model": ".model", "liblinear_model": ".model"},
    **{"csv": ".csv", "npz": ".npz", "mat": ".mat"},
}
_RESERVED = ("samples", "answer", "folder", "tol", "seed", "threads", "n", "d", "intercept")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


@dataclass(frozen=True)
class Program(Solver):
    """Any program that reads a problem from a file and writes its answer to another.

    Its time is that of the whole process, including start, reading and writing. The time for two samples
    is measured too (`time_startup`); the time that it reports itself is recorded (`time_reported`), but
    not used for ranking. It runs in an empty temporary folder, which is removed with all that it wrote.

    Attributes
    ----------
    command : the program and its arguments, as one line. `{samples}` and `{answer}` are files, `{C}`,
        `{kernel.gamma}` and so on the problem's parameters, `{intercept}` is 1 or 0, `{folder}` the
        folder below; `{{` is a brace.
    samples : format that it reads: libsvm, npz, csv, mat, qp (npz), qp_mat, qps; the last three are for
        convex QPs.
    answer : format that it writes: libsvm_model, liblinear_model, csv, npz, mat.
    takes : supported values of formulation, kernel or intercept; by default all.
    claims : regular expression; if its output matches, it claims its answer to be optimal.
    time : regular expression with one group, the time that it reports, in seconds.
    version : command that prints its version.
    folder : folder of its scripts, relative to the experiment file.
    tol : value of `{tol}`. seed : value of `{seed}`.
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

    form: ClassVar = Problem
    source: ClassVar[str] = "the program's own"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.samples, "samples", [*WRITERS])
        check_choice(self.answer, "answer", [*_SUFFIXES])
        check_positive(self.disk_limit, "disk_limit")
        placeholders = [*_RESERVED, *_parameters(FORMULATIONS)]
        placeholders += [f"kernel.{name}" for name in _parameters(KERNELS)]
        for setting in ("command", "version"):
            text = getattr(self, setting)
            try:
                parts = shlex.split(text) if text is not None else ["none"]
            except ValueError as error:
                raise ValueError(f"{setting}: {error}, got {text!r}") from None
            if not parts:
                raise ValueError(f"{setting}: must name a program, got {text!r}")
            for name in _placeholders(text or ""):
                if name not in placeholders:
                    raise ValueError(f"{setting}: {unknown('placeholder', name, placeholders)}")
        for setting in ("claims", "time"):
            try:
                groups = re.compile(getattr(self, setting) or "").groups
            except re.error as error:
                raise ValueError(f"{setting}: must be a regular expression: {error}") from None
            if setting == "time" and self.time is not None and groups != 1:
                raise ValueError(
                    f"time: must have one group (...) around the seconds, got {self.time!r}"
                )
        if self.tol is not None and "tol" not in _placeholders(self.command):
            raise ValueError("tol: is not used; write {tol} into the command")
        conditions = ("formulation", "kernel", "intercept")
        for name in self.takes:
            if name not in conditions:
                raise ValueError(f"takes: {unknown('part of a problem', name, conditions)}")

    def aimed_at(self, target_gap: float, bounded: bool = True) -> Self:
        """Return the program with its tolerance set, if its command has {tol}."""
        takes = "tol" in _placeholders(self.command)
        return super().aimed_at(target_gap, bounded) if takes else self

    def refuses(self, problem: Problem) -> str | None:
        """Return why the problem is unsupported, or None."""
        if why := refusal(problem, self.samples):
            return why
        values: dict[str, str | bool] = {"formulation": problem.name}
        if isinstance(problem, SampleProblem):
            has_intercept = getattr(problem, "intercept", False)
            values |= {"intercept": has_intercept, "kernel": problem.kernel.name}
        for name, accepted in self.takes.items():
            if values.get(name) not in accepted:
                listed = ", ".join(map(str, accepted)) or "nothing"
                return f"its entry takes {name} {listed} only, not {values.get(name)}"
        for name in _placeholders(self.command):
            if name not in _RESERVED and _value(problem, name) is None:
                return f"its command has {{{name}}}, which has no single value for this problem"
        return None

    def prepare(self, problem: Problem) -> "Run":
        """Write the samples, find the program and its version, and time it on two samples.

        Raises
        ------
        NotInstalled
            If the program is not found. Unsupported, MemoryError: as the format's writer.
        """
        run = Run(self, problem)
        if self.version and (result := run.run_untimed(run.command_line(self.version))):
            lines = [line.strip() for line in result.printed.splitlines() if line.strip()]
            run.version = lines[0][:80] if lines else ""
        with suppress(ValueError):  # two samples may not be a valid problem, as for nu-SVC
            sample_run = Run(self, _first_samples(problem))
            result = sample_run.run_untimed(sample_run.command_line(self.command))
            run.startup_time = result.seconds if result and result.code == 0 else nan
            sample_run.close()
        return run

    def iterates(self, run: "Run") -> Iterator[FormPoint]:
        """Yield empty points while the program runs; RuntimeError if it writes too much."""
        run.child = Child(run.command_line(self.command), run.folder, self.disk_limit)
        try:
            while not run.child.wait_for_end():
                yield FormPoint(None)
        except BaseException:  # its answer is no longer needed
            run.close()
            raise
        run.finished = True

    def finish(self, run: "Run", point: FormPoint) -> FormPoint:
        """Return the answer that the program wrote.

        Raises
        ------
        RuntimeError, ValueError
            If it failed, or wrote no valid answer.
        """
        try:
            # else stopped by a limit
            return run.read(run.child) if run.child and run.finished else point
        finally:
            run.close()


class Run:
    """A run of a program on a problem, in a temporary folder.

    Attributes
    ----------
    child : the process, once started. finished : whether it ended by itself.
    startup_time : seconds for two samples. version : first line printed by its version command.
    """

    def __init__(self, solver: Program, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        self.folder = Path(mkdtemp(prefix="dualgap_"))
        self._remove = weakref.finalize(self, remove, self.folder)
        self.samples = self.folder / f"samples{WRITERS[solver.samples][0]}"
        self.answer = self.folder / f"answer{_SUFFIXES[solver.answer]}"
        self.child: Child | None = None
        self.finished, self.startup_time, self.version = False, nan, ""
        write(problem, solver.samples, self.samples)

    def close(self) -> None:
        """Kill the program, and remove all that it wrote."""
        if self.child is not None:
            self.child.end()
        self._remove()

    def command_line(self, command: str) -> list[str]:
        """Return a command as a list of arguments; NotInstalled if the program is not found."""
        solver, problem = self.solver, self.problem
        values = {
            "samples": self.samples,
            "answer": self.answer,
            "folder": Path(solver.folder).absolute(),
            "tol": solver.tolerance,
            "seed": solver.seed,
            "threads": os.environ.get("OMP_NUM_THREADS", os.cpu_count()),
            "n": problem.n,
            "d": problem.d,
            "intercept": int(getattr(problem, "intercept", False)),
        }

        def fill(match: re.Match[str]) -> str:
            name = match[1]
            if name is None:
                return match[0][0]
            return str(values[name] if name in values else _value(problem, name))

        executable, *arguments = (_PLACEHOLDER.sub(fill, word) for word in shlex.split(command))
        path = shutil.which(executable)
        if path is None:
            raise NotInstalled(f"executable {executable} not found: install it or give its path")
        return [os.path.abspath(path), *arguments]

    def run_untimed(self, command_line: Sequence[str]) -> Child | None:
        """Run a command untimed; return its process, or None if it took too long or wrote too much."""
        child = Child(command_line, self.folder, self.solver.disk_limit)
        # for its version command, and for a run on two samples
        deadline = perf_counter() + 5.0
        try:
            while not (finished := child.wait_for_end()) and perf_counter() < deadline:
                pass
            return child if finished else None
        except RuntimeError:
            return None
        finally:
            child.end()

    def read(self, child: Child) -> FormPoint:
        """Return the answer of a finished program; errors as for `Program.finish`."""
        child.end()
        child.check_written()
        if code := child.code:
            ending = f"ended with exit code {code}"
            if code < 0:
                names = {s.value: s.name for s in signal.Signals}
                ending = f"was killed by {names.get(-code, f'signal {-code}')}"
                too_large = names.get(-code) == "SIGXFSZ"
                ending += ", as it wrote a file larger than its disk_limit" if too_large else ""
            tail = child.printed.strip()[-300:]
            raise RuntimeError(f"the program {ending}; its last output: {tail!r}")
        solver, name = self.solver, self.answer.name
        if not self.answer.exists():
            raise RuntimeError(
                f"the program wrote no answer: expected {solver.answer} in {{answer}}"
            )
        try:
            point = read_answer(self.answer, self.problem)
            digits = 0 if solver.answer in ("npz", "mat") else significant_digits(self.answer)
        except (ValueError, OSError) as error:
            message = str(error).replace(str(self.answer), name)
            raise RuntimeError(f"its answer cannot be read as {solver.answer}: {message}") from None
        match = re.search(solver.time, child.printed) if solver.time else None
        seconds = match[1] or "" if match else ""
        is_number = re.fullmatch(r"[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?", seconds)
        reported = float(seconds) if is_number else nan
        counters = {"time_startup": self.startup_time, "time_reported": reported}
        is_short = 4 < digits < 15  # 15 determine a double; numbers with 4 digits may be exact
        is_claimed = solver.claims and re.search(solver.claims, child.printed)
        return replace(
            point.as_form_point,
            claim="optimal" if is_claimed else "stopped",
            counters={name: value for name, value in counters.items() if isfinite(value)},
            note=f"its answer has only {digits} of the 17 digits of a double" if is_short else "",
            version=self.version,
        )


def _placeholders(command: str) -> list[str]:
    return [match[1] for match in _PLACEHOLDER.finditer(command) if match[1] is not None]


def _parameters(classes: Mapping[str, type[Any]]) -> set[str]:
    """Return the fields of dataclasses that may be numbers."""
    not_numbers = {"X", "y", "kernel", "loss", "groups", "left", "right", "intercept"}
    return {field_.name for cls in classes.values() for field_ in fields(cls)} - not_numbers


def _value(problem: Problem, name: str) -> float | int | None:
    """Return a parameter of a problem or its kernel; None if missing or not the same for all samples."""
    kernel, _, parameter = name.rpartition(".")
    owner = getattr(problem, "kernel", None) if kernel else problem
    values = np.asarray(getattr(owner, parameter, None))
    if values.dtype.kind not in "biuf" or values.size == 0 or np.ptp(values) > 0:
        return None
    return values.flat[0].item()


def _first_samples(problem: Problem) -> Problem:
    """Return the problem on two samples, with different labels if possible; a QP in one variable."""
    if not isinstance(problem, SampleProblem):
        return problem.from_data(*problem.example_data({}))
    rows = np.array([int(np.argmin(problem.y)), int(np.argmax(problem.y))])
    X = problem.X[rows]
    X = X[:, rows] if isinstance(problem.kernel, Precomputed) else X
    values: dict[str, Any] = {"X": X, "y": problem.y[rows]}
    C = getattr(problem, "C", None)
    return replace(problem, **values | ({"C": C[rows]} if isinstance(C, np.ndarray) else {}))
