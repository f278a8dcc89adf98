"""Snap ML's support vector machine: parallel stochastic coordinate ascent in the dual.

    min ½‖w‖² + C Σᵢ max(0, 1 − yᵢ wᵀxᵢ)

Dünner et al. 2018, "Snap ML: a hierarchical framework for machine learning". Its `regularizer` is the
weight of ½‖w‖² relative to the plain sum of losses: 1/C.
"""

import ctypes
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.dataset import Matrix
from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.validation import check_integer
from dualgap.solvers.base import import_optional
from dualgap.solvers.external.linear import ONE_C_HINGE, LinearBaseline


@dataclass(frozen=True)
class SnapML(LinearBaseline):
    """Snap ML's linear support vector machine on the CPU. It returns only w.

    It has a single precision: it rounds samples of any type to float32, and its weights are float64.
    Samples are therefore passed as float32, which it does not copy if they are dense.

    Attributes
    ----------
    tol : change of the weights in an epoch below which it stops; as this says nothing about the distance
        to the optimum, it makes no claim.
    max_iter : epochs after which it stops.
    threads : number of threads; its asynchronous steps depend on it.
    """

    tol: float | None = None
    max_iter: int = 10_000
    threads: int = 1

    needs: ClassVar = ONE_C_HINGE
    source: ClassVar[str] = "Dünner et al. 2018"
    copies_samples: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.threads, "threads")

    def prepare(self, form: ERM) -> tuple[ERM, Matrix, Any]:
        """Import Snap ML; return the form, Snap ML's samples and its estimator.

        As it was built with -ffast-math, loading it makes the processor flush subnormal numbers to 0 in
        the whole process, which is undone.
        """
        with warnings.catch_warnings():
            # it uses NumPy's private API to detect CPU features
            warnings.simplefilter("ignore")
            library = import_optional("snapml", "Snap ML", "snapml")
        if sys.platform == "linux":
            default_environment = ctypes.c_void_p(-1)  # C's FE_DFL_ENV
            ctypes.CDLL(None).fesetenv(default_environment)
        estimator = library.SupportVectorMachine(
            loss="hinge",
            regularizer=1.0 / float(form.C[0]),
            tol=self.tolerance,
            max_iter=int(self.max_iter),
            n_jobs=int(self.threads),
            fit_intercept=False,
            generate_training_history="summary",  # the only source of the number of epochs
        )
        X = form.gram.X.astype(np.float32)
        samples = scipy.sparse.csr_matrix(X) if scipy.sparse.issparse(X) else X  # no csr_array
        return form, samples, estimator

    def iterates(self, state: tuple[ERM, Matrix, Any]) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        form, samples, estimator = state
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.fit(samples, form.y)
        yield FormPoint(
            np.array(estimator.coef_, dtype=np.float64).ravel(),
            b=0.0,
            iterations=int(estimator.training_history_[0]["epochs"]),
            claim="stopped",
        )
