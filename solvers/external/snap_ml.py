"""Snap ML's support vector machine: parallel stochastic coordinate ascent in the dual.

    min ½‖w‖² + C Σᵢ max(0, 1 − yᵢ wᵀxᵢ)

Dünner et al. 2018, "Snap ML: a hierarchical framework for machine learning". Its `regularizer` is the
weight of ½‖w‖² beside the plain sum of losses: 1/C.
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
from dualgap.problems.losses import Hinge
from dualgap.problems.validation import check_whole
from dualgap.solvers.base import import_optional
from dualgap.solvers.external.linear import LinearBaseline


@dataclass(frozen=True)
class SnapML(LinearBaseline):
    """Snap ML's linear support vector machine on the CPU. It passes on w alone.

    It has one precision: whatever the samples are, it rounds them to float32, and its weights are
    float64. So it is given float32, of which it does not copy what is dense.

    Attributes
    ----------
    tol : it ends when the weights change by less than this in an epoch, which says nothing of the
        distance to the optimum: it makes no claim.
    max_iter : epochs after which it stops.
    threads : how many it uses; its asynchronous steps depend on their number.
    """

    tol: float | None = None
    max_iter: int = 10_000
    threads: int = 1

    losses: ClassVar = (Hinge,)
    one_weight: ClassVar[bool] = True
    source: ClassVar[str] = "Dünner et al. 2018"
    copies_samples: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self.threads, "threads")

    def prepare(self, form: ERM) -> tuple[ERM, Matrix, Any]:
        """Import Snap ML; return a form, and its samples and the estimator as Snap ML has them.

        Built with -ffast-math, it makes the processor flush subnormal numbers to 0, for everyone.
        """
        with warnings.catch_warnings():
            # it reads the processor's features from numpy's insides
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
            generate_training_history="summary",  # nothing else states the number of epochs
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
