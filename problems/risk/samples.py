"""Samples in the feature space of a kernel, and what is known about their Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dualgap.problems.dataset import HasSamples, Matrix
from dualgap.problems.gram.gram import GIBIBYTE, Gram
from dualgap.problems.gram.semidefinite import is_positive_semidefinite, psd_shift
from dualgap.problems.kernels import Kernel, Linear


@dataclass(frozen=True, eq=False)
class KernelSamples(HasSamples):
    """Samples φ(xᵢ) in the feature space of a kernel.

    Attributes
    ----------
    X : (n, d), or samples in blocks.
    shared_gram : their Gram matrix, shared by several problems; None if each creates its own.
    """

    X: Matrix
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    shared_gram: Gram | None = None

    @property
    def is_linear(self) -> bool:
        """Whether w is a vector of feature weights."""
        return isinstance(self.kernel, Linear)

    def gram(self, memory: int = GIBIBYTE) -> Gram:
        """Return the shared Gram matrix if there is one, else a new one."""
        return self.shared_gram or Gram(self.X, self.kernel, memory)

    @cached_property
    def is_psd(self) -> bool:
        """Whether the Gram matrix is positive semidefinite: declared by the kernel, else tested."""
        return is_positive_semidefinite(self.gram())

    @cached_property
    def psd_shift(self) -> float:
        """δ ≥ 0 such that K + δI is positive semidefinite; 0 if the kernel declares that K is."""
        return psd_shift(self.gram()) if self.is_psd else 0.0

    def derived(
        self, X: Matrix, shared_gram: Gram | None = None, factor: float = 1.0
    ) -> KernelSamples:
        """Return samples whose Gram matrix is `factor` times this one, or times a submatrix of it.

        What is known about its eigenvalues is kept.
        """
        samples = KernelSamples(X, self.kernel, shared_gram)
        if "is_psd" in vars(self):
            vars(samples)["is_psd"] = self.is_psd
        if "psd_shift" in vars(self):
            vars(samples)["psd_shift"] = factor * self.psd_shift
        return samples
