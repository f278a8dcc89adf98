"""The optimum of logistic and softmax risks, in balls of some hundred digits.

    min over W, b   ½‖W‖² + C Σᵢ [ln Σₖ exp(fᵢₖ) − fᵢ,yᵢ],      f = Kβ + b,   W = Σ βᵢφ(xᵢ)ᵀ
Logistic regression has one score a sample, beside one that is 0. At the optimum β = C(e_y − p) with
p = softmax(f): Newton's method in β and b, whose step is shortened until the objective falls. The dual
    −½ Σₖ βₖᵀKβₖ − C Σᵢₖ pᵢₖ·ln pᵢₖ,   βᵢ = C(e_yᵢ − pᵢ)
of any distributions p is a lower bound, the objective itself an upper one (Rockafellar 1970).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq
from tests.differential.kernels import exact_gram, exact_rows, inner
from tests.differential.posed import NARROW, ZERO, Values, exact_weights, rational

from dualgap.problems import Certificate, Formulation, Point, SoftmaxERM

_PRECISIONS = (400, 2000)  # bits: most problems need no more than the first
_STEPS = 500
_DIGITS = 100_000  # binary ones, below which exp(−10⁹) is 0
_FAR = 2**20  # times the scores, where no offset is looked for

Scores = list[list[Any]]  # a row for each sample


class SmoothReference:
    """The optimum of a logistic or softmax risk, within [lower, upper]."""

    def __init__(self, problem: Formulation, C: list[fmpq | None] | None = None) -> None:
        self.problem, self.one = problem, not isinstance(problem, SoftmaxERM)
        self.C = C or exact_weights(problem)
        y = problem.y.astype(int).tolist()
        self.target = [int(v < 0) for v in y] if self.one else y  # score 1 is the one that is 0
        self.free = 1 if self.one else int(problem.outputs)
        self._solve_to(_PRECISIONS[0])

    def _solve_to(self, bits: int) -> None:
        """Find the optimum with so many bits, or with more if they do not do."""
        self.bits = bits
        with ctx.workprec(bits):
            K, error = exact_gram(self.problem.X, self.problem.kernel, bits)
            self.K = [[arb(v, error) for v in row] for row in K]
            try:
                self._solve()
            except ArithmeticError:
                if bits == _PRECISIONS[-1]:
                    raise
                self._solve_to(_PRECISIONS[-1])

    is_infeasible = False
    may_be_zero = False

    def _solve(self) -> None:
        y, zero = self.problem.y, [[arb(0)] * self.free for _ in self.target]
        self.beta, self.offset = zero, arb(0)
        if self.problem.intercept and (y == y[0]).all():
            self.lower = self.upper = ZERO  # approached as the offset grows
            return
        self._newton()
        p = [[v.mid() for v in row] for row in self._softmax(self._decision())]
        beta = self._balanced([self._coefficients(*row) for row in enumerate(p)])
        dual, primal = self.dual(beta), self.primal(self.scores(self.beta), self.norm2(self.beta))
        self.lower, self.upper = _end(dual, False), _end(primal, True)
        if self.upper - self.lower > NARROW * self.upper:
            raise ArithmeticError(f"{self.bits} bits do not tell the optimum")

    def scores(self, beta: Scores) -> Scores:
        """Return Kβ."""
        return [
            [
                sum((k * b[c] for k, b in zip(row, beta, strict=True)), arb(0))
                for c in range(self.free)
            ]
            for row in self.K
        ]

    def norm2(self, beta: Scores) -> Any:
        """Return Σₖ βₖᵀKβₖ."""
        pairs = zip(beta, self.scores(beta), strict=True)
        return sum(
            (b * f for column, row in pairs for b, f in zip(column, row, strict=True)), arb(0)
        )

    def primal(self, scores: Scores, norm2: Any) -> Any:
        """Return the primal objective for scores, to which the offset is added."""
        total = norm2 / 2
        for f, k, C in zip(self._shifted(scores), self.target, self.C, strict=True):
            other_terms = sum(((v - f[k]).exp() for j, v in enumerate(f) if j != k), arb(0))
            total += arb(C) * other_terms.log1p()
        return total

    def dual(self, beta: Scores) -> Any:
        """Return the dual objective of a feasible β."""
        total = -self.norm2(beta) / 2
        for coefficients, k, C in zip(beta, self.target, self.C, strict=True):
            p = [int(j == k) - b / C for j, b in enumerate(coefficients)]
            p += [1 - p[0]] if self.one else []
            total -= arb(C) * sum((v * v.log() for v in map(arb, p) if v != 0), arb(0))
        return total

    def _shifted(self, scores: Scores) -> Scores:
        last = [arb(0)] if self.one else []
        return [[v + self.offset for v in row] + last for row in scores]

    def _decision(self) -> Scores:
        return self._shifted(self.scores(self.beta))

    def _softmax(self, decision: Scores) -> Scores:
        return [[1 / sum(((v - score).exp() for v in f), arb(0)) for score in f] for f in decision]

    def _coefficients(self, i: int, p: Sequence[Any]) -> list[Any]:
        """Return C(e_y − p) in rationals, from the entries of p that are not the label's."""
        k = self.target[i]
        shifted = [ZERO if j == k else _exact(v) for j, v in enumerate(p)]
        shifted[k] = -sum(shifted, ZERO)
        return [-self.C[i] * v for v in shifted[: self.free]]

    def _balanced(self, beta: Scores) -> Scores:
        """Return β with a sum of 0 where there is an offset: the sample farthest from 0 and C moves."""
        if not self.problem.intercept:
            return beta
        slack = [min(abs(b[0]), C - abs(b[0])) for b, C in zip(beta, self.C, strict=True)]
        widest, excess = slack.index(max(slack)), sum((b[0] for b in beta), ZERO)
        if not abs(excess) < slack[widest]:
            raise ArithmeticError("no sample has room for what rounding left")
        beta[widest] = [beta[widest][0] - excess]
        return beta

    def _newton(self) -> None:
        tolerance = arb(2) ** (-self.bits // 2)  # of β; the step after such a one gives all digits
        objective, is_last = self._objective(), False
        for _ in range(_STEPS):
            old, offset, (step, shift) = self.beta, self.offset, self._step()
            size = arb(1)
            while True:
                pairs = zip(old, step, strict=True)
                self.beta = [[(b + size * s).mid() for b, s in zip(*p, strict=True)] for p in pairs]
                self.offset = (offset + size * shift).mid()
                value = self._objective()
                if value <= objective * (1 + tolerance) or size < tolerance:
                    break
                size /= 2
            objective = value
            if is_last:
                return
            largest = max(abs(b) for row in self.beta for b in row)
            is_last = bool(max(abs(s) for row in step for s in row) <= tolerance * largest)
            is_last = is_last and bool(abs(arb(shift)) <= tolerance * (1 + abs(self.offset)))
        raise ArithmeticError("Newton's method has not converged")

    def _objective(self) -> Any:
        return self.primal(self.scores(self.beta), self.norm2(self.beta)).mid()

    def _step(self) -> tuple[Scores, Any]:
        """Return the step of β and of the offset from the equations linearised at them."""
        n, m, border = len(self.target), self.free, int(self.problem.intercept)
        rows, right = [], []
        for i, p in enumerate(self._softmax(self._decision())):
            C, k = self.C[i], self.target[i]
            for a in range(m):
                remainder = sum((v for j, v in enumerate(p) if j != a), arb(0))  # 1 − p_a
                slopes = [C * p[a] * (remainder if a == c else -p[c]) for c in range(m)]
                row = [slopes[c] * self.K[i][j] for j in range(n) for c in range(m)]
                row[i * m + a] += 1
                rows.append(row + slopes[:1] * border)
                right.append(C * (remainder if a == k else -p[a]) - self.beta[i][a])
        if border:
            rows.append([arb(1)] * n + [arb(0)])
            right.append(-sum((b[0] for b in self.beta), arb(0)))
        matrix = arb_mat([[v.mid() for v in map(arb, row)] for row in rows])
        solution = matrix.solve(arb_mat([[v.mid()] for v in map(arb, right)])).entries()
        shift = solution.pop() if border else arb(0)
        return [solution[i * m : (i + 1) * m] for i in range(n)], shift

    def point(self) -> Point:
        beta = np.array([[float(b) for b in row] for row in self.beta])
        return Point(self.problem.risk.alpha(beta[:, 0] if self.one else beta))

    def size_at_zero(self) -> fmpq:
        self.offset = arb(0)
        return _end(self.primal([[arb(0)] * self.free for _ in self.target], arb(0)), True)

    def unresolved(self) -> fmpq:
        return ZERO

    def values(self, c: Certificate, answer: Point) -> Values:
        """Return the primal objective of the certified weights or multipliers, the better one."""
        self.offset, objectives = arb(sum(c.offsets)), []
        with ctx.workprec(self.bits):
            if c.point.alpha is not None:
                alpha = self.problem.risk.beta(c.point.alpha).reshape(self.problem.n, -1)
                beta = [[rational(v) for v in row] for row in alpha.tolist()]
                objectives.append(self._at_best_offset(self.scores(beta), self.norm2(beta)))
            if c.point.w is not None:
                columns = c.point.w.reshape(self.problem.d, -1).T.tolist()
                w = [[rational(v) for v in column] for column in columns]
                scores = [[inner(x, weights) for weights in w] for x in exact_rows(self.problem.X)]
                objectives.append(
                    self._at_best_offset(scores, arb(sum((inner(v, v) for v in w), ZERO)))
                )
            return Values(min((_end(v, False) for v in objectives), default=None))

    def _at_best_offset(self, scores: Scores, norm2: Any) -> Any:
        """Return the primal objective at the offset where its slope is 0, which float64 may not have."""
        if not self.problem.intercept:
            return self.primal(scores, norm2)
        farthest = 1 + max(abs(arb(f[0])) for f in scores).mid()
        reach = farthest
        while self._slope(scores, -reach) > 0 or self._slope(scores, reach) < 0:
            reach *= 2
            if reach > _FAR * farthest:  # there is one class, and no such offset
                return self.primal(scores, norm2)
        low, high = -reach, reach
        for _ in range(self.bits):
            middle = ((low + high) / 2).mid()
            low, high = (low, middle) if self._slope(scores, middle) > 0 else (middle, high)
        self.offset = low
        return self.primal(scores, norm2)

    def _slope(self, scores: Scores, offset: Any) -> Any:
        """Return Σ C(p − e_y) for scores with an offset."""
        self.offset, total = offset, arb(0)
        for p, k, C in zip(self._softmax(self._shifted(scores)), self.target, self.C, strict=True):
            total += C * (-p[1] if k == 0 else p[0])
        return total.mid()


def _exact(value: Any) -> fmpq:
    """Return the middle of a ball as a rational, 0 for what would take a gigabyte of digits."""
    mantissa, exponent = value.mid().man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent) if exponent > -_DIGITS else ZERO


def _end(value: Any, upper: bool) -> fmpq:
    """Return the upper or the lower end of a ball."""
    end = value.upper() if upper else value.lower()
    return _exact(end) or (fmpq(1, 2**_DIGITS) if upper and end > 0 else ZERO)
