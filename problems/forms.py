"""The three canonical forms a solver can ask for.

`QP`      min ½xᵀPx + qᵀx   s.t. Gx ≤ h, A x = b_eq, lb ≤ x ≤ ub
`BoxQP`   min ½xᵀQx + pᵀx   s.t. aᵀx = delta (or none), lb ≤ x ≤ ub
`ERM`     min ½‖w‖² + Σᵢ Cᵢ·loss(yᵢ, wᵀφ(xᵢ) + b)   (b = 0 without intercept)

A form is what a solver is given and never changes. `start` is where to begin, if the caller has an
idea; a solver may ignore it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import scipy

from problems.dataset import Vector
from problems.gram.gram import Gram, SignedGram
from problems.losses import Loss

Claim = Literal["optimal", "infeasible", "stopped", "none"]


@dataclass(frozen=True, eq=False)
class BoxQP:
    """min ½xᵀQx + pᵀx s.t. aᵀx = delta, lb ≤ x ≤ ub; no equality when `a` is None.

    Shapes: `Q` (n, n) as an operator, `p, a, lb, ub, start` (n,). `ub` may be +inf.
    `start`, if there is one, is feasible.
    """

    Q: SignedGram
    p: Vector
    a: Vector | None
    delta: float
    lb: Vector
    ub: Vector
    start: Vector | None = None

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.p.size

    @property
    def gram(self) -> Gram:
        """The Gram matrix behind Q, which counts kernel evaluations."""
        return self.Q.gram


@dataclass(frozen=True, eq=False)
class QP:
    """min ½xᵀPx + qᵀx s.t. Gx ≤ h, A x = b_eq, lb ≤ x ≤ ub.

    `P` is a sparse matrix, or the Gram operator of a dual (its `dense()` is computed by the solver,
    on the solver's time). `G`, `A` are sparse or None; infinite bounds are none.
    """

    P: scipy.sparse.csc_array | SignedGram
    q: Vector
    G: scipy.sparse.csc_array | None
    h: Vector | None
    A: scipy.sparse.csc_array | None
    b_eq: Vector | None
    lb: Vector
    ub: Vector
    start: Vector | None = None

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.q.size

    @property
    def gram(self) -> Gram | None:
        """The Gram matrix behind P, where there is one."""
        return self.P.gram if isinstance(self.P, SignedGram) else None


@dataclass(frozen=True, eq=False)
class ERM:
    """min ½‖w‖² + Σᵢ Cᵢ·loss(yᵢ, wᵀφ(xᵢ) + b), the regularised empirical risk.

    With λ = 1/ΣCᵢ this is 1/λ times (λ/2)‖w‖² + Σᵢ (Cᵢ/ΣC)·lossᵢ. For a linear kernel φ(x) = x and
    w is a vector; else w = Σᵢ βᵢφ(xᵢ) is known through β alone. `start` is such a β, shape (n,).
    The softmax loss has K scores a sample: w is (d, K), β (n, K).
    """

    gram: Gram
    y: Vector
    C: Vector
    loss: Loss
    intercept: bool
    start: Vector | None = None

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.y.size


Form = BoxQP | QP | ERM


@dataclass(frozen=True, eq=False)
class FormPoint:
    """What a solver shows when it yields: its current answer, in the variables of its form.

    Attributes
    ----------
    x : the form's variables: BoxQP and QP (n,); ERM: w (d,), or None where only beta is known.
    beta : ERM only: coefficients of w = Σ βᵢφ(xᵢ), if the method carries them, shape (n,).
    b : ERM only: the intercept.
    inequality : QP only: multipliers of Gx ≤ h, if the method has them.
    iterations : the method's own count so far.
    claim : what the solver says of this point; the last one yielded counts.
    counters : anything else worth recording, by name.
    note : a sentence for the record's reason, of the last point.
    """

    x: Vector | None
    beta: Vector | None = None
    b: float | None = None
    inequality: Vector | None = None
    iterations: int = 0
    claim: Claim = "none"
    counters: Mapping[str, float] = field(default_factory=dict[str, float])
    note: str = ""


@dataclass(frozen=True, eq=False)
class Point:
    """An answer to a formulation: dual variables, weights, intercept; None for what is not known.

    `alpha` (n,) has soft-margin scaling for every face of a problem; for regression it is α − α*.
    For K classes `alpha` is (n, K) and `w` (d, K); for several binary problems `b` is (parts,) too.
    """

    alpha: Vector | None = None
    w: Vector | None = None
    b: float | Vector | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "w"):
            value = getattr(self, name)
            if value is not None:
                array = np.asarray(value, dtype=np.float64)
                one_column = array.ndim != 2 or array.shape[1] == 1
                object.__setattr__(self, name, array.ravel() if one_column else array)
