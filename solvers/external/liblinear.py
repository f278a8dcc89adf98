"""LIBLINEAR through scikit-learn: dual coordinate descent for linear machines without intercept.

    min ½‖w‖² + Σᵢ Cᵢ·loss(yᵢ, wᵀxᵢ)

One step sets αᵢ to clip(αᵢ − ∇ᵢ/xᵢᵀxᵢ, 0, Cᵢ) and updates w = Σ yᵢαᵢxᵢ; an epoch visits the samples in
random order, with shrinking: Hsieh et al. 2008, "A dual coordinate descent method for
large-scale linear SVM", algorithm 3; for the epsilon-insensitive loss Ho & Lin 2012, algorithm 4.
"""

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.losses import EpsilonInsensitive
from dualgap.solvers.external.linear import LinearBaseline


@dataclass(frozen=True)
class LibLinear(LinearBaseline):
    """LIBLINEAR's dual solvers for the hinge and the epsilon-insensitive loss.

    scikit-learn returns only w: the certificate recovers dual variables from it.

    Attributes
    ----------
    tol : for the hinge, the largest violation in the dual, maxᵢ PGᵢ − minᵢ PGᵢ; for the
        epsilon-insensitive loss, the sum of violations relative to the initial one.
    max_iter : epochs after which it stops without a claim.
    seed : for the order of the samples.
    """

    tol: float | None = None
    max_iter: int = 100_000
    seed: int = 0

    source: ClassVar[str] = "Hsieh et al. 2008; Ho & Lin 2012; Fan et al. 2008"
    name: ClassVar[str] = "liblinear"
    tol_share: ClassVar = 0.1  # smaller values often end at its limit, far from the optimum
    finest_tol: ClassVar = 1e-11
    single_threaded: ClassVar[bool] = True
    packages: ClassVar = (("sklearn.svm", "scikit-learn"),)

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        svm = importlib.import_module("sklearn.svm")
        settings: dict[str, Any] = {
            "dual": True,
            "fit_intercept": False,
            "tol": self.tolerance,
            "max_iter": int(self.max_iter),
            "random_state": int(self.seed),
        }
        if isinstance(form.loss, EpsilonInsensitive):
            settings |= {"loss": "epsilon_insensitive", "epsilon": form.loss.epsilon}
            estimator = svm.LinearSVR(**settings)
        else:
            estimator = svm.LinearSVC(loss="hinge", **settings)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator.fit(form.gram.X, form.y, sample_weight=form.C)  # times C = 1
        at_limit = any(w.category.__name__ == "ConvergenceWarning" for w in caught)
        yield FormPoint(
            np.ravel(estimator.coef_),
            b=0.0,
            iterations=int(np.max(estimator.n_iter_)),
            claim="stopped" if at_limit else "optimal",
        )
