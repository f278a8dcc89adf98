"""Linear discriminant analysis, for comparison with the maximal margin.

    w ∝ Σ⁻¹(μ₊ − μ₋),  Σ the covariance within the classes,  b such that f = log P(+1|x)/P(−1|x)

Fisher 1936. It ignores C and the margin: every sample affects the class means and Σ, including those far
from the boundary, which a support vector machine does not depend on. (w, b) is scaled to the smallest
risk, as the scale of a discriminant has another meaning; the certificate then shows how far its
direction is from the optimal one.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.kernels import as_dense
from dualgap.problems.losses import Hinge
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import BOTH_CLASSES, INTERCEPT, LINEAR, one_loss


@dataclass(frozen=True)
class LDA(Solver):
    """scikit-learn's LinearDiscriminantAnalysis; it makes no claim."""

    form: ClassVar = ERM
    needs: ClassVar = (LINEAR, one_loss("the hinge loss", Hinge), INTERCEPT, BOTH_CLASSES)
    source: ClassVar[str] = "Fisher 1936; scikit-learn; Gori's notes"
    packages: ClassVar = (
        ("sklearn.discriminant_analysis", "scikit-learn"),
        ("scipy.optimize", "scipy"),
    )

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        models: Any = importlib.import_module("sklearn.discriminant_analysis")
        # not svd, which warns of constant features
        model = models.LinearDiscriminantAnalysis(solver="lsqr", shrinkage=None)
        model.fit(as_dense(form.gram.X), form.y)
        w, b = np.ravel(model.coef_), float(model.intercept_[0])
        margins, square = form.y * (form.gram.X @ w + b), float(w @ w)
        weighted_margins = form.C * margins

        def slope(scale: float) -> float:
            """Return the derivative of the risk, which increases, with jumps at the samples' margins."""
            return scale * square - float(weighted_margins[scale * margins < 1].sum())

        scale = 0.0
        # the risk decreases at 0, and increases from `upper` on
        if square > 0 and slope(0.0) < 0:
            upper = 2.0 * float(weighted_margins[margins > 0].sum()) / square
            scale = float(scipy.optimize.brentq(slope, 0.0, upper))
        yield FormPoint(scale * w, b=scale * b, iterations=1, claim="stopped")
