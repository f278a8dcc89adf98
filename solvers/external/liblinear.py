"""LIBLINEAR through scikit-learn: dual coordinate descent for linear machines.

    min ½‖w‖² + Σᵢ Cᵢ·loss(yᵢ, wᵀxᵢ)

With an intercept, it appends to every sample a feature of constant value, whose weight is regularised
like the others.

One step sets αᵢ to clip(αᵢ − ∇ᵢ/xᵢᵀxᵢ, 0, Cᵢ) and updates w = Σ yᵢαᵢxᵢ; an epoch visits the samples in
random order, with shrinking: Hsieh et al. 2008, "A dual coordinate descent method for
large-scale linear SVM", algorithm 3; for the epsilon-insensitive loss Ho & Lin 2012, algorithm 4.
"""

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.losses import EpsilonInsensitive
from dualgap.problems.validation import check_positive
from dualgap.solvers.external.linear import LinearBaseline
from dualgap.solvers.needs import INTERCEPT, NO_INTERCEPT


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
        yield self._fitted(form, fit_intercept=False)

    def _fitted(self, form: ERM, **intercept: Any) -> FormPoint:
        """Return the answer of the estimator, fitted with these settings of its intercept."""
        svm = importlib.import_module("sklearn.svm")
        settings: dict[str, Any] = {
            "dual": True,
            "tol": self.tolerance,
            "max_iter": int(self.max_iter),
            "random_state": int(self.seed),
            **intercept,
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
        return FormPoint(
            np.ravel(estimator.coef_),
            b=float(np.ravel(estimator.intercept_)[0]),
            iterations=int(np.max(estimator.n_iter_)),
            claim="stopped" if at_limit else "optimal",
        )


@dataclass(frozen=True)
class LibLinearIntercept(LibLinear):
    """LIBLINEAR with its regularised intercept, on problems whose intercept is not regularised.

        min ½‖w‖² + ½(b/s)² + Σᵢ Cᵢ·loss(yᵢ, wᵀxᵢ + b),  s = intercept_scaling

    For larger s its optimum is closer to that of the problem, and takes more epochs. It never claims
    that its answer is optimal.

    Attributes
    ----------
    tol, max_iter, seed : as of LibLinear.
    intercept_scaling : the constant feature s, its option -B.
    """

    intercept_scaling: float = 1.0

    name: ClassVar[str] = "liblinear_intercept"
    needs: ClassVar = tuple(
        INTERCEPT if need is NO_INTERCEPT else need for need in LinearBaseline.needs
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.intercept_scaling, "intercept_scaling")

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        scaling = float(self.intercept_scaling)
        point = self._fitted(form, fit_intercept=True, intercept_scaling=scaling)
        if point.claim == "optimal":
            note = (
                "LIBLINEAR regularises the intercept; with an intercept_scaling above "
                f"{scaling:g} it does so less"
            )
            point = replace(point, claim="stopped", note=note)
        yield point
