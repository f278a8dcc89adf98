"""Kernels k(x, z) = φ(x)ᵀφ(z), one class each, and their algebra.

base         a kernel and its values on bound samples; sum, product and positive multiple of kernels
dot          kernels of inner products, and the Gaussian one
standard     linear, polynomial, sigmoid, and a precomputed Gram matrix
features     kernels of explicit features
algebra      exponential and polynomial of a kernel
coordinates  a kernel on a subset of the coordinates; xᵀAz
sets, strings, graphs    kernels on symbolic samples
fisher       a kernel based on a Gaussian mixture

Samples are always rows of numbers, so that data sets, solvers and certificates need not handle symbols:
a set is a row of zeros and ones, a string a row of letter numbers, a graph the lower triangle of its
adjacency matrix with vertex labels on the diagonal. 0 means "absent" in all of them, so rows may be
padded with zeros and stored sparse. Use `encode_sets`, `encode_strings` and `encode_graphs` to create
such rows; each kernel decodes them.
"""

from dualgap.problems.kernels.algebra import Exponential, PolynomialOf, kernels_in
from dualgap.problems.kernels.base import Bound, Kernel, Product, Scaled, Sum
from dualgap.problems.kernels.coordinates import QuadraticForm, Subset
from dualgap.problems.kernels.dot import RBF, DotKernel
from dualgap.problems.kernels.features import FeatureKernel
from dualgap.problems.kernels.fisher import Fisher, FittedFisher
from dualgap.problems.kernels.graphs import WeisfeilerLehman, encode_graphs
from dualgap.problems.kernels.samples import (
    Block,
    Selection,
    as_dense,
    inner_products,
    squared_norms,
)
from dualgap.problems.kernels.sets import SetIntersection, encode_sets
from dualgap.problems.kernels.standard import Linear, Polynomial, Precomputed, Sigmoid
from dualgap.problems.kernels.strings import Spectrum, encode_strings
from dualgap.problems.registry import Registry

# The kernels that experiment files may name.
KERNELS = Registry(Kernel, "kernel", __name__)

__all__ = [
    "KERNELS",
    "RBF",
    "Block",
    "Bound",
    "DotKernel",
    "Exponential",
    "FeatureKernel",
    "Fisher",
    "FittedFisher",
    "Kernel",
    "Linear",
    "Polynomial",
    "PolynomialOf",
    "Precomputed",
    "Product",
    "QuadraticForm",
    "Scaled",
    "Selection",
    "SetIntersection",
    "Sigmoid",
    "Spectrum",
    "Subset",
    "Sum",
    "WeisfeilerLehman",
    "as_dense",
    "encode_graphs",
    "encode_sets",
    "encode_strings",
    "inner_products",
    "kernels_in",
    "squared_norms",
]
