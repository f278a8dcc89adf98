"""oneDAL's support vector machines, through scikit-learn-intelex.

    min ½xᵀQx + pᵀx  s.t. 0 ≤ x ≤ ub, and one equality or two

The "thunder" method: a working set of the most violating variables, half of it kept from round to
round; SMO on its block until the block's violation has fallen enough; then the gradient is brought up
to date: Wen et al. 2018, "ThunderSVM: a fast SVM library on GPUs and CPUs". Its interface is LIBSVM's.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Matrix
from dualgap.problems.formulations.formulation import Formulation
from dualgap.solvers.base import Precision
from dualgap.solvers.external.duals import EstimatorBaseline

_FINEST_SINGLE = 1e-6  # in float32 it ended with this on 7 of 9 problems, with 1e-7 on 4


@dataclass(frozen=True)
class OneDAL(EstimatorBaseline):
    """oneDAL's solvers of C-SVC, epsilon-SVR, ν-SVC and ν-SVR.

    It uses as many threads as OpenMP is allowed in this process. It computes in the precision of the
    samples that it is given. They are converted while setting up, as who has float32 data need not
    convert them; what is certified is its answer for the samples as they are.

    Attributes
    ----------
    tol : its stopping tolerance, the maximal violating pair. It also stops, and does not say so, when
        the violation stays as it is for some rounds.
    max_iter : its limit on rounds, each of a working set; None for none.
    cache_size : megabytes for kernel rows.
    dtype : the precision of the samples. In float32 it takes 0.65 to 0.85 of the time to the same gap,
        which stalls at 3e-6 to 5e-5 (5,000 samples of a9a with C = 100: 3e-3); below, it may never end.
    """

    dtype: Precision = "float64"

    source: ClassVar[str] = "Wen et al. 2018; oneDAL, svm_train_thunder"
    copies_samples: ClassVar[bool] = True
    no_limit: ClassVar[int] = 2**31 - 1  # its own default of 10,000 rounds cuts hard problems short
    duals: ClassVar = ("SVC", "SVR", "NuSVC", "NuSVR")
    # scikit-learn-intelex, which leaves scikit-learn as it is
    needs: ClassVar = (("sklearnex.svm", "scikit-learn-intelex"),)

    def tol_for(self, target_gap: float) -> float:
        """Return what the samples' precision resolves: in float32 the target, at the finest 1e-6."""
        if self.dtype == "float32":
            return max(target_gap, _FINEST_SINGLE)
        return super().tol_for(target_gap)

    def prepare(self, problem: Formulation) -> tuple[Formulation, Matrix]:
        """Import oneDAL; return the problem and its samples in the precision that oneDAL computes in."""
        problem, samples = super().prepare(problem)
        return problem, samples.astype(self.dtype, copy=False)

    def is_stopped(self, estimator: Any) -> bool:
        """Return whether it ended at its limit; RuntimeError if it has not run at all."""
        if not hasattr(estimator, "_onedal_estimator"):
            raise RuntimeError("scikit-learn-intelex fell back on scikit-learn: oneDAL did not run")
        return bool(np.sum(estimator.n_iter_) >= estimator.max_iter)
