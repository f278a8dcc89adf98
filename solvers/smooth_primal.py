"""Smooth regularised risks in the primal, by L-BFGS and Newton-CG from SciPy.

    min over (w, b)  F = (lam/2)‖w‖² + Σ (Cᵢ/ΣC)·ℓ(yᵢ, wᵀxᵢ + b),   lam = 1/ΣC
    ∇F = (lam·w + Xᵀs, 1ᵀs)   with sᵢ = (Cᵢ/ΣC)·ℓ'(yᵢ, fᵢ)
    ∇²F·v = (lam·v + XᵀDXv, ...)   with D = diag((Cᵢ/ΣC)·ℓ''(yᵢ, fᵢ))
The function minimised is F(w, b)/s² over v = (r·w, b)/s, with s² = F(0, b₀), where b₀ is 0 or the mean
target, and r the power of two nearest to the root mean square of the nonzero xᵢⱼ, so that steps and
tolerances do not depend on the units of targets and features. Newton-CG minimises r²F(w, b)/(lam·s²), as
SciPy drops directions of curvature below 3 eps: that of (lam/2)‖w‖² is then 1.
L-BFGS approximates the curvature from the last gradients, Newton-CG needs only products ∇²F·v. Both
work for any smooth loss, such as logistic and softmax, squared hinge, ridge and squared tube. With a
kernel the rows of L replace the samples, K = LLᵀ by pivoted Cholesky (Fine & Scheinberg 2001), and
the answer is β = −Cℓ'(y, f).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.threads import Threads
from dualgap.problems.kernels import Block
from dualgap.problems.problem.certificate import WRONG_GAP
from dualgap.problems.validation import check_integer
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import CONVEX, LINEAR_OR_DENSE, Need
from dualgap.solvers.numerics.claims import relative_gap


class SmoothRisk:
    """F with its gradient and Hessian products; the variables are w (d,) or (d, K), then b."""

    def __init__(self, form: ERM) -> None:
        total = float(form.C.sum())
        self.form, self.y, self.loss = form, form.y, form.loss
        self.X = form.gram.X if form.gram.is_linear else _factor(form.gram)
        self.lam, self.weights = 1.0 / total, form.C / total
        self.outputs = int(getattr(form.loss, "classes", 1))
        self.size = self.X.shape[1] * self.outputs

    @property
    def start(self) -> Vector:
        """The starting point: w of the start, else 0, and b = 0."""
        form = self.form
        w = np.zeros(self.size) if form.start is None else np.ravel(self.X.T @ form.start)
        return np.append(w, 0.0) if form.intercept else w

    def units(self) -> tuple[float, Vector]:
        """Return s, the root of the risk at w = 0 and b₀ (1 if that risk is 0), and (w, b)/v."""
        v = np.zeros(self.size + self.form.intercept)
        if self.form.intercept and self.loss.is_regression:
            v[-1] = self.weights @ self.y
        s = float(np.sqrt(self.value_and_gradient(v)[0])) or 1.0
        entries = self.X if isinstance(self.X, np.ndarray) else self.X.data
        size = float(np.linalg.norm(entries)) / np.sqrt(np.count_nonzero(entries) or 1)
        fraction, exponent = np.frexp(size or 1.0)
        of_w = float(np.ldexp(s, int(fraction < np.sqrt(0.5)) - int(exponent)))
        return s, np.append(np.full(self.size, of_w), [s] * self.form.intercept)

    def value_and_gradient(self, v: Vector) -> tuple[float, Vector]:
        """Return F and ∇F."""
        f = self._scores(v)
        slopes = self._weighted(self.loss.subgradient(self.y, f))
        w = v[: self.size]
        value = 0.5 * self.lam * float(w @ w) + float(self.weights @ self.loss.value(self.y, f))
        return value, self._pull_back(slopes, self.lam * w)

    def hessian_product(self, v: Vector, p: Vector) -> Vector:
        """Return ∇²F(v)·p."""
        curvatures = self.loss.curvature_times(self.y, self._scores(v), self._scores(p))
        return self._pull_back(self._weighted(curvatures), self.lam * p[: self.size])

    def relative_gap(self, v: Vector) -> float:
        """Return the relative duality gap at v, for the coefficients β = −Cℓ'(y, f).

        By the Fenchel–Young equality the gap is ½‖∇_w F‖²/lam if ∂F/∂b = −Σβ/ΣC is 0; else |∂F/∂b| times
        the size of b and f is added as an estimate of the cost of Σβ = 0.
        """
        value, gradient = self.value_and_gradient(v)
        g_w, g_b = np.split(gradient, [self.size])
        offset = float(np.abs(v[self.size :]).sum() + np.abs(self._scores(v)).mean())
        gap = 0.5 * float(g_w @ g_w) / self.lam + float(np.abs(g_b).sum()) * offset
        return gap / value if gap else 0.0

    def minimum(self, method: str, options: dict[str, Any], gap: float) -> FormPoint:
        """Return the result of a method of `scipy.optimize.minimize`, "optimal" if within `gap`."""
        from scipy.optimize import minimize  # noqa: PLC0415 - slow to import

        s, units = self.units()
        unit = self.lam * units[0] ** 2 if method == "Newton-CG" else s**2
        slope_units = units / unit

        def value_and_gradient(v: Vector) -> tuple[float, Vector]:
            value, gradient = self.value_and_gradient(units * v)
            return value / unit, slope_units * gradient

        def hessian_product(v: Vector, p: Vector) -> Vector:
            return slope_units * self.hessian_product(units * v, units * p)

        result = minimize(
            value_and_gradient,
            self.start / units,
            jac=True,
            hessp=hessian_product if method == "Newton-CG" else None,
            method=method,
            options=options,
        )
        v = units * result.x
        w, intercept = np.split(v, [self.size])
        b, beta, gap_reached = float(intercept.sum()), None, self.relative_gap(v)
        if not self.form.gram.is_linear:
            w, beta = None, -self.form.C * self.loss.subgradient(self.y, self._scores(v))
            # an error in f is multiplied by C in β
            gap_reached = max(gap_reached, relative_gap(self.form, beta, b))
        elif self.outputs > 1:
            w = w.reshape(-1, self.outputs)
        return FormPoint(
            w,
            beta,
            b,
            iterations=int(result.nit),
            claim="optimal" if gap_reached <= gap else "stopped",
            counters={"evaluations": float(result.nfev)},
        )

    def _scores(self, v: Vector) -> Vector:
        w = v[: self.size]
        f = self.X @ (w.reshape(-1, self.outputs) if self.outputs > 1 else w)
        return f + v[self.size] if self.form.intercept else f

    def _weighted(self, values: Vector) -> Vector:
        return (self.weights * values.T).T

    def _pull_back(self, s: Vector, ridge: Vector) -> Vector:
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
    """Base of both solvers."""

    form: ClassVar = ERM
    needs: ClassVar = (
        Need("a smooth loss", lambda form, _: form.loss.smoothness < np.inf),
        LINEAR_OR_DENSE,
        CONVEX,
    )
    packages: ClassVar = (("scipy.optimize", "scipy"),)

    def prepare(self, form: ERM) -> ERM:
        """Import SciPy's optimisers, and detect the thread pools."""
        Threads()
        return super().prepare(form)


