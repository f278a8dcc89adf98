"""LIBLINEAR on several threads: dual coordinate descent for linear machines without intercept.

    min ½‖w‖² + C Σᵢ max(0, 1 − yᵢ wᵀxᵢ)

The gradients of a block of samples are computed by several threads; one thread then takes steps along
those that violate most: Chiang, Lee & Lin 2016, "Parallel dual coordinate descent method for
large-scale linear classification in multi-core environments".
"""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.losses import Hinge
from dualgap.solvers.external.linear import LinearBaseline
from dualgap.solvers.external.openmp import call_and_listen


@dataclass(frozen=True)
class LibLinearMulticore(LinearBaseline):
    """Multi-core LIBLINEAR's dual solver for the hinge loss (its option -s 3).

    It passes on w alone. Its limit of 300 epochs cannot be set, nor can the seed of its permutations,
    which go on from one call to the next.

    Attributes
    ----------
    tol : its option -e, the largest violation in the dual, maxᵢ PGᵢ − minᵢ PGᵢ.
    """

    tol: float | None = None

    losses: ClassVar = (Hinge,)  # regression is solved by one thread: `liblinear` does that
    one_weight: ClassVar[bool] = True
    source: ClassVar[str] = "Chiang, Lee & Lin 2016; Fan et al. 2008"
    name: ClassVar[str] = "liblinear_multicore"
    copies_samples: ClassVar[bool] = True
    needs: ClassVar = (("liblinear.liblinear", "liblinear-multicore"),)

    def prepare(self, form: ERM) -> tuple[ERM, Any]:
        """Return a form and its samples and labels as LIBLINEAR has them."""
        form, module = super().prepare(form), importlib.import_module("liblinear.liblinear")
        return form, module.problem(form.y, scipy.sparse.csr_matrix(form.gram.X))  # no copy of CSR

    def iterates(self, state: tuple[ERM, Any]) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        form, problem = state
        module = importlib.import_module("liblinear.liblinear")
        library, parameter = module.liblinear, module.parameter()
        parameter.solver_type = module.solver_names.L2R_L1LOSS_SVC_DUAL
        parameter.eps, parameter.C = self.tolerance, float(form.C[0])
        parameter.nr_thread = library.omp_get_max_threads()  # it sets OpenMP to its own default, 1
        trained, printed = call_and_listen(
            library.set_print_string_function, lambda: library.train(problem, parameter)
        )
        model = module.toPyModel(trained)
        yield FormPoint(  # it puts the class +1 first, so that this w is that of the labels
            np.ctypeslib.as_array(model.w, (model.nr_feature,)).copy(),
            b=0.0,
            iterations=int(re.findall(r"#iter = (\d+)", printed)[-1]),
            claim="stopped" if "reaching max number of iterations" in printed else "optimal",
        )
