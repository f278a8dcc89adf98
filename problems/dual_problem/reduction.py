"""From a formulation to the form a solver wants, and the way back to (alpha, w, b).

`reduce(problem, BoxQP)` is a pure function of the problem, which knows its forms itself. Problems
whose loss is piecewise linear reduce to the `BoxQP` of their dual, and to `QP` in their own view; those
with a finite loss and one intercept to `ERM`. Where mathematics has no way, `Unsupported` says what is
missing.
"""

from __future__ import annotations

from typing import Any

from problems.chains import Chains
from problems.dual_problem.dual import DualProblem
from problems.forms import ERM, QP, BoxQP, F, Point, Reduction
from problems.gram.gram import GIBIBYTE, Gram


def reduce(
    problem: DualProblem,
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
