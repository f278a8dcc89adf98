"""LIBLINEAR through scikit-learn: dual coordinate descent for linear machines without intercept.

    min ½‖w‖² + Σᵢ Cᵢ·loss(yᵢ, wᵀxᵢ)

One step takes αᵢ to clip(αᵢ − ∇ᵢ/xᵢᵀxᵢ, 0, Cᵢ) and keeps w = Σ yᵢαᵢxᵢ; an epoch is a random
permutation of the samples, with shrinking: Hsieh et al. 2008, "A dual coordinate descent method for
large-scale linear SVM", algorithm 3; for the epsilon-insensitive loss Ho & Lin 2012, algorithm 4.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from problems.forms import ERM, FormPoint
from problems.losses import EpsilonInsensitive, Hinge
from solvers.base import Solver


@dataclass(frozen=True)
class LibLinear(Solver):
    """LIBLINEAR's dual solvers for the hinge and the epsilon-insensitive loss.

    scikit-learn passes on w alone, no dual variables: the certificate recovers some from w.

    Attributes
    ----------
    tol : for the hinge, the largest violation in the dual, maxᵢ PGᵢ − minᵢ PGᵢ; for the
        epsilon-insensitive loss, the sum of violations relative to that at the start.
    max_iter : epochs after which it stops without a claim.
    seed : of the permutations.
    """

    tol: float = 1e-4
    max_iter: int = 100_000
    seed: int = 0

    form: ClassVar = ERM
    warm_up_sizes: ClassVar = (32,)
    source: ClassVar[str] = "Hsieh et al. 2008; Ho & Lin 2012; Fan et al. 2008"
    name: ClassVar[str] = "liblinear"
    single_threaded: ClassVar[bool] = True
    needs: ClassVar = (("sklearn.svm", "scikit-learn"),)

    def refuses(self, form: ERM) -> str | None:
        """LIBLINEAR has no kernels, no unregularised intercept, and needs two classes."""
        if not form.gram.is_linear:
            return "LIBLINEAR has no kernels: it solves linear machines only"
        if form.intercept:
            return "LIBLINEAR regularises its intercept, which is another problem"
        if not isinstance(form.loss, (Hinge, EpsilonInsensitive)):
            return f"LIBLINEAR is run with hinge and epsilon-insensitive losses, not {form.loss!r}"
        if not isinstance(form.loss, EpsilonInsensitive) and np.unique(form.y).size < 2:
            return "LIBLINEAR needs samples of both classes"
        return None

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        estimator = self._estimator(form)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator.fit(form.gram.X, form.y, sample_weight=form.C)
        at_limit = any(w.category.__name__ == "ConvergenceWarning" for w in caught)
        yield FormPoint(
            np.ravel(estimator.coef_),
            b=0.0,
            iterations=int(np.max(estimator.n_iter_)),
            claim="stopped" if at_limit else "optimal",
        )

    def _estimator(self, form: ERM) -> Any:
        """Return LinearSVC or LinearSVR with C = 1: each Cᵢ is the weight of its sample."""
        svm = importlib.import_module("sklearn.svm")
        settings: dict[str, Any] = {
            "C": 1.0,
            "dual": True,
            "fit_intercept": False,
            "tol": self.tol,
            "max_iter": int(self.max_iter),
            "random_state": int(self.seed),
        }
        if isinstance(form.loss, EpsilonInsensitive):
            epsilon = form.loss.epsilon
            return svm.LinearSVR(loss="epsilon_insensitive", epsilon=epsilon, **settings)
        return svm.LinearSVC(loss="hinge", **settings)
