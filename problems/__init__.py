"""SVM problems: formulations, kernels, the three canonical forms, and certificates."""

from dualgap.problems.answers.geometry import Geometry, describe
from dualgap.problems.compilation import announce_compilation, recompile_unreadable_caches
from dualgap.problems.dataset import Dataset, Matrix, Vector
from dualgap.problems.forms import ERM, QP, BoxQP, FormPoint, KernelQP, Point, Unsupported
from dualgap.problems.formulations.erm import HingeERM, RegularizedERM
from dualgap.problems.formulations.formulation import Formulation, SampleProblem
from dualgap.problems.formulations.multiclass import Multiclass, OneVsOne, OneVsRest
from dualgap.problems.formulations.nu import SVDD, NuSVC, NuSVR, OneClassSVM
from dualgap.problems.formulations.softmax import SoftmaxERM
from dualgap.problems.formulations.structured import ChainMargin
from dualgap.problems.formulations.svm import (
    HardMarginDual,
    HardMarginPrimal,
    SoftMarginDual,
    SoftMarginPrimal,
)
from dualgap.problems.formulations.svr import SVRDual, SVRPrimal
from dualgap.problems.gram.gram import Gram
from dualgap.problems.kernels import (
    RBF,
    DotKernel,
    Exponential,
    FeatureKernel,
    Fisher,
    FittedFisher,
    Kernel,
    Linear,
    Polynomial,
    PolynomialOf,
    Precomputed,
    Product,
    QuadraticForm,
    Scaled,
    SetIntersection,
    Sigmoid,
    Spectrum,
    Subset,
    Sum,
    WeisfeilerLehman,
    encode_graphs,
    encode_sets,
    encode_strings,
)
from dualgap.problems.losses import Hinge
from dualgap.problems.problem import Problem, certify, reduce
from dualgap.problems.problem.certificate import Certificate
from dualgap.problems.problem.task import TARGETS
from dualgap.problems.quadratic.convex_qp import ConvexQP
from dualgap.problems.quadratic.point import QPPoint
from dualgap.problems.registry import Registry
from dualgap.problems.risk.risk import Risk, one_offset

recompile_unreadable_caches()
announce_compilation()

# The formulations, `ConvexQP` and those of plug-ins, by their names in experiment files.
FORMULATIONS = Registry(
    Problem,
    "formulation",
    "dualgap.problems.formulations",
    "dualgap.problems.quadratic",
    group="dualgap.formulations",
)

__all__ = [
    "ERM",
    "FORMULATIONS",
    "QP",
    "RBF",
    "SVDD",
    "TARGETS",
    "BoxQP",
    "Certificate",
    "ChainMargin",
    "ConvexQP",
    "Dataset",
    "DotKernel",
    "Exponential",
    "FeatureKernel",
    "Fisher",
    "FittedFisher",
    "FormPoint",
    "Formulation",
    "Geometry",
    "Gram",
    "HardMarginDual",
    "HardMarginPrimal",
    "Hinge",
    "HingeERM",
    "Kernel",
    "KernelQP",
    "Linear",
    "Matrix",
    "Multiclass",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "OneVsOne",
    "OneVsRest",
    "Point",
    "Polynomial",
    "PolynomialOf",
    "Precomputed",
    "Problem",
    "Product",
    "QPPoint",
    "QuadraticForm",
    "RegularizedERM",
    "Risk",
    "SVRDual",
    "SVRPrimal",
    "SampleProblem",
    "Scaled",
    "SetIntersection",
    "Sigmoid",
    "SoftMarginDual",
    "SoftMarginPrimal",
    "SoftmaxERM",
    "Spectrum",
    "Subset",
    "Sum",
    "Unsupported",
    "Vector",
    "WeisfeilerLehman",
    "certify",
    "describe",
    "encode_graphs",
    "encode_sets",
    "encode_strings",
    "one_offset",
    "reduce",
]
