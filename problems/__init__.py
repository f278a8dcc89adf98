"""What is solved: formulations, kernels, the three forms, and certificates."""

from problems.certificates import Certificate, certify
from problems.dataset import Dataset, Matrix, Vector
from problems.erm import HingeERM
from problems.forms import ERM, QP, BoxQP, FormPoint, Point
from problems.formulation import Formulation
from problems.geometry import Geometry, describe
from problems.gram import Gram
from problems.kernels import (
    RBF,
    Kernel,
    Linear,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)
from problems.reductions import Unsupported, reduce
from problems.svm import HardMarginDual, HardMarginPrimal, SoftMarginDual, SoftMarginPrimal
from problems.svr import SVRDual, SVRPrimal

__all__ = [
    "ERM",
    "QP",
    "RBF",
    "BoxQP",
    "Certificate",
    "Dataset",
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
    "Point",
    "Polynomial",
    "Precomputed",
    "Product",
    "SVRDual",
    "SVRPrimal",
    "Scaled",
    "Sigmoid",
    "SoftMarginDual",
    "SoftMarginPrimal",
    "Sum",
    "Unsupported",
    "Vector",
    "certify",
    "describe",
    "reduce",
]
