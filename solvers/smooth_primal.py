"""Smooth regularised risks in the primal: L-BFGS and Newton-CG, as SciPy has them.

    min over (w, b)  F = (lam/2)‖w‖² + Σ (Cᵢ/ΣC)·ℓ(yᵢ, wᵀxᵢ + b),   lam = 1/ΣC
    ∇F = (lam·w + Xᵀs, 1ᵀs)   with sᵢ = (Cᵢ/ΣC)·ℓ'(yᵢ, fᵢ)
    ∇²F·v = (lam·v + XᵀDXv, ...)   with D = diag((Cᵢ/ΣC)·ℓ''(yᵢ, fᵢ))
Minimised is F(s·v)/s² over v = (w, b)/s, with s² = F(0, b₀), where b₀ is 0 or the mean target: thus
tolerances hold in any unit of the targets.
L-BFGS builds its curvature from the last gradients, Newton-CG solves with products ∇²F·v only. Both
are given the risk of logistic or softmax regression, the squared hinge, ridge or squared tube, or any
other smooth loss. With a kernel the rows of L stand for the samples, K = LLᵀ by pivoted Cholesky
(Fine & Scheinberg 2001), and β = −Cℓ'(y, f) is the answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.semidefinite import is_positive_semidefinite
from dualgap.problems.gram.threads import Threads
from dualgap.problems.kernels import Block
from dualgap.problems.validation import check_whole
from dualgap.solvers.base import Solver
from dualgap.solvers.numerics.claims import FAR, relative_gap


class SmoothRisk:
    """F with its gradient and Hessian products; the variables are w (d,) or (d, K), then b."""

    def __init__(self, form: ERM) -> None:
        total = float(form.C.sum())
        self.form, self.y, self.loss = form, form.y, form.loss
        self.X = form.gram.X if form.gram.is_linear else _factor(form.gram)
        self.lam, self.share = 1.0 / total, form.C / total
        self.outputs = int(getattr(form.loss, "classes", 1))
        self.size = self.X.shape[1] * self.outputs

    @property
    def start(self) -> Vector:
        """The start's w, else 0, and b = 0."""
        form = self.form
        w = np.zeros(self.size) if form.start is None else np.ravel(self.X.T @ form.start)
        return np.append(w, 0.0) if form.intercept else w

    @property
    def scale(self) -> float:
        """s, the root of the risk of w = 0 with a plausible b; 1 where that risk is 0."""
        v = np.zeros(self.size + self.form.intercept)
        if self.form.intercept and self.loss.is_regression:
            v[-1] = self.share @ self.y
        return np.sqrt(self.value_and_gradient(v)[0]) or 1.0

    def value_and_gradient(self, v: Vector) -> tuple[float, Vector]:
        """Return F and ∇F."""
        f = self._scores(v)
        slopes = self._times_share(self.loss.subgradient(self.y, f))
        w = v[: self.size]
        value = 0.5 * self.lam * float(w @ w) + float(self.share @ self.loss.value(self.y, f))
        return value, self._back(slopes, self.lam * w)

    def hessian_product(self, v: Vector, p: Vector) -> Vector:
        """Return ∇²F(v)·p."""
        bends = self.loss.curvature_times(self.y, self._scores(v), self._scores(p))
        return self._back(self._times_share(bends), self.lam * p[: self.size])

    def relative_gap(self, v: Vector) -> float:
        """Return the relative duality gap at v, of the coefficients β = −Cℓ'(y, f).

        By the Fenchel–Young equality it is ½‖∇_w F‖²/lam where ∂F/∂b = −Σβ/ΣC is 0; else that times the
        size of b and f estimates what meeting Σβ = 0 takes.
        """
        value, gradient = self.value_and_gradient(v)
        of_w, of_b = np.split(gradient, [self.size])
        offset = float(np.abs(v[self.size :]).sum() + np.abs(self._scores(v)).mean())
        gap = 0.5 * float(of_w @ of_w) / self.lam + float(np.abs(of_b).sum()) * offset
        return gap / value if gap else 0.0

    def minimum(self, method: str, options: dict[str, Any], gap: float) -> FormPoint:
        """Return the point that a method of `scipy.optimize.minimize` finds, optimal by its own gap."""
        from scipy.optimize import minimize  # noqa: PLC0415 - slow to import

        s = self.scale

        def value_and_gradient(v: Vector) -> tuple[float, Vector]:
            value, gradient = self.value_and_gradient(s * v)
            return value / s**2, gradient / s

        def hessian_product(v: Vector, p: Vector) -> Vector:
            return self.hessian_product(s * v, p)

        found = minimize(
            value_and_gradient,
            self.start / s,
            jac=True,
            hessp=hessian_product if method == "Newton-CG" else None,
            method=method,
            options=options,
        )
        v = s * found.x
        w, rest = np.split(v, [self.size])
        b, beta, reached = float(rest.sum()), None, self.relative_gap(v)
        if not self.form.gram.is_linear:
            w, beta = None, -self.form.C * self.loss.subgradient(self.y, self._scores(v))
            # an error of f comes C times as large into β
            reached = max(reached, relative_gap(self.form, beta, b))
        elif self.outputs > 1:
            w = w.reshape(-1, self.outputs)
        return FormPoint(
            w,
            beta,
            b,
            iterations=int(found.nit),
            claim="optimal" if reached <= gap else "stopped",
            counters={"evaluations": float(found.nfev)},
        )

    def _scores(self, v: Vector) -> Vector:
        w = v[: self.size]
        f = self.X @ (w.reshape(-1, self.outputs) if self.outputs > 1 else w)
        return f + v[self.size] if self.form.intercept else f

    def _times_share(self, values: Vector) -> Vector:
        return (self.share * values.T).T

    def _back(self, s: Vector, ridge: Vector) -> Vector:
        gradient = ridge + np.ravel(self.X.T @ s)
        return np.append(gradient, s.sum()) if self.form.intercept else gradient


