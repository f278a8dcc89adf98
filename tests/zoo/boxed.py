"""SMO in the variables of a box QP, as a student would write it: the right one of the zoo's solvers."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from dualgap.problems import BoxQP, KernelQP
from dualgap.solvers import SMO


def in_coefficients(form):
    """Return a box QP in β = sign·x, one for each variable."""
    sign = form.Q.sign
    ends = sign * form.lb, sign * form.ub
    bounds = np.zeros(form.n), np.minimum(*ends), np.maximum(*ends)
    sums = np.zeros(0) if form.a is None else form.delta
    start = None if form.start is None else sign * form.start
    return KernelQP(form.gram, sign * form.p, *bounds, sums, form.groups, form.Q.index, start)


class BoxSMO(SMO):
    """SMO, which takes and answers a box QP."""

    form: ClassVar = BoxQP

    def prepare(self, form):
        super().prepare(in_coefficients(form))
        return form

    def iterates(self, form):
        for point in super().iterates(in_coefficients(form)):
            yield replace(point, x=form.Q.sign * point.x)
