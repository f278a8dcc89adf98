"""LIBLINEAR on several threads: dual coordinate descent for linear machines without intercept.

    min ½‖w‖² + C Σᵢ max(0, 1 − yᵢ wᵀxᵢ)

Several threads compute the gradients of a block of samples; one thread then takes steps for the most
violating ones: Chiang, Lee & Lin 2016, "Parallel dual coordinate descent method for
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
from dualgap.solvers.external.linear import ONE_C_HINGE, LinearBaseline
from dualgap.solvers.external.openmp import capture_output


@dataclass(frozen=True)
class LibLinearMulticore(LinearBaseline):
    """Multi-core LIBLINEAR's dual solver for the hinge loss (its option -s 3).

    It returns only w. Its limit of 300 epochs is fixed, and its random numbers have no seed: they
    continue from one call to the next.

    Attributes
    ----------
    tol : its option -e, the largest violation in the dual, maxᵢ PGᵢ − minᵢ PGᵢ.
    """

    tol: float | None = None

    needs: ClassVar = ONE_C_HINGE  # regression uses one thread, as in `liblinear`
    source: ClassVar[str] = "Chiang, Lee & Lin 2016; Fan et al. 2008"
    name: ClassVar[str] = "liblinear_multicore"
    copies_samples: ClassVar[bool] = True
    packages: ClassVar = (("liblinear.liblinear", "liblinear-multicore"),)

    def prepare(self, form: ERM) -> tuple[ERM, Any]:
        """Return the form, and LIBLINEAR's arrays of samples and labels."""
        form, module = super().prepare(form), importlib.import_module("liblinear.liblinear")
        return form, module.problem(form.y, scipy.sparse.csr_matrix(form.gram.X))  # no copy of CSR

    def iterates(self, state: tuple[ERM, Any]) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        form, problem = state
        module = importlib.import_module("liblinear.liblinear")
        library, parameter = module.liblinear, module.parameter()
        parameter.solver_type = module.solver_names.L2R_L1LOSS_SVC_DUAL
        parameter.eps, parameter.C = self.tolerance, float(form.C[0])
        # else it would set it to its default, 1
        parameter.nr_thread = library.omp_get_max_threads()
        result, printed = capture_output(
            library.set_print_string_function, lambda: library.train(problem, parameter)
        )
        model = module.toPyModel(result)
        yield FormPoint(  # class +1 comes first, so w has the sign of the labels
            np.ctypeslib.as_array(model.w, (model.nr_feature,)).copy(),
            b=0.0,
            iterations=int(re.findall(r"#iter = (\d+)", printed)[-1]),
            claim="stopped" if "reaching max number of iterations" in printed else "optimal",
        )