@dataclass(frozen=True)
class LBFGS(_SmoothSolver):
    """Limited-memory BFGS on the weights of a smooth risk.

    Attributes
    ----------
    tol : largest slope with respect to v at which it stops; it also stops once float64 no longer
        resolves the decrease of F.
    max_iter : iterations after which it stops without a claim.
    memory : number of gradients kept.
    gap : largest estimated relative duality gap at which it claims an optimum; None for 1e-2.
    """

    tol: float | None = None
    max_iter: int = 10_000
    memory: int = 20
    gap: float | None = None

    # at 1e-3 the rounding of ∇F prevented it from claiming optima that it had found
    tol_share: ClassVar = 1e-2
    source: ClassVar[str] = "Liu & Nocedal 1989; SciPy's L-BFGS-B"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.memory, "memory")

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        risk = SmoothRisk(form)
        options = {
            "gtol": self.tolerance,
            "ftol": np.finfo(float).eps,  # the resolution of F
            "maxiter": int(self.max_iter),
            "maxfun": 100 * int(self.max_iter),
            "maxcor": int(self.memory),
        }
        # the products inside L-BFGS are tiny: a second thread made them a hundred times slower
        with Threads().limited(1):
            point = risk.minimum("L-BFGS-B", options, self.gap or WRONG_GAP)
        yield point


@dataclass(frozen=True)
class NewtonCG(_SmoothSolver):
    """Newton's method on the weights of a smooth risk, its systems solved by conjugate gradients.

    Attributes
    ----------
    tol : mean size of the entries of the last step, of v, at which it stops.
    max_iter : Newton steps after which it stops without a claim.
    gap : largest estimated relative duality gap at which it claims an optimum; None for 1e-2.
    """

    tol: float | None = None
    max_iter: int = 1000
    gap: float | None = None

    source: ClassVar[str] = "Nocedal & Wright 2006, algorithm 7.1; SciPy's Newton-CG"

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        risk = SmoothRisk(form)
        options = {"xtol": self.tolerance, "maxiter": int(self.max_iter)}
        yield risk.minimum("Newton-CG", options, self.gap or WRONG_GAP)
