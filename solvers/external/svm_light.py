"""SVMlight: decomposition into small QPs, chosen by steepest feasible descent, with shrinking.

    min ½xᵀQx + pᵀx  s.t. aᵀx = 0 (or none), 0 ≤ x ≤ ub

Joachims 1999, "Making large-scale SVM learning practical". It is a program, `svm_learn`, published as
source at svmlight.joachims.org; the package of that name for Python does not load in Python 3.
The problem goes there and back in text files.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import scipy

from problems.dataset import Matrix, Vector
from problems.forms import FormPoint
from problems.formulations.formulation import Formulation
from problems.kernels import RBF, Linear, Polynomial
from solvers.base import NotInstalled, Solver
from solvers.external.duals import Dual, dual_of, refuse_other_duals

_DIGITS = ".9g"  # of features, which SVMlight keeps in single precision


@dataclass(frozen=True)
class SVMLight(Solver):
    """SVMlight's program `svm_learn`, for classification and regression, with or without intercept.

    Writing and reading the files counts as solving. Features are rounded to single precision, so
    its answer is that of a problem nearby. There is no limit on its iterations.

    Attributes
    ----------
    tol : its option -e, by how much a sample may violate its optimality condition.
    cache_size : its option -m, megabytes for kernel values.
    """

    tol: float = 1e-3
    cache_size: float = 1000.0

    form: ClassVar = Formulation
    source: ClassVar[str] = "Joachims 1999"
    name: ClassVar[str] = "svm_light"
    single_threaded: ClassVar[bool] = True

    def refuses(self, problem: Formulation) -> str | None:
        """What LIBSVM cannot do, but for a missing intercept; and no kernel but three."""
        if not isinstance(problem.kernel, (Linear, RBF, Polynomial)):
            return "SVMlight gets linear, RBF and polynomial kernels only: a sigmoid can hang it"
        return refuse_other_duals(problem, "SVMlight", ("SVC", "SVR"), intercept=False)

    def prepare(self, problem: Formulation) -> Formulation:
        """Check that the program is there."""
        if shutil.which("svm_learn") is None:
            raise NotInstalled(
                "SVMlight needs its program svm_learn on PATH, and no package brings it: "
                "build it from the source at https://svmlight.joachims.org"
            )
        return problem

    def iterates(self, problem: Formulation) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        dual, n = dual_of(problem), problem.n
        assert dual is not None
        with TemporaryDirectory(prefix="svm_light_") as folder:
            samples, alphas = Path(folder) / "samples", Path(folder) / "alphas"
            _write(samples, problem.X, problem.y, problem.weight)
            printed = _run([*self._options(dual), "-a", alphas, samples, "model"], folder)
            values = np.loadtxt(alphas, ndmin=1)
        made = re.search(r"\((\d+) iterations\)", printed)
        if dual.estimator == "SVR":  # −α* stands in reverse
            values = values[:n] + values[n:][::-1]
        yield FormPoint(
            dual.alpha(values),
            iterations=int(made[1]) if made else 0,
            claim="stopped" if "slow progress" in printed else "optimal",
        )

    def _options(self, dual: Dual) -> list[Any]:
        C, regression = dual.problem.weight, dual.estimator == "SVR"
        return [
            *("-z", "r" if regression else "c", "-w", repr(dual.settings.get("epsilon", 0.0))),
            *("-c", repr(float(C[0] if np.ptp(C) == 0 else 1.0))),
            *("-b", int(dual.problem.intercept)),
            *("-e", self.tol, "-m", max(5, int(self.cache_size))),
            *_kernel_options(dual.problem.kernel),
        ]


def _kernel_options(kernel: Any) -> list[Any]:
    match kernel:
        case Linear():
            return ["-t", 0]
        case Polynomial(degree, gamma, coef0):
            return ["-t", 1, "-d", int(degree), "-s", gamma, "-r", coef0]
        case _:
            return ["-t", 2, "-g", kernel.gamma]


def _write(path: Path, X: Matrix, targets: Vector, C: Vector) -> None:
    """Write a line `target [cost:C] 1:value 2:value ...` for each sample."""
    rows = scipy.sparse.csr_array(X)
    costs = [""] * C.size if np.ptp(C) == 0 else [f" cost:{c:.17g}" for c in C]
    with path.open("w", encoding="ascii") as file:
        for i, (target, cost) in enumerate(zip(targets, costs, strict=True)):
            entries = slice(rows.indptr[i], rows.indptr[i + 1])
            pairs = sorted(zip(rows.indices[entries], rows.data[entries], strict=True))
            features = "".join(f" {j + 1}:{value:{_DIGITS}}" for j, value in pairs)
            file.write(f"{target:.17g}{cost}{features}\n")


def _run(arguments: list[Any], folder: str) -> str:
    """Run `svm_learn` and return what it printed; RuntimeError if it failed."""
    done = subprocess.run(
        ["svm_learn", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"svm_learn ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-300:]}"
        )
    return done.stdout
