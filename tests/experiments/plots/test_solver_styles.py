"""The line styles of solvers."""

from experiments.plots.solver_styles import solver_styles
from experiments.plots.style import BLUE
from solvers import all_solvers


def test_a_solver_has_one_style_in_every_company_and_no_two_look_alike():
    names = [*all_solvers(), "student.py:Mine", "qpsolvers_qp (osqp)", "smo (one)", "smo (two)"]
    together = solver_styles(names)
    assert len({(line.colour, line.marker) for line in together.values()}) == len(names)
    assert all(solver_styles([name])[name] == together[name] for name in all_solvers())
    assert {together[f"smo{settings}"].colour for settings in ("", " (one)", " (two)")} == {BLUE}
