"""Structured maximal margin on chains: all labels of a sequence are predicted jointly (M³N).

    min ½‖w‖² + C Σₛ max_ŷ [Δ(yₛ, ŷ) + wᵀΨ(xₛ, ŷ) − wᵀΨ(xₛ, yₛ)]

over sequences s of `length` samples each, with K labels; wᵀΨ(x, ŷ) = Σₜ U[ŷₜ]ᵀxₜ + Σₜ T[ŷₜ₋₁, ŷₜ] for
w = (U, T), U (K, d), T (K, K), and Δ the number of wrong labels. Viterbi's recursion computes the
maximum over the K^length labellings. In the dual every sequence has a distribution over labellings, of
which only the marginals of neighbouring labels matter (Taskar, Guestrin & Koller 2004):
    max Σ μₜ(b)·[b ≠ yₜ] − ½‖w(μ)‖²,   w(μ) = Σₛ C·Ψ(xₛ, yₛ) − Σ μₜ(a, b)·Ψₜ(a, b)
where μₜ(a, b) ≥ 0 is the weight of the labellings with a at t − 1 and b at t; it is consistent between
consecutive t, with total C. Any such μ bounds the optimum from below, any w from above.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.chains import Chains
from dualgap.problems.dataset import Matrix, Vector, content_hash
from dualgap.problems.forms import Point, Reduction
from dualgap.problems.formulations.formulation import SampleProblem
from dualgap.problems.gram.gram import Gram
from dualgap.problems.kernels import Block, as_dense
from dualgap.problems.problem import Problem, Reducer
from dualgap.problems.problem.certificate import (
    Bounds,
    Certificate,
    make_certificate,
    not_proven,
)
from dualgap.problems.problem.task import CLASSES, Decision, Task
from dualgap.problems.risk.reductions import as_posed
from dualgap.problems.validation import check_positive


def to_chains(problem: Any, _start: Point | None, _gram: Gram | None) -> Reduction[Chains]:
    """Return the sequences of a `ChainMargin`."""
    return Reduction(problem.chains, lambda point: Point(point.beta, point.x))


@dataclass(frozen=True, eq=False)
class ChainMargin(SampleProblem):
    """min ½‖w‖² + C Σₛ ξₛ with wᵀΨ(xₛ, yₛ) ≥ wᵀΨ(xₛ, ŷ) + Δ(yₛ, ŷ) − ξₛ for every labelling ŷ.

    Each `length` consecutive rows are a sequence. An answer's `w` is (U, T), its `alpha` the marginals
    μ, shape (n, K²).
    """

    X: Matrix
    y: Vector
    length: int
    C: float = 1.0

    forms: ClassVar[Mapping[type, Reducer]] = {Problem: as_posed, Chains: to_chains}
    task: ClassVar[Task] = CLASSES
    source: ClassVar[str] = "Taskar, Guestrin & Koller 2004; COMP790 notes"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.C, "C")
        if self.n % self.length:
            raise ValueError(
                f"length: {self.n} samples cannot be divided into sequences of {self.length}"
            )

    @classmethod
    def example_data(cls, parameters: Mapping[str, Any], /) -> tuple[Matrix, Vector]:
        """Return two sequences of the given `length`, of length 1 if it is invalid or above 10,000."""
        length = parameters.get("length", 1)
        length = length if isinstance(length, int) and 0 < length <= 10_000 else 1
        return np.repeat(np.eye(2), length, 0), np.repeat([0.0, 1.0], length)

    @cached_property
    def labels(self) -> int:
        """K, the number of labels."""
        return int(self.y.max()) + 1

    @property
    def outputs(self) -> int:
        """K², the number of marginals per sample."""
        return self.labels**2

    @property
    def weights_shape(self) -> tuple[int, ...]:
        """The shape of U and T in one vector of K·d + K² entries."""
        return (self.chains.size,)

    @cached_property
    def chains(self) -> Chains:
        """The sequences."""
        shape = (self.n // self.length, self.length)
        y = self.y.astype(np.intp).reshape(shape)
        return Chains(as_dense(self.X).reshape(*shape, self.d), y, self.labels, float(self.C))

    def scores(self, X: Matrix, w: Vector) -> Block:
        """Return the labels of `X` on the best paths, one-hot encoded, shape (m, K).

        Raises
        ------
        ValueError
            If the rows cannot be divided into sequences.
        """
        if X.shape[0] % self.length:
            raise ValueError(
                f"X: {X.shape[0]} samples cannot be divided into sequences of {self.length}"
            )
        sequences = as_dense(X).reshape(-1, self.length, self.d)
        paths = replace(self.chains, X=sequences).predict(w)
        return np.eye(self.labels)[paths.ravel()]

    @cached_property
    def family_hash(self) -> str:
        """Identity of the optimum, which is no risk of single samples."""
        X = scipy.sparse.csr_array(self.X)
        return content_hash(type(self).__name__, X, self.y, self.length, self.C)[:16]

    def decision(self, offsets: Any) -> Decision:
        """Return the labels on the best paths."""
        return Decision(scores=self.scores)

    def objective(self, primal: float, dual: float) -> float:
        """Return the primal value."""
        return primal

    def bounds(self, point: Point) -> Certificate:
        """Return bounds from marginals, weights or both.

        Without `alpha` the lower bound is 0, the value of the true labels.
        """
        chains = self.chains
        shape = (*chains.y.shape, -1)
        true_marginals = chains.C * chains.marginals(chains.y)
        requested = true_marginals if point.alpha is None else point.alpha.reshape(shape)
        mu = chains.consistent(requested)
        dual, recovered_w = chains.dual(mu)
        weights = recovered_w if point.w is None else point.w
        primal = chains.primal(weights)
        lower = max(0.0, float(dual.low))  # 0 is the value of the true labels
        moves = np.abs(mu - requested)
        source = "alpha" if point.w is None else "alpha and w"
        return make_certificate(
            Bounds(lower, float(primal.high), float(dual.rad + primal.rad)),
            primal_residual=float(moves.max()),
            dual_residual=0.0,
            projection_distance=float(np.linalg.norm(moves)),
            bound_source="recovered from w" if point.alpha is None else source,
            point=Point(mu.reshape(self.n, -1), weights),
        )

    def proven(self, certificate: Certificate) -> Certificate:
        """Return the certificate without bounds: labellings have no ball arithmetic."""
        return not_proven(certificate, "structured margins have no ball arithmetic")