def _factor(gram: Gram) -> Block:
    """Return L (n, r) with K = LLᵀ, r being the numerical rank of K."""
    from scipy.linalg.lapack import dpstrf  # noqa: PLC0415 - slow to import

    factor, order, rank, _ = dpstrf(gram.dense(), lower=1)
    L = np.empty((gram.n, rank))
    L[order - 1] = np.tril(factor)[:, :rank]
    return L


class _SmoothSolver(Solver):
    """Base of both: what they refuse, and how SciPy's optimisers are called."""

    form: ClassVar = ERM
    needs: ClassVar = (("scipy.optimize", "scipy"),)

    def prepare(self, form: ERM) -> ERM:
        """Import SciPy's optimisers, and find the threads."""
        Threads()
        return super().prepare(form)

    def refuses(self, form: ERM) -> str | None:
        """It needs a smooth loss, and weights with coordinates, which a factor of K gives them."""
        title = "L-BFGS" if isinstance(self, LBFGS) else "Newton-CG"
        if not form.loss.smoothness < np.inf:
            return f"{title} needs a smooth loss, and the {form.loss.name} loss has kinks"
        if form.gram.is_linear:
            return None
        if not form.gram.fits:
            return f"{title} factors the Gram matrix, and {form.n} rows do not fit in memory"
        if not is_positive_semidefinite(form.gram):
            return f"the kernel is indefinite on these samples, and {title} needs a convex problem"
        return None


@dataclass(frozen=True)
class LBFGS(_SmoothSolver):
    """Limited-memory BFGS on the weights of a smooth risk.

    Attributes
    ----------
    tol : of the largest entry of ∇F relative to s; it also ends where float64 no longer resolves F's
        fall.
    max_iter : iterations, after which it makes no claim.
    memory : gradients kept.
    gap : relative duality gap of its own with which it claims an optimum; None for 1e-2.
    """

    tol: float | None = None
    max_iter: int = 10_000
    memory: int = 20
    gap: float | None = None

    # from a thousandth on the rounding of ∇F keeps it from claiming optima that it finds
    tol_share: ClassVar = 1e-2
    source: ClassVar[str] = "Liu & Nocedal 1989; SciPy's L-BFGS-B"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self.memory, "memory")

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        risk = SmoothRisk(form)
        options = {
            "gtol": self.tolerance,
            "ftol": np.finfo(float).eps,  # as far as F is resolved
            "maxiter": int(self.max_iter),
            "maxfun": 100 * int(self.max_iter),
            "maxcor": int(self.memory),
        }
        # its own products are tiny: a second thread made them a hundred times slower
        with Threads().limited(1):
            point = risk.minimum("L-BFGS-B", options, self.gap or FAR)
        yield point


@dataclass(frozen=True)
class NewtonCG(_SmoothSolver):
    """Newton's method on the weights of a smooth risk, its systems solved by conjugate gradients.

    Attributes
    ----------
    tol : of the mean size of the last step's entries relative to s.
    max_iter : Newton steps, after which it makes no claim.
    gap : relative duality gap of its own with which it claims an optimum; None for 1e-2.
    """

    tol: float | None = None
    max_iter: int = 1000
    gap: float | None = None

    source: ClassVar[str] = "Nocedal & Wright 2006, algorithm 7.1; SciPy's Newton-CG"

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        risk = SmoothRisk(form)
        options = {"xtol": self.tolerance, "maxiter": int(self.max_iter)}
        yield risk.minimum("Newton-CG", options, self.gap or FAR)
