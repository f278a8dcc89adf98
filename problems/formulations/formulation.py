"""What all formulations share: validated data, the box of their dual, and their identity.

A formulation is min ½‖w‖² + Σ Cᵢ·loss(yᵢ, wᵀφ(xᵢ) + b) over w and perhaps b, told in one of
several faces (primal, dual, regularised risk). Its dual has one coefficient αᵢ a sample, with
w = Σ βᵢφ(xᵢ): β = y∘α for classification, β = α (the α − α* of the textbooks) for regression.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import scipy

from problems.dataset import (
    Matrix,
    Vector,
    check_labels,
    check_samples,
    check_slack_weight,
    check_targets,
    content_hash,
)
from problems.gram.gram import GIBIBYTE, Gram
from problems.kernels import Kernel, Linear
from problems.losses import Hinge, Loss

Face = Literal["primal", "dual", "risk"]
Family = Literal["hard_margin", "soft_margin", "svr", "risk", "softmax", "structured", "multiclass"]


class Formulation:
    """Base of the formulations; every field is validated when one is built, and never changes.

    Attributes
    ----------
    face : how the problem is told; `objective` is in that face's own sign and scale.
    family : faces of one family with equal data are one problem; "risk" and "softmax" are told apart
        by their loss.
    source : where the problem is published.
    upper : (n,) bounds Cᵢ of the dual variables, inf for the hard margin.
    """

    X: Matrix
    y: Vector
    intercept: bool

    face: ClassVar[Face]
    family: ClassVar[Family]
    source: ClassVar[str] = ""
    kernel: Kernel = Linear()
    C: Any  # fields of some faces only, as are epsilon and lam

    def __post_init__(self) -> None:
        X = check_samples(self.X)
        self._set("X", X)
        self._set("y", self._check_y())
        if not isinstance(self.intercept, (bool, np.bool_)):
            raise ValueError(f"intercept: must be True or False, got {self.intercept!r}")
        self._set("intercept", bool(self.intercept))
        if not isinstance(self.kernel, Kernel):
            raise ValueError(
                f"kernel: must be a kernel such as RBF(gamma=0.1), got {self.kernel!r}"
            )
        self.kernel.check(X)
        self._set("kernel", self.kernel.fitted(X))
        if hasattr(self, "C"):
            self._set("C", check_slack_weight(self.C, X.shape[0]))
        self._check_diagonal()

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_y(self) -> Vector:
        return (check_targets if self.is_regression else check_labels)(self.y, self.n)

    def _check_diagonal(self) -> None:
        with np.errstate(over="ignore"):
            diagonal = self.kernel.diagonal(self.X)
        if not np.isfinite(diagonal).all():
            raise ValueError("X: its kernel values overflow float64; scale the features down")

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """Number of features."""
        return self.X.shape[1]

    @property
    def is_regression(self) -> bool:
        """Whether `y` holds real targets."""
        return self.family == "svr"

    @property
    def outputs(self) -> int:
        """Dual variables of one sample: 1, or K for K classes."""
        return 1

    @property
    def n_weights(self) -> int:
        """Entries of w, where it has coordinates."""
        return self.d * self.outputs

    def scores(self, X: Matrix, w: Vector) -> Vector:
        """Return the decision function's part Xw for the samples `X` (m, d)."""
        return X @ w

    def combine(self, f: Vector) -> Vector:
        """Return the decision for the outputs `f` (m, outputs): themselves, unless they vote."""
        return f

    @property
    def identity(self) -> tuple[Any, ...]:
        """What else tells problems of one family apart: the loss of a risk."""
        return (self.loss,) if self.family in ("risk", "softmax") else ()

    @property
    def is_linear(self) -> bool:
        """Whether w is a vector of weights on the features."""
        return isinstance(self.kernel, Linear)

    @property
    def tube(self) -> float:
        """Half-width of the regression's tube; 0 for classification."""
        return float(getattr(self, "epsilon", 0.0))

    @property
    def loss(self) -> Loss:
        """The loss of one sample."""
        return Hinge()

    @property
    def upper(self) -> Vector:
        """Upper bounds Cᵢ of the dual variables, shape (n,)."""
        return np.full(self.n, self.C, dtype=np.float64)

    @property
    def weight(self) -> Vector:
        """Weights Cᵢ of the losses, shape (n,); the same as `upper` where slopes are at most one."""
        return self.upper

    @cached_property
    def is_psd(self) -> bool:
        """Whether the Gram matrix is positive semidefinite: declared by the kernel, else tested."""
        return self.gram().is_positive_semidefinite()

    def gram(self, memory: int = GIBIBYTE) -> Gram:
        """Return a new Gram matrix of the samples, with its own count of evaluations."""
        return Gram(self.X, self.kernel, memory)

    def beta(self, alpha: Vector) -> Vector:
        """Return the coefficients of w = Σ βᵢφ(xᵢ) for dual variables `alpha` (n,)."""
        return alpha if self.is_regression else self.y * alpha

    def alpha(self, beta: Vector) -> Vector:
        """Return the dual variables for the coefficients `beta` (n,): the inverse of `beta`."""
        return beta if self.is_regression else self.y * beta

    def objective(self, primal: float, dual: float) -> float:
        """Return the value in this face's own sign and scale, from the family's two bounds."""
        return primal if self.face == "primal" else -dual

    @cached_property
    def hash(self) -> str:
        """Identity of this formulation: its class, data, kernel and every parameter."""
        values = [getattr(self, f.name) for f in fields(self)]  # type: ignore[arg-type]
        return content_hash(type(self).__name__, *values)[:16]

    @cached_property
    def family_hash(self) -> str:
        """Identity of the problem whichever face tells it."""
        # 12 digits: C = 1/(n·lam) comes back from lam = 1/(n·C) with a rounding error
        box = np.array([float(f"{c:.12g}") for c in np.unique(self.weight)])
        spread = self.weight if box.size > 1 else box
        X = scipy.sparse.csr_array(self.X)  # dense or sparse, it is the same problem
        told = self.family, X, self.y, self.kernel, spread, self.tube, self.intercept
        return content_hash(*told, *self.identity)[:16]
