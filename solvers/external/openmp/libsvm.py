"""LIBSVM compiled with OpenMP: several threads compute the kernel values of a row.

    min ½xᵀQx + pᵀx  s.t. 0 ≤ x ≤ C, and one equality or two

Chang & Lin 2011, "LIBSVM: a library for support vector machines"; working pairs by Fan, Chen & Lin
2005. One thread does the rest of an iteration, selecting the pair and updating the gradient.
"""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.forms import FormPoint
from dualgap.problems.formulations.formulation import Formulation
from dualgap.solvers.external.duals import (
    SINGLE_PRECISION_TOL,
    DualBaseline,
    EstimatorDual,
    dual_of,
    kernel_settings,
    library_needs,
)
from dualgap.solvers.external.openmp import capture_output


@dataclass(frozen=True)
class LibSVMOpenMP(DualBaseline):
    """LIBSVM's solvers of its five problems, as published by its authors, with OpenMP.

    Attributes
    ----------
    tol : its option -e, the maximal violating pair. It stores kernel values in single precision: below
        about 1e-7·maxᵢ Σⱼ|Qᵢⱼ|αⱼ it stops without having reached `tol`.
    cache_size : its option -m, megabytes for kernel rows.
    shrinking : its option -h, whether to set aside variables that seem to stay at a bound.
    """

    tol: float | None = None
    cache_size: float = 1000.0
    shrinking: bool = True

    needs: ClassVar = library_needs(one_C=True)
    source: ClassVar[str] = "Chang & Lin 2011; Fan, Chen & Lin 2005"
    name: ClassVar[str] = "libsvm_openmp"
    finest_tol: ClassVar = SINGLE_PRECISION_TOL
    copies_samples: ClassVar[bool] = True
    packages: ClassVar = (("libsvm.svm", "libsvm-official"),)

    def prepare(self, problem: Formulation) -> tuple[EstimatorDual, Any]:
        """Return the dual, and LIBSVM's arrays of samples and targets."""
        super().prepare(problem)
        dual, svm = dual_of(problem), importlib.import_module("libsvm.svm")
        return dual, svm.svm_problem(problem.y, scipy.sparse.csr_matrix(problem.X))

    def iterates(self, state: tuple[EstimatorDual, Any]) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        dual, samples = state
        svm, n = importlib.import_module("libsvm.svm"), dual.problem.n
        library, parameter = svm.libsvm, svm.svm_parameter()
        settings: dict[str, Any] = kernel_settings(dual.problem.kernel) | dual.settings
        settings["kernel_type"] = svm.kernel_names[settings.pop("kernel").upper()]
        types = {"SVC": "C_SVC", "SVR": "EPSILON_SVR", "OneClassSVM": "ONE_CLASS"}
        types |= {"NuSVC": "NU_SVC", "NuSVR": "NU_SVR"}
        settings["svm_type"] = getattr(svm.svm_forms, types[dual.estimator])
        settings["p"] = settings.pop("epsilon", 0.0)
        settings |= {"C": dual.problem.risk.C[0], "eps": self.tolerance}
        settings |= {"cache_size": self.cache_size, "shrinking": self.shrinking}
        for name, value in settings.items():
            setattr(parameter, name, value)
        result, printed = capture_output(
            library.svm_set_print_string_function, lambda: library.svm_train(samples, parameter)
        )
        model, beta = svm.toPyModel(result), np.zeros(n)
        if model.l:  # class +1 comes first, so a coefficient is yᵢαᵢ
            support = np.ctypeslib.as_array(model.sv_indices, (model.l,)) - 1
            beta[support] = np.ctypeslib.as_array(model.sv_coef[0], (model.l,))
        iterations = int(re.findall(r"#iter = (\d+)", printed)[-1])
        # its fixed limit, if that exceeds 100 iterations per variable
        at_limit = iterations >= max(10_000_000, 100 * dual.problem.risk.form.box.n)
        yield FormPoint(
            dual.alpha(beta),
            b=None if dual.problem.risk.costs.any() else -model.rho[0],
            iterations=iterations,
            claim="stopped" if at_limit else "optimal",
        )
