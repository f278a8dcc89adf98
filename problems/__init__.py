"""What is solved: formulations, kernels, the three forms, and certificates."""

from problems.certificates import Certificate, certify
from problems.dataset import Dataset, Matrix, Vector
from problems.erm import HingeERM, RegularizedERM
from problems.forms import ERM, QP, BoxQP, FormPoint, Point
from problems.formulation import Formulation
from problems.geometry import Geometry, describe
from problems.gram import Gram
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
from problems.multiclass import Multiclass, OneVsOne, OneVsRest
from problems.reductions import Unsupported, reduce
from problems.softmax import SoftmaxERM
from problems.structured import ChainMargin
from problems.svm import HardMarginDual, HardMarginPrimal, SoftMarginDual, SoftMarginPrimal
from problems.svr import SVRDual, SVRPrimal

__all__ = [
    "ERM",
    "QP",
    "RBF",
    "BoxQP",
    "Certificate",
    "ChainMargin",
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
