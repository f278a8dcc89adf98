"""Kernels k(x, z) = φ(x)ᵀφ(z), one class each, and their algebra.

base         a kernel and its values on bound samples; sum, product and positive multiple of kernels
features     kernels of a feature map that is computed
standard     linear, polynomial, sigmoid, and a Gram matrix in place of samples
gaussian     exp(−gamma·‖x − z‖²)
expansion    inner products for it, in float32 where that loses nothing
algebra      exponential and polynomial of a kernel
coordinates  a kernel on a subset of the coordinates; xᵀAz
sets, strings, graphs    kernels on symbolic samples
fisher       a kernel made of a Gaussian mixture

Samples are rows of numbers throughout, so that data sets, solvers and certificates need to know nothing
of symbols: a set is a row of zeros and ones, a string a row of letter numbers, a graph the lower
triangle of its adjacency matrix with vertex labels on the diagonal. 0 means "nothing here" in all of
them, so rows may be padded with zeros and stored sparse. `encode_sets`, `encode_strings` and
`encode_graphs` make such rows, and each kernel decodes its own.
"""

from dualgap.problems.kernels.algebra import Exponential, PolynomialOf, kernels_in, uses_gram_matrix
from dualgap.problems.kernels.base import Bound, Kernel, Product, Scaled, Sum
from dualgap.problems.kernels.coordinates import QuadraticForm, Subset
from dualgap.problems.kernels.fisher import Fisher, FittedFisher
from dualgap.problems.kernels.gaussian import RBF
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

# What experiment files may name.
KERNELS = Registry(__name__, Kernel, "kernel")

__all__ = [
    "KERNELS",
    "RBF",
    "Block",
    "Bound",
    "Exponential",
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
    "uses_gram_matrix",
]
