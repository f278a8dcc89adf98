"""Answers to convex quadratic programs."""

from dataclasses import dataclass

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import FormPoint, as_column


@dataclass(frozen=True, eq=False)
class QPPoint:
    """Variables x (n,), multipliers z ≥ 0 of Gx ≤ h (m,) and y of Ax = b_eq (k,); None if unknown."""

    x: Vector | None = None
    z: Vector | None = None
    y: Vector | None = None

    def __post_init__(self) -> None:
        for name in ("x", "z", "y"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else as_column(value))

    @property
    def is_empty(self) -> bool:
        """Whether x is unknown, so that there is nothing to certify."""
        return self.x is None

    @property
    def as_form_point(self) -> FormPoint:
        """The same in the names of a `QP` form."""
        return FormPoint(self.x, inequality=self.z, equality=self.y)
