"""oneDAL's support vector machines, through scikit-learn-intelex.

    min ½xᵀQx + pᵀx  s.t. 0 ≤ x ≤ ub, and one equality or two

The "thunder" method: a working set of the most violating variables, half of it kept from round to
round; SMO on its block until the block's violation is small enough; then an update of the gradient:
Wen et al. 2018, "ThunderSVM: a fast SVM library on GPUs and CPUs". Its interface is LIBSVM's.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Matrix
from dualgap.problems.formulations.formulation import Formulation
from dualgap.solvers.base import Precision
from dualgap.solvers.external.duals import EstimatorBaseline, library_needs


@dataclass(frozen=True)
class OneDAL(EstimatorBaseline):
    """oneDAL's solvers of C-SVC, epsilon-SVR, ν-SVC and ν-SVR.

    It uses as many threads as OpenMP is allowed in this process, and computes in the precision of the
    samples. They are converted during set-up, as float32 data would need no conversion; the certificate
    is for the original samples.

    Attributes
    ----------
    tol : its stopping tolerance, the maximal violating pair. It also stops, without reporting it, if
        the violation does not change for some rounds.
    max_iter : limit on rounds, each of a working set; None for no limit.
    cache_size : megabytes for kernel rows.
    dtype : precision of the samples. In float32 it takes 0.65 to 0.85 of the time to the same gap, which
        stalls at 3e-6 to 5e-5 (5,000 samples of a9a with C = 100: 3e-3); below, it may never terminate.
    """

    dtype: Precision = "float64"

    source: ClassVar[str] = "Wen et al. 2018; oneDAL, svm_train_thunder"
    copies_samples: ClassVar[bool] = True
    unlimited: ClassVar[int] = 2**31 - 1  # its default of 10,000 rounds cuts hard problems short
    needs: ClassVar = library_needs(("SVC", "SVR", "NuSVC", "NuSVR"))
    # scikit-learn-intelex, without patching scikit-learn
    packages: ClassVar = (("sklearnex.svm", "scikit-learn-intelex"),)

    def tol_for(self, target_gap: float) -> float:
        """Return a `tol` that the samples' precision resolves: in float32 the target, at least 1e-6."""
        if self.dtype == "float32":
            # it terminated on 7 of 9 problems with this, on 4 with 1e-7
            return max(target_gap, 1e-6)
        return super().tol_for(target_gap)

    def prepare(self, problem: Formulation) -> tuple[Formulation, Matrix]:
        """Import oneDAL; return the problem and its samples in the precision for oneDAL."""
        problem, samples = super().prepare(problem)
        return problem, samples.astype(self.dtype, copy=False)

    def is_stopped(self, estimator: Any) -> bool:
        """Whether it stopped at its limit; RuntimeError if it did not run at all."""
        if not hasattr(estimator, "_onedal_estimator"):
            raise RuntimeError("scikit-learn-intelex fell back on scikit-learn: oneDAL did not run")
        return bool(np.sum(estimator.n_iter_) >= estimator.max_iter)
