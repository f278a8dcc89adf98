"""Several classes through binary problems: one against the rest, or one against one.

    min Σⱼ [½‖wⱼ‖² + C Σᵢ ℓ(sᵢⱼ, wⱼᵀφ(xᵢ) + bⱼ)]   over the samples with sᵢⱼ ≠ 0
one-vs-rest  subproblem k of K: sᵢₖ = +1 for the samples of class k, −1 for all others
one-vs-one   subproblem (k, l), k < l: +1 for class k, −1 for class l, 0 for the samples of other classes
The subproblems only share the samples: each is a binary problem with its own certificate, and the bounds
of the sum are the sums of the bounds. The outputs fⱼ then vote on a sample's class:
majority  one vote for the winner of each subproblem, k if fⱼ ≥ 0 and l if fⱼ < 0
soccer    3 points for the winner, 0 for the loser (Gori's notes), and, as otherwise this would be the
          majority, 1 point each for a draw, inside the margin |fⱼ| < 1; a support vector on the margin
          counts as a win, with a tolerance for the solver's rounding
margin    the winner gets |fⱼ| points, the loser −|fⱼ|
One-vs-rest, only class k can win points. Ties are broken by the larger sum of margins, so one-vs-rest
always predicts the largest fₖ. A tied vote is called *ambiguous*: one-vs-rest, this means that no class
or several classes claim a sample (Bishop 2006, section 4.1.2, figure 4.2; NPFL129 notes).
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.dataset import Matrix, Vector, content_hash
from dualgap.problems.formulations.erm import WeightedERM, named_loss
from dualgap.problems.formulations.formulation import SampleProblem
from dualgap.problems.formulations.svm import SoftMarginDual
from dualgap.problems.kernels import Block, Kernel, Linear
from dualgap.problems.losses import Hinge, Perceptron, ScalarLoss
from dualgap.problems.problem import Part, Problem, Reducer
from dualgap.problems.problem.task import CLASSES, Decision, Task
from dualgap.problems.risk.reductions import as_posed
from dualgap.problems.validation import check_choice, short_repr

Voting = Literal["majority", "soccer", "margin"]


@dataclass(frozen=True, eq=False)
class Multiclass(SampleProblem):
    """Base of the two strategies, which define the pairs of classes.

    `outputs` is the number of subproblems. An answer's `alpha` has shape (n, outputs), where entries of
    samples outside a subproblem are 0 and ignored, its `w` (d, outputs), its `b` (outputs,).

    Parameters
    ----------
    C : a number, or with the hinge loss one per sample.
    loss : a loss for labels −1 and +1, or its name: hinge, squared_hinge or logistic.
    voting : majority, soccer or margin, see the module; one-vs-rest, all predict the class of the
        largest output.
    """

    X: Matrix
    y: Vector
    C: Any = 1.0
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    intercept: bool = True
    loss: Any = Hinge()  # noqa: RUF009 - frozen
    voting: Voting = "majority"

    forms: ClassVar[Mapping[type, Reducer]] = {Problem: as_posed}  # each part has its own forms
    task: ClassVar[Task] = CLASSES

    def __post_init__(self) -> None:
        loss = named_loss(self.loss)
        if not isinstance(loss, ScalarLoss) or loss.is_regression:
            raise ValueError(
                f"loss: must be hinge, squared_hinge or logistic, got {short_repr(loss)}"
            )
        if isinstance(loss, Perceptron):
            raise ValueError(
                "loss: the perceptron's risk is minimal at w = 0, which does not distinguish classes"
            )
        vars(self)["loss"] = loss  # the dataclass is frozen
        check_choice(self.voting, "voting", get_args(Voting))
        super().__post_init__()
        if np.ndim(self.C) and not isinstance(loss, Hinge):
            raise ValueError(
                f"C: the {loss.name} loss needs one number for all samples; "
                "only the hinge loss accepts one per sample"
            )

    @property
    def classes(self) -> int:
        """K, the number of classes."""
        return int(self.y.max()) + 1

    @property
    @abstractmethod
    def pairs(self) -> list[tuple[int, int | None]]:
        """The positive and the negative class of each subproblem; None means all others."""

    @property
    def outputs(self) -> int:
        """Number of subproblems."""
        return len(self.pairs)

    @cached_property
    def signs(self) -> Block:
        """sᵢⱼ: +1, −1, or 0 for samples outside subproblem j, shape (n, outputs)."""
        signs = np.where(self.y[:, None] == [positive for positive, _ in self.pairs], 1.0, -1.0)
        for j, (positive, negative) in enumerate(self.pairs):
            if negative is not None:
                signs[~np.isin(self.y, (positive, negative)), j] = 0.0
        return signs

    @cached_property
    def parts(self) -> tuple[Part, ...]:  # type: ignore[override]
        """The binary problems."""
        parts: list[Part] = []
        for (positive, negative), signs in zip(self.pairs, self.signs.T, strict=True):
            rows = np.flatnonzero(signs)
            X, y, C = self.X, signs[rows], self.C
            if rows.size < self.n:
                X, C = X[rows], C[rows] if np.ndim(C) else C
                X = X[:, rows] if self.kernel.uses_gram_matrix else X
            if isinstance(self.loss, Hinge):
                problem = SoftMarginDual(X, y, C, self.kernel, self.intercept)
            else:
                problem = WeightedERM(X, y, C, self.loss, self.kernel, self.intercept)
            other = "the rest" if negative is None else negative
            parts.append(Part(problem, rows, f"class {positive} against {other}"))
        return tuple(parts)

    @cached_property
    def family_hash(self) -> str:
        """Identity of the optimum, which does not depend on the voting rule."""
        settings = type(self).__name__, self.loss, self.C, self.kernel, self.intercept
        return content_hash(scipy.sparse.csr_array(self.X), self.y, *settings)[:16]

    def objective(self, primal: float, dual: float) -> float:
        """Return the primal value of the sum."""
        return primal

    def decision(self, offsets: Any) -> Decision:
        """Return the votes of the outputs."""
        return Decision(vote=self.combine)

    def combine(self, f: Vector, voting: Voting | None = None) -> Block:
        """Return the score of each class for the outputs `f` (m, outputs), shape (m, K).

        It is the result of the vote, plus s/(3(|s| + 1)) to break ties, where s is the class's sum of
        margins: this is between −⅓ and ⅓, so it cannot outweigh a vote (as in scikit-learn's SVC).
        `voting` is the rule, by default the problem's.
        """
        margins = self.votes(f, "margin")
        if (voting or self.voting) == "margin":
            return margins
        return self.votes(f, voting) + margins / (3.0 * (np.abs(margins) + 1.0))

    def votes(self, f: Vector, voting: Voting | None = None) -> Block:
        """Return each class's votes or points for the outputs `f` (m, outputs), shape (m, K).

        `voting` is the rule, by default the problem's.
        """
        rule, f = voting or self.voting, f.reshape(len(f), -1)
        if rule == "majority":
            won, lost = np.where(f >= 0, 1.0, 0.0), np.where(f < 0, 1.0, 0.0)
        elif rule == "margin":
            won, lost = f, -f
        else:
            margin = 1.0 - 1e-3  # on the margin solvers attain f = 1 up to LIBSVM's tolerance
            wins, loses = f >= margin, f <= -margin
            won = np.select([wins, loses], [3.0, 0.0], 1.0)
            lost = np.select([loses, wins], [3.0, 0.0], 1.0)
        positive, negative = np.array(self.pairs, object).T[:, :, None] == np.arange(self.classes)
        return won @ positive + lost @ negative

    def ambiguous(self, f: Vector, voting: Voting | None = None) -> NDArray[np.bool_]:
        """Return whether several classes share the maximum of the votes, shape (m,)."""
        votes = self.votes(f, voting)
        return (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1


class OneVsRest(Multiclass):
    """K binary problems, each class against all others, for y in {0, ..., K − 1}; see `Multiclass`."""

    source: ClassVar[str] = "Vapnik 1998; Rifkin & Klautau 2004; NPFL129 and Gori's notes"

    @property
    def pairs(self) -> list[tuple[int, int | None]]:
        """Each class against all others."""
        return [(k, None) for k in range(self.classes)]


class OneVsOne(Multiclass):
    """K(K−1)/2 binary problems, one per pair of classes, for y in {0, ..., K − 1}.

    See `Multiclass`; majority voting is due to Friedman 1996.
    """

    source: ClassVar[str] = "Friedman 1996; Hsu & Lin 2002; NPFL129 and Gori's notes"

    @property
    def pairs(self) -> list[tuple[int, int | None]]:
        """Every pair of classes, the smaller one on the positive side."""
        return list(combinations(range(self.classes), 2))
