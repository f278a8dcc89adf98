"""oneDAL's support vector machines, through scikit-learn-intelex.

    min ½xᵀQx + pᵀx  s.t. aᵀx = 0, 0 ≤ x ≤ ub

The "thunder" method: a working set of the most violating variables, half of it kept from round to
round; SMO on its block until the block's violation has fallen enough; then the gradient is brought up
to date: Wen et al. 2018, "ThunderSVM: a fast SVM library on GPUs and CPUs". Problems are recognised
as for LIBSVM, whose interface it has.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from problems.dataset import Vector
from problems.forms import BoxQP, FormPoint
from problems.kernels import as_dense
from problems.validation import check_positive
from solvers.base import Solver, optional
from solvers.external.libsvm import LibSVM
from solvers.external.svm_form import (
    NATIVE_KERNELS,
    both_signs,
    is_classification,
    kernel_settings,
    regression_targets,
)

_UNCAPPED = 2**31 - 1  # of rounds; its own default of 10,000 cuts hard problems short


@dataclass(frozen=True)
class OneDAL(Solver):
    """oneDAL's solvers of C-SVC and epsilon-SVR, in double precision.

    It uses as many threads as OpenMP is allowed in this process.

    Attributes
    ----------
    tol : its stopping tolerance, the maximal violating pair. It also stops, and does not say so, when
        the violation stays as it is for some rounds.
    max_iter : its limit on rounds, each of a working set; None for none.
    cache_size : megabytes for kernel rows.
    """

    tol: float = 1e-3
    max_iter: int | None = None
    cache_size: float = 1000.0

    form: ClassVar = BoxQP
    source: ClassVar[str] = "Wen et al. 2018; oneDAL, svm_train_thunder"
    name: ClassVar[str] = "one_dal"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.cache_size, "cache_size")

    def refuses(self, form: BoxQP) -> str | None:
        """What LIBSVM cannot do, and kernels other than the four it computes itself."""
        if not isinstance(form.gram.kernel, NATIVE_KERNELS):
            return "oneDAL has linear, RBF, polynomial and sigmoid kernels only"
        refusal = LibSVM().refuses(form)
        return None if refusal is None else refusal.replace("LIBSVM", "oneDAL")

    def prepare(self, form: BoxQP) -> BoxQP:
        """Import scikit-learn-intelex, which leaves scikit-learn as it is."""
        optional("sklearnex.svm", "oneDAL", "scikit-learn-intelex")
        return form

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        estimator, targets, weights = self._estimator(form)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.fit(form.gram.X, targets, sample_weight=weights)
        if not hasattr(estimator, "_onedal_estimator"):
            raise RuntimeError("scikit-learn-intelex fell back on scikit-learn: oneDAL did not run")
        beta = np.zeros(form.gram.n)
        beta[estimator.support_] = as_dense(estimator.dual_coef_).ravel()
        rounds = int(np.sum(estimator.n_iter_))
        yield FormPoint(
            form.Q.sign * beta if is_classification(form) else both_signs(beta),
            iterations=rounds,
            claim="stopped" if rounds >= self._limit else "optimal",
        )

    @property
    def _limit(self) -> int:
        return _UNCAPPED if self.max_iter is None else int(self.max_iter)

    def _estimator(self, form: BoxQP) -> tuple[Any, Vector, Vector]:
        """Return SVC or SVR, its targets, and Cᵢ as the weights of samples with C = 1."""
        svm = importlib.import_module("sklearnex.svm")
        settings: dict[str, Any] = {
            "C": 1.0,
            "tol": self.tol,
            "cache_size": self.cache_size,
            "max_iter": self._limit,
            **kernel_settings(form.gram.kernel),
        }
        if is_classification(form):
            assert form.a is not None
            return svm.SVC(random_state=0, **settings), form.a, form.ub
        targets, epsilon = regression_targets(form)
        return svm.SVR(epsilon=epsilon, **settings), targets, form.ub[: form.gram.n]
