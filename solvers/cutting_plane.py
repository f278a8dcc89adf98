"""The 1-slack cutting-plane method for structured margins.

    min ½‖w‖² + C·R(w),   R(w) = max over labellings ŷ of all sequences of c(ŷ) − g(ŷ)ᵀw

R is a maximum of planes. Each iteration solves the small dual over the weights α of some of them
    min ½‖Σ αⱼgⱼ‖² − Σ αⱼcⱼ  s.t. α ≥ 0, Σ αⱼ = C,   w = Σ αⱼgⱼ
with the QP reference solver, and adds the plane that is highest at this w (loss-augmented Viterbi),
until the objective at w exceeds the dual's value by at most `tol`. The number of planes needed does not
depend on the number of sequences (Joachims, Finley & Yu 2009). The best w so far is the answer: the
dual's value rises, but the objective does not fall in every iteration.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from dualgap.problems.chains import Chains
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import QP, Claim, FormPoint
from dualgap.problems.kernels import Block
from dualgap.solvers.base import GAP_FRACTION, Solver
from dualgap.solvers.cvxopt_qp import CvxoptQP


@dataclass(frozen=True)
class CuttingPlane(Solver):
    """One plane per iteration, from the most violating labelling of every sequence.

    Attributes
    ----------
    tol : relative gap between the best objective and the dual's value at which it stops.
    max_iter : limit on the planes.
    """

    tol: float | None = None
    max_iter: int = 5000

    form: ClassVar = Chains
    tol_share: ClassVar = GAP_FRACTION
    source: ClassVar[str] = "Joachims, Finley & Yu 2009; Taskar, Guestrin & Koller 2004"

    def iterates(self, chains: Chains) -> Iterator[FormPoint]:
        """Yield after each plane."""
        planes = _Planes(chains)
        planes.add(chains.y)  # R ≥ 0
        best_w, upper_bound, w = np.zeros(chains.size), np.inf, np.zeros(chains.size)
        claim: Claim = "none"
        for count in range(1, self.max_iter + 1):
            violating = chains.most_violating(w)
            g, c = chains.plane(violating)
            value = 0.5 * float(w @ w) + chains.C * (c - float(g @ w))
            if value < upper_bound:
                best_w, upper_bound = w, value
            if upper_bound - planes.value <= self.tolerance * abs(upper_bound):
                claim = "optimal"
            elif count == self.max_iter:
                claim = "stopped"
            yield FormPoint(best_w.copy(), beta=planes.marginals(), iterations=count, claim=claim)
            if claim != "none":
                return
            planes.add(violating)
            w = planes.solve()


class _Planes:
    """The current planes, their weights αⱼ, and the dual's value."""

    def __init__(self, chains: Chains) -> None:
        self.chains = chains
        self.labels: list[Indices] = []
        self.g: Block = np.zeros((0, chains.size))
        self.c = np.zeros(0)
        self.alpha, self.idle = np.zeros(0), np.zeros(0)
        self.value = 0.0

    def add(self, labels: Indices) -> None:
        g, c = self.chains.plane(labels)
        self.labels.append(labels)
        self.g, self.c = np.vstack([self.g, g]), np.append(self.c, c)
        self.alpha = np.append(self.alpha, 0.0 if self.alpha.size else self.chains.C)
        self.idle = np.append(self.idle, 0.0)

    def solve(self) -> Vector:
        """Solve the dual over the planes, drop the idle ones, and return w = Σ αⱼgⱼ."""
        C, count = self.chains.C, self.c.size
        # in units of C the weights sum to one at any scale of the problem
        form = QP(
            P=scipy.sparse.csc_array(C * (self.g @ self.g.T)),
            q=-self.c,
            G=None,
            h=None,
            A=scipy.sparse.csc_array(np.ones((1, count))),
            b_eq=np.ones(1),
            lb=np.zeros(count),
            ub=np.full(count, np.inf),
        )
        solver = CvxoptQP(tol=1e-10)
        *_, last = solver.iterates(solver.prepare(form))
        assert last.x is not None
        weights = np.maximum(last.x, 0.0)
        self.alpha = C * weights / weights.sum()
        self.idle = np.where(self.alpha > 1e-12 * C, 0.0, self.idle + 1.0)
        keep = self.idle < 50  # iterations with weight 0
        keep[0] = True  # the plane of the true labels, so that R ≥ 0
        self.labels = [labels for labels, is_kept in zip(self.labels, keep, strict=True) if is_kept]
        self.g, self.c, self.idle = self.g[keep], self.c[keep], self.idle[keep]
        self.alpha = self.alpha[keep] * (C / self.alpha[keep].sum())
        w = self.alpha @ self.g
        self.value = float(self.alpha @ self.c) - 0.5 * float(w @ w)
        return w

    def marginals(self) -> Block:
        """Return Σ αⱼ·marginals(labelsⱼ), shape (n, K²)."""
        total = np.zeros((*self.chains.y.shape, self.chains.K**2))
        for weight, labels in zip(self.alpha, self.labels, strict=True):
            if weight:
                total += weight * self.chains.marginals(labels)
        return total.reshape(self.chains.y.size, -1)
