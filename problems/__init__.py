"""What is solved: formulations, kernels, the three forms, and certificates."""

from problems.answers.certify import certify
from problems.answers.geometry import Geometry, describe
from problems.certificates.certificate import Certificate
from problems.compilation import announce_compilation, compile_what_cannot_be_read
from problems.dataset import Dataset, Matrix, Vector
from problems.forms import ERM, QP, BoxQP, FormPoint, Point, Unsupported, reduce
from problems.formulations.convex_qp import ConvexQP
from problems.formulations.erm import HingeERM, RegularizedERM
from problems.formulations.formulation import Formulation
from problems.formulations.multiclass import Multiclass, OneVsOne, OneVsRest
from problems.formulations.nu.nu_svc import NuSVC
from problems.formulations.nu.nu_svr import NuSVR
from problems.formulations.nu.one_class import OneClassSVM
from problems.formulations.softmax import SoftmaxERM
from problems.formulations.structured import ChainMargin
from problems.formulations.svdd import SVDD
from problems.formulations.svm import (
    HardMarginDual,
    HardMarginPrimal,
    SoftMarginDual,
    SoftMarginPrimal,
)
from problems.formulations.svr import SVRDual, SVRPrimal
from problems.gram.gram import Gram
from problems.kernels import (
    RBF,
    Exponential,
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
from problems.registry import Registry

compile_what_cannot_be_read()
announce_compilation()

# Every formulation in `formulations/` and of plug-ins, by its name in experiment files.
FORMULATIONS = Registry(
    "problems.formulations", Formulation, "formulation", group="dualgap.formulations"
)

__all__ = [
    "ERM",
    "FORMULATIONS",
    "QP",
    "RBF",
    "SVDD",
    "BoxQP",
    "Certificate",
    "ChainMargin",
    "ConvexQP",
    "Dataset",
    "Exponential",
    "Fisher",
    "FittedFisher",
    "FormPoint",
    "Formulation",
    "Geometry",
    "Gram",
    "HardMarginDual",
    "HardMarginPrimal",
    "HingeERM",
    "Kernel",
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
    "Product",
    "QuadraticForm",
    "RegularizedERM",
    "SVRDual",
    "SVRPrimal",
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
    "reduce",
]
