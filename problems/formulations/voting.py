"""The vote on a sample's class, by the outputs fⱼ of several binary problems.

majority  a vote for the winner of each subproblem, k where fⱼ ≥ 0 and l where fⱼ < 0
soccer    3 points for the winner, 0 for the loser (Gori's notes): by itself that is the majority, so
          inside the margin, |fⱼ| < 1, there is a draw of 1 point each, as football counts it;
          a support vector on the margin has won, however a solver rounds it
margin    the winner gets |fⱼ|, the loser loses as much
Against the rest only class k can win anything. A tie goes to the larger sum of margins, hence against
the rest to the largest fₖ whichever the rule is. Where the vote itself is tied it is *ambiguous*:
against the rest where no class or several claim a sample (Bishop 2006, section 4.1.2, figure 4.2;
NPFL129 notes).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from problems.kernels import Block

Voting = Literal["majority", "soccer", "margin"]
# solvers leave f = 1 with an error of their tolerance, LIBSVM's is 1e-3
_ON_MARGIN = 1e-3


def points(f: Block, voting: Voting) -> tuple[Block, Block]:
    """Return what the outputs `f` (m, outputs) give to the positive and to the negative side."""
    if voting == "majority":
        return np.where(f >= 0, 1.0, 0.0), np.where(f < 0, 1.0, 0.0)
    if voting == "margin":
        return f, -f
    won, lost = f >= 1.0 - _ON_MARGIN, f <= _ON_MARGIN - 1.0
    return np.select([won, lost], [3.0, 0.0], 1.0), np.select([lost, won], [3.0, 0.0], 1.0)
