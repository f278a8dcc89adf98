"""Regularised risks as exact cone programs, modelled in CVXPY.

    min (lam/2)‖w‖² + Σ (Cᵢ/ΣC)·ℓ(yᵢ, fᵢ)   s.t. f = Xw + b,   lam = 1/ΣC
Losses of a distance are linear or quadratic; ln(1 + exp(·)) and ln Σₖ exp(·) are exponential cones
(Boyd & Vandenberghe 2004; Agrawal et al. 2018). The multipliers of f = Xw + b, times ΣC, are the dual
coefficients β. With a kernel, w = Σ βᵢφ(xᵢ), ‖w‖² = βᵀKβ and f = Kβ + b.
"""

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.formulations.softmax import Softmax
from dualgap.problems.losses import IntervalLoss, Logistic
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import CONVEX, LINEAR_OR_DENSE, Need, one_loss


@dataclass(frozen=True)
class CvxpyERM(Solver):
    """A regularised risk through CVXPY and Clarabel, an interior-point method for cones.

    Attributes
    ----------
    tol : passed as each of Clarabel's tolerances on gap and residuals.
    max_iter : interior-point steps.
    """

    tol: float | None = None
    max_iter: int = 200

    form: ClassVar = ERM
    needs: ClassVar = (
        one_loss("a loss that has a cone program", IntervalLoss, Logistic, Softmax),
        # above, Clarabel called answers optimal whose gap was 1
        Need(
            "ΣC of at most 1e+12, else ½‖w‖² is below what Clarabel resolves",
            lambda form, _: form.C.sum() <= 1e12,
        ),
        LINEAR_OR_DENSE,
        CONVEX,
    )
    source: ClassVar[str] = "Diamond & Boyd 2016; Goulart & Chen 2024 (Clarabel)"
    packages: ClassVar = (("cvxpy", "cvxpy"), ("clarabel", "clarabel"))

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        cp = importlib.import_module("cvxpy")
        total = float(form.C.sum())
        if form.gram.is_linear:
            d, loss = form.gram.X.shape[1], form.loss
            w = cp.Variable((d, loss.classes) if isinstance(loss, Softmax) else d)
            norm2, scores = cp.sum_squares(w), form.gram.X @ w
        else:
            K, w = form.gram.dense(), cp.Variable(form.n)  # the coefficients β
            norm2, scores = cp.quad_form(w, cp.psd_wrap(K)), K @ w
        b, f = cp.Variable(), cp.Variable(scores.shape)
        fits = f == (scores + b if form.intercept else scores)
        risk = 0.5 / total * norm2 + (form.C / total) @ _losses(cp, form, f)
        problem = cp.Problem(cp.Minimize(risk), [fits])
        options: dict[str, Any] = {"max_iter": int(self.max_iter)}
        options |= dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), self.tolerance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # inaccuracy shows in the status and the certificate
            try:
                problem.solve(solver="CLARABEL", **options)
            except cp.error.SolverError:  # no answer at all
                yield FormPoint(None, claim="stopped")
                return
        beta = fits.dual_value
        yield FormPoint(
            w.value if form.gram.is_linear else None,
            None if beta is None else total * np.asarray(beta),
            float(b.value) if form.intercept and b.value is not None else 0.0,
            iterations=int(problem.solver_stats.num_iters or 0),
            claim="optimal" if problem.status == "optimal" else "stopped",
        )


def _losses(cp: Any, form: ERM, f: Any) -> Any:
    """Return ℓ(yᵢ, fᵢ), shape (n,)."""
    loss, y = form.loss, form.y
    if isinstance(loss, Softmax):
        return cp.log_sum_exp(f, axis=1) - cp.sum(cp.multiply(loss.unit(y), f), axis=1)
    if isinstance(loss, Logistic):
        return cp.logistic(cp.multiply(-y, f))
    assert isinstance(loss, IntervalLoss)
    lower, upper = loss.ends(y)
    if (lower == upper).all():
        distance = f - lower if loss.smoothing else cp.abs(f - lower)
    else:
        below, above = np.isfinite(lower), np.isfinite(upper)
        distance = cp.multiply(below, cp.pos(np.where(below, lower, 0.0) - f))
        distance += cp.multiply(above, cp.pos(f - np.where(above, upper, 0.0)))
    return cp.square(distance) / (2 * loss.smoothing) if loss.smoothing else distance
