"""Averaged stochastic gradient descent from scikit-learn.

    min (λ/2)‖w‖² + Σᵢ (Cᵢ/ΣC)·loss(yᵢ, wᵀxᵢ),  λ = 1/ΣC

One step on sample i: w ← (1 − ηₜλ)w − ηₜ·(nCᵢ/ΣC)·∇lossᵢ with ηₜ = 1/(λ(t₀ + t)), t₀ by Bottou's
heuristic; the answer is the mean of all w: Bottou 2010, "Large-scale machine learning with stochastic
gradient descent"; Xu 2011, "Towards optimal one pass large scale learning with averaged SGD".
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Matrix
from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.losses import EpsilonInsensitive
from dualgap.solvers.base import Precision
from dualgap.solvers.external.linear import LinearBaseline


@dataclass(frozen=True)
class SGD(LinearBaseline):
    """scikit-learn's SGDClassifier and SGDRegressor, one epoch at a time; it makes no claim.

    Attributes
    ----------
    epochs : passes over the data after which it stops.
    average : whether the answer is the mean over all steps instead of the last.
    seed : for the order of the samples, a new one in each epoch.
    dtype : precision of the samples and the computations. They are converted during set-up.
    """

    epochs: int = 50
    average: bool = True
    seed: int = 0
    dtype: Precision = "float64"

    source: ClassVar[str] = "Bottou 2010; Xu 2011"
    single_threaded: ClassVar[bool] = True
    copies_samples: ClassVar[bool] = True
    packages: ClassVar = (("sklearn.linear_model", "scikit-learn"),)

    def prepare(self, form: ERM) -> tuple[ERM, Matrix]:
        """Return the form and its samples in the precision for SGD."""
        return super().prepare(form), form.gram.X.astype(self.dtype, copy=False)

    def iterates(self, state: tuple[ERM, Matrix]) -> Iterator[FormPoint]:
        """Yield after each epoch."""
        form, samples = state
        models = importlib.import_module("sklearn.linear_model")
        settings: dict[str, Any] = {
            "alpha": 1.0 / float(form.C.sum()),
            "fit_intercept": False,
            "average": bool(self.average),
            "learning_rate": "optimal",  # the regressor's default decays too fast for small λ
        }
        labels: dict[str, Any] = {}
        if isinstance(form.loss, EpsilonInsensitive):
            settings |= {"loss": "epsilon_insensitive", "epsilon": form.loss.epsilon}
            estimator = models.SGDRegressor(**settings)
        else:
            estimator = models.SGDClassifier(loss="hinge", **settings)
            labels["classes"] = np.array([-1.0, 1.0])
        weights = form.C * (form.n / form.C.sum())
        # each call restarts from the estimator's seed: without a new one every epoch would visit the
        # samples in the same order
        seeds = np.random.default_rng(self.seed).integers(2**31, size=int(self.epochs))
        for epoch, seed in enumerate(seeds, start=1):
            estimator.set_params(random_state=int(seed))
            estimator.partial_fit(samples, form.y, sample_weight=weights, **labels)
            yield FormPoint(
                np.ravel(estimator.coef_).copy(), b=0.0, iterations=epoch, claim="stopped"
            )
