"""How the outputs wᵀφ(x) + b of an answer become decisions."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import matmul

from dualgap.problems.dataset import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Decision:
    """The decision function f(x) = scale·(wᵀφ(x) + b − minus(x)) of an answer.

    Attributes
    ----------
    minus : maps samples (m, d) to the terms (m,) subtracted; None for none, as f has a hyperplane.
    has_margin : whether f has a strip between two classes, of width 2·margin/‖w‖.
    margin : |f| on its margins.
    tube : the half-width of the tube around f; 0 for none.
    vote : maps f (m, outputs) of several binary problems to the classes' scores (m, K).
    scores : maps samples (m, d) and w to the outputs without b, by default Xw.
    """

    scale: float = 1.0
    minus: Callable[[Matrix], Vector] | None = None
    has_margin: bool = False
    margin: float = 1.0
    tube: float = 0.0
    vote: Callable[[Vector], Vector] | None = None
    scores: Callable[[Matrix, Vector], Vector] = matmul

    def values(self, outputs: Vector, X: Matrix) -> Vector:
        """Return f(x), or the classes' scores, for the outputs at the rows of `X` (m, d)."""
        f = self.scale * (outputs if self.minus is None else outputs - self.minus(X))
        return f if self.vote is None else self.vote(f)
