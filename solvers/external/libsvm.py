"""LIBSVM through scikit-learn: second-order SMO with shrinking and a cache of kernel rows.

    min ½xᵀQx + pᵀx  s.t. 0 ≤ x ≤ ub, and one equality or two

Chang & Lin 2011, "LIBSVM: a library for support vector machines"; working pairs by Fan, Chen & Lin
2005. C-SVC, epsilon-SVR, ν-SVC, ν-SVR and the one-class machine are given to scikit-learn's SVC, SVR,
NuSVC, NuSVR and OneClassSVM.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.kernels import Kernel
from dualgap.solvers.external.duals import SINGLE_PRECISION, DualBaseline, EstimatorBaseline


@dataclass(frozen=True)
class LibSVM(EstimatorBaseline):
    """LIBSVM's solvers of its five problems, as scikit-learn ships them.

    Attributes
    ----------
    tol : LIBSVM's stopping tolerance, the maximal violating pair. It keeps kernel values in single
        precision: below about 1e-7·maxᵢ Σⱼ|Qᵢⱼ|αⱼ it stops at its tol without being there.
    max_iter : its limit on iterations, by default LIBSVM's own, which scikit-learn leaves out; on
        features of 1e8 it would go on for ever. None for none.
    cache_size : megabytes for kernel rows.
    shrinking : whether it sets variables aside that seem to stay at a bound.
    """

    max_iter: int | None = 10_000_000
    shrinking: bool = True

    source: ClassVar[str] = "Chang & Lin 2011; Fan, Chen & Lin 2005"
    name: ClassVar[str] = "libsvm"
    single_threaded: ClassVar[bool] = True
    needs: ClassVar = (("sklearn.svm", "scikit-learn"),)
    kernels: ClassVar = (Kernel,)
    finest_tol: ClassVar = SINGLE_PRECISION

    def refuses(self, problem: Formulation) -> str | None:
        """LIBSVM knows its five problems only, and needs the matrix of a kernel that it has not."""
        refusal = super().refuses(problem)
        native = isinstance(problem.kernel, DualBaseline.kernels)
        if refusal is None and not native and not problem.gram().fits:
            return "libsvm needs the whole matrix of this kernel, and it does not fit in memory"
        return refusal

    def own_settings(self) -> dict[str, Any]:
        """Return whether it shrinks."""
        return {"shrinking": self.shrinking}

    def is_stopped(self, estimator: Any) -> bool:
        """Return what LIBSVM says of it."""
        return bool(estimator.fit_status_)
