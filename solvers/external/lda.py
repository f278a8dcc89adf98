"""Linear discriminant analysis, to be compared with the maximal margin.

    w ∝ Σ⁻¹(μ₊ − μ₋),  Σ the covariance within the classes,  b so that f = log P(+1|x)/P(−1|x)

Fisher 1936. It takes no notice of C or of the margin: every sample moves the class means and Σ, also
those far from the boundary, on which no support vector machine depends. (w, b) is multiplied by the one
number that makes its hinge loss least, as a discriminant's scale means something else; the certificate
then shows how far its direction is from the optimal one.
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


@dataclass(frozen=True)
class LDA(Solver):
    """scikit-learn's LinearDiscriminantAnalysis; it makes no claim."""

    form: ClassVar = ERM
    source: ClassVar[str] = "Fisher 1936; scikit-learn; Gori's notes"
    needs: ClassVar = (
        ("sklearn.discriminant_analysis", "scikit-learn"),
        ("scipy.optimize", "scipy"),
    )

    def refuses(self, form: ERM) -> str | None:
        """Two classes in the space of the samples themselves."""
        if not form.gram.is_linear:
            return "linear discriminant analysis has no kernels"
        if not isinstance(form.loss, Hinge) or not form.intercept:
            return "linear discriminant analysis stands beside linear machines with an intercept"
        if np.unique(form.y).size < 2:
            return "linear discriminant analysis needs samples of both classes"
        return None

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        models: Any = importlib.import_module("sklearn.discriminant_analysis")
        # lsqr and not svd: constant features are no reason for a warning
        model = models.LinearDiscriminantAnalysis(solver="lsqr", shrinkage=None)
        model.fit(as_dense(form.gram.X), form.y)
        w, b = np.ravel(model.coef_), float(model.intercept_[0])
        margins, square = form.y * (form.gram.X @ w + b), float(w @ w)
        pulls = form.C * margins

        def slope(scale: float) -> float:
            """Return the risk's derivative in the scale, which rises and jumps at samples' margins."""
            return scale * square - float(pulls[scale * margins < 1].sum())

        scale = 0.0
        # it pays to leave 0, and no sample pulls beyond the second end
        if square > 0 and slope(0.0) < 0:
            most = 2.0 * float(pulls[margins > 0].sum()) / square
            scale = float(scipy.optimize.brentq(slope, 0.0, most))
        yield FormPoint(scale * w, b=scale * b, iterations=1, claim="stopped")
