"""LIBSVM through scikit-learn: second-order SMO with shrinking and a cache of kernel rows.

    min ½xᵀQx + pᵀx  s.t. 0 ≤ x ≤ ub, and one equality or two

Chang & Lin 2011, "LIBSVM: a library for support vector machines"; working pairs by Fan, Chen & Lin
2005. C-SVC, epsilon-SVR, ν-SVC, ν-SVR and the one-class machine are solved by scikit-learn's SVC, SVR,
NuSVC, NuSVR and OneClassSVM.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from dualgap.solvers.external.duals import SINGLE_PRECISION_TOL, EstimatorBaseline, library_needs


@dataclass(frozen=True)
class LibSVM(EstimatorBaseline):
    """LIBSVM's solvers of its five problems, as distributed with scikit-learn.

    Attributes
    ----------
    tol : LIBSVM's stopping tolerance, the maximal violating pair. It stores kernel values in single
        precision: below about 1e-7·maxᵢ Σⱼ|Qᵢⱼ|αⱼ it stops without having reached `tol`.
    max_iter : limit on iterations, by default that of LIBSVM, which scikit-learn omits; with features of
        1e8 it would run forever. None for no limit.
    cache_size : megabytes for kernel rows.
    shrinking : whether to set aside variables that seem to stay at a bound.
    """

    max_iter: int | None = 10_000_000
    shrinking: bool = True

    source: ClassVar[str] = "Chang & Lin 2011; Fan, Chen & Lin 2005"
    name: ClassVar[str] = "libsvm"
    single_threaded: ClassVar[bool] = True
    packages: ClassVar = (("sklearn.svm", "scikit-learn"),)
    finest_tol: ClassVar = SINGLE_PRECISION_TOL
    needs: ClassVar = library_needs(only_native=False)

    def extra_settings(self) -> dict[str, Any]:
        """Return the setting `shrinking`."""
        return {"shrinking": self.shrinking}

    def is_stopped(self, estimator: Any) -> bool:
        """Whether LIBSVM reports a failure to converge."""
        return bool(estimator.fit_status_)
