"""Geometry of an answer: margin, distances and slacks of the samples, and kinds of multipliers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dualgap.problems.dataset import Indices, Matrix, Vector, check_samples
from dualgap.problems.forms import Point, Unsupported
from dualgap.problems.formulations.formulation import Formulation, SampleProblem
from dualgap.problems.formulations.structured import ChainMargin
from dualgap.problems.gram.products import gram_scores
from dualgap.problems.problem.certificate import Certificate
from dualgap.problems.problem.task import TARGETS, Decision
from dualgap.problems.risk.risk import losses_at

# relative to C (hard margin: to the largest α): interior points never reach a bound exactly
BOUND_RTOL = 1e-8


@dataclass(frozen=True, eq=False)
class Geometry:
    """The margin and the samples' positions relative to it, for a certified answer (α, w, b).

    Attributes
    ----------
    offsets : the best offset of each group of samples.
    scale : factor of w if it has no coordinates: w = scale·Σ βᵢφ(xᵢ).
    """

    problem: SampleProblem
    point: Point
    offsets: tuple[float, ...] = ()
    scale: float = 1.0

    def __repr__(self) -> str:
        """Return the size of the problem, ‖w‖ and the margin on one line."""
        size = f"{self.problem.n} samples, ‖w‖ = {self.norm:.4g}"
        margin = f", margin {self.margin:.4g}" if self.rule.has_margin else ""
        return f"Geometry({type(self.problem).__name__}, {size}{margin})"

    @cached_property
    def norm(self) -> float:
        """‖w‖ in feature space."""
        if self.point.w is not None:
            return float(np.linalg.norm(self.point.w))
        return float(np.sqrt(max(0.0, (self._beta * self._scores).sum())))

    @property
    def margin(self) -> float:
        """Width 2/‖w‖ of the strip between f = −1 and f = 1; 2ρ/‖w‖ for ν-SVC; inf if w = 0."""
        return 2.0 * self.rule.margin / self.norm if self.norm > 0 else float("inf")

    @cached_property
    def rule(self) -> Decision:
        """How outputs become decisions."""
        return self.problem.decision(self.offsets)

    @cached_property
    def decision(self) -> Vector:
        """f(xᵢ) = wᵀφ(xᵢ) + b of the training samples, shape (n,); for K classes their scores (n, K)."""
        return self.rule.values(self._scores + self._b, self.problem.X)

    @property
    def distances(self) -> Vector:
        """Signed distance yᵢf(xᵢ)/‖w‖ of each sample to the hyperplane (regression: f(xᵢ) − yᵢ).

        Raises
        ------
        ValueError
            For K classes, which have K − 1 hyperplanes each, and for a ball.
        """
        f, y = self.decision, self.problem.y
        if f.ndim > 1:
            raise ValueError("more than two classes are not separated by a single hyperplane")
        if self.rule.minus is not None:
            raise ValueError("this decision function has a ball but no hyperplane")
        if self.problem.task is TARGETS:
            return f - y
        with np.errstate(divide="ignore", invalid="ignore"):
            return y * f / self.norm

    @property
    def slacks(self) -> Vector:
        """Loss ξᵢ of each sample: its distance into the margin, or out of the tube.

        Raises
        ------
        ValueError
            For several binary problems, as a sample has one slack in each.
        """
        if not isinstance(self.problem, Formulation):
            raise ValueError("every binary problem has its own slacks; describe the parts")
        risk = self.problem.risk
        offsets = self.offsets or (self._b,) * risk.costs.size
        return self.rule.scale * losses_at(risk, risk.y, self._scores, np.array(offsets))

    @property
    def kinds(self) -> NDArray[np.str_]:
        """Kind of each sample: "zero" (α = 0), "free" (0 < α < C) or "bounded" (α = C).

        For losses with unlimited slopes α has no bound; for K classes the largest α of a sample counts.
        """
        alpha, C = self._alpha, upper_limits(self.problem)
        size = np.abs(alpha).reshape(self.problem.n, -1).max(axis=1)
        if alpha.ndim == 1 and isinstance(self.problem, Formulation):
            risk = self.problem.risk
            low, high = risk.loss.limits(risk.y, risk.C)
            C = np.where(alpha < 0, -low, high)
        scale = np.where(np.isinf(C), size.max(initial=0.0), C)
        kinds = np.where(size > BOUND_RTOL * scale, "free", "zero")
        return np.where(size >= C * (1 - BOUND_RTOL), "bounded", kinds)

    @property
    def support(self) -> Indices:
        """Indices of the support vectors."""
        return np.flatnonzero(self.kinds != "zero")

    def decision_function(self, X: Matrix) -> Vector:
        """Return f(x) for new samples, the rows of `X` (m, d); for K classes their scores (m, K).

        Raises
        ------
        ValueError
            If `X` is invalid, or there is no answer to predict with.
        """
        return self.rule.values(self.outputs(X), X)

    def outputs(self, X: Matrix) -> Vector:
        """Return wᵀφ(x) + b of each binary problem for the rows of `X` (m, d), before they vote."""
        X = check_samples(X)
        if X.shape[1] != self.problem.d:
            raise ValueError(f"X: has {X.shape[1]} features, the problem has {self.problem.d}")
        if self.point.w is not None:
            return self.rule.scores(X, self.point.w) + self._b
        alpha = self._alpha
        support = np.flatnonzero(alpha if alpha.ndim == 1 else alpha.any(axis=1))
        values = self.problem.kernel.bind(self.problem.X).cross(X, support)
        return values @ self._beta[support] + self._b

    @property
    def _b(self) -> float | Vector:
        return 0.0 if self.point.b is None else self.point.b

    @property
    def _alpha(self) -> Vector:
        self._check_in_memory()
        if self.point.alpha is None:
            raise ValueError("there is no answer: the solver gave no usable point")
        return self.point.alpha

    def _check_in_memory(self) -> None:
        if self.problem.in_blocks:
            raise ValueError(
                "samples in blocks are not in memory: evaluate one block after another, by "
                "[solution.decision_function(block.X) for block in problem.X]"
            )

    @cached_property
    def _scores(self) -> Vector:
        self._check_in_memory()
        if self.point.w is not None:
            return self.rule.scores(self.problem.X, self.point.w)
        return gram_scores(self.problem.samples.gram(memory=0), self._beta)

    @property
    def _beta(self) -> Vector:
        """The coefficients of w."""
        return self.scale * coefficients(self.problem, self._alpha)


def coefficients(problem: SampleProblem, alpha: Vector) -> Vector:
    """Return the β of w = Σ βᵢφ(xᵢ) for dual variables `alpha`, whose shape they have.

    With labels or targets the function is its own inverse.
    """
    if isinstance(problem, Formulation):
        return problem.risk.beta(alpha)
    if problem.parts[0].problem is problem:
        raise Unsupported(f"w of {problem.name} is no combination of the samples")
    beta = np.zeros((problem.n, len(problem.parts)))
    for j, part in enumerate(problem.parts):
        beta[part.rows, j] = part.problem.risk.beta(alpha.reshape(problem.n, -1)[part.rows, j])
    return beta.reshape(alpha.shape)


def upper_limits(problem: SampleProblem) -> Vector:
    """Return the largest |αᵢ| of each sample, shape (n,), which is the same in all parts."""
    if isinstance(problem, ChainMargin):
        return np.full(problem.n, problem.C)  # the sum of a sequence's marginals
    limits = np.zeros(problem.n)
    for part in problem.parts:
        rows = slice(None) if part.rows is None else part.rows
        limits[rows] = part.problem.risk.C * part.problem.risk.loss.lipschitz
    return limits


def describe(problem: SampleProblem, certificate: Certificate) -> Geometry:
    """Return the geometry of the point of a certificate."""
    c = certificate
    return Geometry(problem, c.point, c.offsets, c.scale)
