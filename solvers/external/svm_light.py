"""SVMlight: decomposition into small QPs, chosen by steepest feasible descent, with shrinking.

    min ½xᵀQx + pᵀx  s.t. aᵀx = 0 (or none), 0 ≤ x ≤ ub

Joachims 1999, "Making large-scale SVM learning practical". It is a program, `svm_learn`, published as
source at svmlight.joachims.org; the package of that name for Python does not load in Python 3.
The problem goes there and back in text files.
"""

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

from problems.forms import FormPoint
from problems.formulations.formulation import Formulation
from problems.kernels import RBF, Linear, Polynomial
from solvers.base import NotInstalled
from solvers.external.duals import DualBaseline, dual_of

_DIGITS = ".9g"  # of features, which SVMlight keeps in single precision


@dataclass(frozen=True)
class SVMLight(DualBaseline):
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

    duals: ClassVar = ("SVC", "SVR")
    kernels: ClassVar = (Linear, RBF, Polynomial)  # a sigmoid can hang it
    needs_intercept: ClassVar[bool] = False
    warm_up_sizes: ClassVar = ()
    source: ClassVar[str] = "Joachims 1999"
    name: ClassVar[str] = "svm_light"
    single_threaded: ClassVar[bool] = True

    def prepare(self, problem: Formulation) -> Formulation:
        """Check that the program is there."""
        if shutil.which("svm_learn") is None:
            raise NotInstalled(
                "SVMlight needs its program svm_learn on PATH, and no package brings it: "
                "build it from the source at https://svmlight.joachims.org"
            )
        return problem

    def iterates(self, problem: Formulation) -> Iterator[FormPoint]:
        """Yield once, at the end; RuntimeError if the program failed."""
        dual, n, C = dual_of(problem), problem.n, problem.weight
        regression, one_weight = dual.estimator == "SVR", np.ptp(C) == 0
        options: dict[str, Any] = {
            "-z": "r" if regression else "c",
            "-w": dual.settings.get("epsilon", 0.0),
            "-c": float(C[0]) if one_weight else 1.0,
            "-b": int(problem.intercept),
            "-e": self.tol,
            "-m": max(5, int(self.cache_size)),
            "-a": "alphas",
        }
        match problem.kernel:
            case RBF(gamma):
                options |= {"-t": 2, "-g": gamma}
            case Polynomial(degree, gamma, coef0):
                options |= {"-t": 1, "-d": int(degree), "-s": gamma, "-r": coef0}
            case _:
                options["-t"] = 0
        words = [str(word) for option in options.items() for word in option]
        with TemporaryDirectory(prefix="svm_light_") as folder:
            rows = scipy.sparse.csr_array(problem.X)
            with (Path(folder) / "samples").open("w", encoding="ascii") as file:
                for target, c, start, end in zip(
                    problem.y, C, rows.indptr[:-1], rows.indptr[1:], strict=True
                ):
                    entries = zip(rows.indices[start:end], rows.data[start:end], strict=True)
                    cost = "" if one_weight else f" cost:{c:.17g}"
                    features = "".join(f" {j + 1}:{value:{_DIGITS}}" for j, value in entries)
                    file.write(f"{target:.17g}{cost}{features}\n")
            done = subprocess.run(
                ["svm_learn", *words, "samples", "model"],
                cwd=folder,
                capture_output=True,
                check=False,
                encoding="utf-8",
                errors="replace",
            )
            if done.returncode != 0:
                said = (done.stdout + done.stderr).strip()[-300:]
                raise RuntimeError(f"svm_learn ended with {done.returncode}: {said}")
            values = np.loadtxt(Path(folder) / "alphas", ndmin=1)
        made = re.search(r"\((\d+) iterations\)", done.stdout)
        if regression:  # −α* stands in reverse
            values = values[:n] + values[n:][::-1]
        yield FormPoint(
            dual.alpha(values),
            iterations=int(made[1]) if made else 0,
            claim="stopped" if "slow progress" in done.stdout else "optimal",
        )
