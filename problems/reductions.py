"""From a formulation to the form a solver wants, and the way back to (alpha, w, b).

`reduce(problem, BoxQP)` is a pure function of the problem, which knows its forms itself. Problems
whose loss is piecewise linear reduce to the `BoxQP` of their dual, and to `QP` in their own view; those
with a finite loss and one intercept to `ERM`. Where mathematics has no way, `Unsupported` says what is
missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from problems.chains import Chains
from problems.forms import ERM, QP, BoxQP, FormPoint, Point
from problems.gram.gram import GIBIBYTE, Gram

if TYPE_CHECKING:
    from problems.formulations.formulation import Formulation

F = TypeVar("F", BoxQP, QP, ERM, Chains)


class Unsupported(Exception):
    """No chain leads from a problem to a solver; the message is the sentence to show."""


@dataclass(frozen=True, eq=False)
class Reduction(Generic[F]):
    """A form, and the function that takes its points back to the formulation."""

    form: F
    recover: Callable[[FormPoint], Point]


def reduce(
    problem: Formulation,
    form: type[F],
    start: Point | None = None,
    memory: int = GIBIBYTE,
    gram: Gram | None = None,
) -> Reduction[F]:
    """Return `problem` as a `BoxQP`, `QP`, `ERM` or `Chains`.

    Parameters
    ----------
    problem : any formulation.
    form : the class of form wanted.
    start : where to begin; its `alpha` is made feasible first.
    memory : bytes that the form's Gram matrix may keep.
    gram : the Gram matrix of these samples to go by, None for a new one.

    Raises
    ------
    Unsupported
        If the formulation has no such form; the message says why.
    """
    makers: dict[Any, Any] = {
        BoxQP: problem.to_box,
        QP: problem.to_qp,
        ERM: problem.to_erm,
        Chains: problem.to_chains,
    }
    return makers[form](problem.gram(memory) if gram is None else gram, start)
