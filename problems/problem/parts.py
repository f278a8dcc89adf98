"""Problems that are sums of independent problems, which share samples but no variable.

    min Σⱼ Fⱼ(wⱼ, bⱼ)
An answer has one column for each part: `alpha` (n, parts), where entries of samples outside a part are 0
and ignored, `w` (d, parts) and `b` (parts,). The bounds of a sum are the sums of the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.problems.dataset import Indices
from dualgap.problems.forms import Point
from dualgap.problems.problem.certificate import Certificate, sum_certificates


@dataclass(frozen=True, eq=False)
class Part:
    """One summand of a problem that is a sum of independent problems.

    Attributes
    ----------
    rows : indices of its samples in the whole problem; None if it is the whole problem.
    name : the name in messages; empty if it is the only part.
    """

    problem: Any
    rows: Indices | None = None
    name: str = ""


def split(problem: Any, point: Point) -> list[Point]:
    """Return the answer to each part of a problem."""
    if is_whole(problem):
        return [point]
    alpha = None if point.alpha is None else point.alpha.reshape(problem.n, -1)
    w = None if point.w is None else point.w.reshape(problem.d, -1)
    b = None if point.b is None else np.broadcast_to(point.b, len(problem.parts))
    return [
        Point(
            None if alpha is None else alpha[part.rows, j],
            None if w is None else w[:, j],
            None if b is None else float(b[j]),
        )
        for j, part in enumerate(problem.parts)
    ]


def join(problem: Any, points: Sequence[Point]) -> Point:
    """Return the answer to a problem from those to its parts; alpha, w and b only if all have them."""
    if is_whole(problem):
        return points[0]
    alphas, ws, bs = ([getattr(p, name) for p in points] for name in ("alpha", "w", "b"))
    alpha = None
    if all(a is not None for a in alphas):
        alpha = np.zeros((problem.n, len(points)))
        for j, part in enumerate(problem.parts):
            alpha[part.rows, j] = alphas[j]
    w = np.column_stack(ws) if all(w is not None for w in ws) else None
    return Point(alpha, w, np.array(bs) if all(b is not None for b in bs) else None)


def join_certificates(problem: Any, certificates: Sequence[Certificate]) -> Certificate:
    """Return the certificate of a problem from those of its parts, at the composed answer."""
    if is_whole(problem):
        return certificates[0]
    point = join(problem, [certificate.point for certificate in certificates])
    total = sum_certificates(certificates, [part.name for part in problem.parts])
    return replace(total, point=point)


def is_whole(problem: Any) -> bool:
    """Whether a problem is its own only part."""
    return problem.parts[0].problem is problem
