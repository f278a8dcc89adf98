"""What a solver cannot take it refuses in a sentence that names the unmet need."""

from collections.abc import Iterable

import numpy as np
import pytest
from tests.small_problems import CLASSES, NU, TARGETS, X, Y
from tests.solvers.external.baseline_problems import KERNEL, LINEAR

from dualgap import problems as p
from dualgap import solvers as s
from dualgap.problems.losses import EpsilonInsensitive

ONES, MANY = np.ones(Y.size), p.datasets.load("four_gaussians", n=1200, seed=0)


def soft(samples=X, kernel=p.Linear(), y=Y, **options):  # noqa: B008
    return p.SoftMarginDual(samples, y, 1.0, kernel, **options)


def risk(loss="hinge", y=Y, samples=X, **options):
    return p.RegularizedERM(samples, y, 0.1, loss, **options)


HARD, SOFTMAX = p.HardMarginDual(X, Y, p.RBF(1.0)), p.SoftmaxERM(X, CLASSES, 0.1)
LOGISTIC = risk("logistic", intercept=True)
TUBE = risk(EpsilonInsensitive(0.3), TARGETS, intercept=True)
LARGE, INDEFINITE = soft(MANY.X, p.RBF(0.05), MANY.y), soft(kernel=p.Sigmoid(0.5, -1.0))
PRECOMPUTED = soft(X @ X.T, p.Precomputed())
QP = p.ConvexQP(P=np.eye(2), q=[1.0, 1.0], A=[[1.0, 1.0]], b_eq=[1.0], lb=0)
NOTEBOOK = s.ProjectedGradient("notebook")
# a problem, what it lacks, and solvers that need it
NEEDS: list[tuple[p.Problem, str, Iterable[s.Solver]]] = [
    (KERNEL["rbf, a C for each"], "the linear kernel", [s.LibLinear(), s.LibLinearMulticore()]),
    (KERNEL["rbf, a C for each"], "the linear kernel", [s.SGD(), s.SnapML()]),
    (soft(kernel=p.RBF(1.0)), "the linear kernel", [s.DualCoordinateDescent()]),
    (risk("squared_hinge", kernel=p.RBF(1.0)), "linear kernel", [s.FiniteNewton()]),
    (soft(kernel=p.Polynomial(2)), "RBF kernel", [s.RandomFourier()]),
    (PRECOMPUTED, "one of the kernels linear, RBF, polynomial and", [s.LibSVMOpenMP(), s.OneDAL()]),
    (INDEFINITE, "positive semidefinite", [s.QPSolversQP(), s.CvxoptQP(), s.CvxpyQP()]),
    (INDEFINITE, "positive semidefinite", [s.InteriorPoint(), s.SemismoothNewton()]),
    (risk("logistic", kernel=p.Sigmoid(1.0, -1.0)), "a positive semidefinite kernel", [s.LBFGS()]),
    (KERNEL["linear"], "an unregularised intercept", [s.LibLinear(), s.LibLinearMulticore()]),
    (KERNEL["linear"], "an unregularised intercept", [s.SGD(), s.SnapML()]),
    (TUBE, "an unregularised intercept", [s.Pegasos()]),
    (LOGISTIC, "an unregularised intercept", [s.SDCA()]),
    (risk("squared_hinge", intercept=True), "intercept", [s.FiniteNewton()]),
    (LINEAR["one C"], "a problem with an intercept", [s.LibSVM(), s.LibSVMOpenMP(), s.OneDAL()]),
    (LINEAR["one C"], "a problem with an intercept", [s.LibLinearIntercept()]),
    (p.HardMarginDual(X, Y, intercept=False), "a hard margin with an intercept", [NOTEBOOK]),
    (soft(), "a hard margin with an intercept", [NOTEBOOK]),
    (soft(), "slack", [s.Perceptron()]),
    (HARD, "no hard margin", [s.LibSVM(), s.OneDAL()]),
    (HARD, "finite bounds", [s.SemismoothNewton(), s.Nystroem()]),
    (p.HardMarginDual(X, Y), "no form in blocks", [s.NearRows()]),
    (p.NuSVC(X, Y, 0.3, p.RBF(1.0)), "one equality", [s.SemismoothNewton()]),
    (risk(y=ONES), "both classes", [s.LibLinear(), s.LibLinearMulticore(), s.SnapML()]),
    (soft(y=ONES), "both classes", [s.LibSVM()]),
    (p.SoftMarginPrimal(X, ONES), "both classes", [s.LDA()]),
    (LINEAR["a C for each"], "one C for all samples", [s.LibLinearMulticore(), s.SnapML()]),
    (KERNEL["rbf, a C for each"], "one C for all samples", [s.LibSVMOpenMP()]),
    (KERNEL["regression, a C for each"], "one C for all samples", [s.LibSVMOpenMP()]),
    (LINEAR["regression"], "requires the hinge loss", [s.LibLinearMulticore(), s.SnapML()]),
    (risk("logistic"), "the hinge or the epsilon-insensitive loss", [s.Pegasos()]),
    (risk(), "a smooth loss", [s.LBFGS(), s.NewtonCG()]),
    (TUBE, "a smooth loss", [s.LBFGS(), s.NewtonCG()]),
    (risk(), "squared loss", [s.FiniteNewton()]),
    (SOFTMAX, "or the logistic", [s.SDCA(), s.StochasticSubgradient()]),
    (LOGISTIC, "one of the duals C-SVC", [s.LibSVM()]),
    (p.SVDD(X, 0.2), "one of the duals C-SVC", [s.LibSVM()]),
    (NU["one_class"], "one of the duals C-SVC, epsilon-SVR, ν-SVC and ν-SVR", [s.OneDAL()]),
    (risk(), "structured", [s.CuttingPlane()]),
    (p.ChainMargin(X[:6], np.arange(6) % 2, 2), "cannot be stated as a kernel QP", [s.SMO()]),
    (QP, "cannot be stated as a box QP, only as a quadratic program", [s.InteriorPoint()]),
    (LARGE, "at most", [s.Mystic()]),
    (risk("squared_hinge", samples=np.tile(X, 501)), "2000 features", [s.FiniteNewton()]),
    (soft(), "no limit on its iterations", [s.QPSolversQP("quadprog", max_iter=5)]),
]


@pytest.mark.parametrize(
    ("problem", "words", "solvers"), NEEDS, ids=[words for _, words, _ in NEEDS]
)
def test_an_unmet_need_is_named_in_a_sentence(
    problem: p.Problem, words: str, solvers: Iterable[s.Solver]
) -> None:
    for solver in solvers:
        solution = s.solve(problem, solver)
        assert solution.status is s.Status.UNSUPPORTED, solver
        assert solution.verdict != "solved", solver
        assert words in solution.reason, solver
