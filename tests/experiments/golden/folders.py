"""Published folders in which every way of ending, of repeating and of naming occurs."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from tests.experiments.rows import (
    crashed,
    labelled,
    problem_spec,
    published,
    repeated,
    results_of_folds,
    run,
    timed,
    trace_of_gaps,
)

from dualgap.experiments.analysis.compare import compare_results

NAN = float("nan")
HOSTILE = "<b>a|b</b> [x](y) `c` \x1b[31m & 50% $x^2$ {{7*7}}"
MOONS, RINGS = (
    problem_spec(name, params={"kernel": {"name": "rbf", "gamma": 0.5}, "C": 1.0})
    for name in ("moons", "rings")
)
FAST, NEAR, SLOW = (1.0, 1.1, 1.2), (1.05, 1.1, 1.3), (3.0, 3.1, 3.2)
MISSED = {"verdict": "inaccurate", "relative_gap": 2e-3}
GAPS = [1.0, 1e-2, 1e-5, 1e-8]


def solved(solver, times, problem=MOONS, **changes):
    """Return repetitions that reached a gap of 1e-6."""
    return repeated(
        solver, times, problem, **({"relative_gap": 1e-9, "target_gap": 1e-6} | changes)
    )


def study():
    """Runs that were solved, wrong, late, crashed, refused and repeated, with hostile names."""
    rows = solved("smo", FAST) + solved("smo", NEAR, aa_repeat=True) + solved("libsvm", NEAR)
    rows += solved("smo", FAST[:2], RINGS) + solved("libsvm", SLOW[:2], RINGS)
    rows += solved("sgd", FAST, **MISSED, claimed="stopped", params='{"epochs": 1}')
    rows += solved("sgd", SLOW, RINGS, **MISSED, claimed="stopped", params='{"epochs": 9}')
    for seed, gap in ((1, 1e-9), (2, 1e-3), (3, 1e-2)):
        missed = {} if gap < 1e-6 else {"verdict": "inaccurate"}
        params = json.dumps({"seed": seed})
        rows += solved("pegasos", [2.0], params=params, **missed | {"relative_gap": gap})
    rows += [
        run(RINGS, "cvxpy_qp", status="time_limit", time_solve=20.4, threads=4, **MISSED),
        run(MOONS, "cvxpy_qp", status="time_limit", time_solve=22.0, threads=4, **MISSED),
        run(MOONS, "one_dal", verdict="wrong", relative_gap=0.5),
        run(RINGS, "one_dal", relative_gap=0.0, gap=0.0, time_setup=0.9, rounds=4.0),
        run(RINGS, "a/x.py:My", claimed="infeasible", verdict="wrong", primal_objective=NAN),
        run(MOONS, "b/x.py:My", bound_source="proven: alpha", label="Ours"),
        crashed(MOONS, "liblinear", status="not_installed", reason="liblinear is not installed"),
        crashed(RINGS, "liblinear", status="unsupported", reason="needs two classes"),
        run(HOSTILE, "smo", host="here", time_solve=0.02),
        crashed(HOSTILE, f"/x/{HOSTILE}.py:Bad", label=HOSTILE, reason=HOSTILE, signal="SIGKILL"),
        crashed(HOSTILE, "libsvm", status="out_of_memory", reason=""),
    ]
    return rows, {0: GAPS, 3: [1.0, 0.0], 6: GAPS[:3], 9: [np.inf, NAN, 0.1]}, {"name": "st<u>dy|x"}


def hosts():
    """Two solvers on two hosts, and more solvers on one than a legend has room for."""
    rows = [
        run(problem, solver, host=host, time_solve=seconds)
        for problem in (MOONS, RINGS)
        for host, factor in (("ape", 1.0), ("bee", 1.5))
        for solver, seconds in (("smo", factor), ("libsvm", 3 * factor))
    ]
    rows += [run(MOONS, f"s{i}", host="ape", time_solve=0.1 * i) for i in range(1, 9)]
    return rows, dict.fromkeys(range(4), GAPS), {"time_limit": None}


def benchmark():
    """Times at equal gap: tolerances, precisions, passes, intercepts, growth, a floor and noise."""
    flat, steep = (
        problem_spec("a9a", params={"C": 1.0, "intercept": intercept})
        for intercept in (False, True)
    )
    rows = [
        timed(problem=flat, tol=tol, time=time, gap=tol / 10, repetition=i)
        for tol, time in ((1e-2, 1.0), (1e-4, 2.0), (1e-7, 4.0))
        for i in range(3)
    ]
    rows += [row | {"aa_repeat": True, "time_solve": 1.1 * row["time_solve"]} for row in rows]
    rows += [
        timed("libsvm", tol=tol, time=30.0 + i, gap=2e-5, problem=flat, repetition=i)
        for tol in (1e-5, 1e-8)
        for i in range(3)
    ]
    rows += [
        timed("one_dal", problem=flat, time=time, gap=gap, params=json.dumps({"dtype": dtype}))
        for dtype, time, gap in (("float64", 3.0, 1e-7), ("float32", 2.0, 5e-4))
    ]
    rows += [
        timed(solver, problem=flat, time=0.1 * k, gap=0.9, suboptimality=1e-2 / k, **epochs)
        for solver in ("pegasos", "sgd")
        for k in (1, 10)
        for epochs in [{"params": json.dumps({"epochs": k})}]
    ]
    rows += [timed(problem=steep, time=1.5), timed("libsvm", problem=steep, gap=1.0, time=9.0)]
    rows += [timed("liblinear", problem=steep, status="not_installed", gap=NAN, time=NAN)]
    rows += [
        timed(
            solver,
            problem=problem_spec(n=n),
            n=float(n),
            time=factor * 1e-6 * n**1.5,
            peak_rss=1e3 * n,
        )
        for n in (100, 400, 1600)
        for solver, factor in (("smo", 1.0), ("semismooth_newton", 0.8), ("libsvm", 2.0))
    ]
    floor = {"gap": NAN, "time": 2.0, "n_kernel_evals": 1e3, "n_support": NAN}
    rows += [timed("floor.py:KernelFloor", problem=flat, verdict="uncertified", **floor)]
    return rows, {}, {"kind": "benchmark", "name": "bench_kernel_svc"}


def folds():
    """Three values of C on three folds, and paths that were followed on two of them."""
    rows = results_of_folds().to_dict("records")
    return rows, {}, {"paths": [_answers(rows[0]["run_id"], 0.1), _answers(rows[1]["run_id"], 0.2)]}


def _answers(run_id, error):
    ends = np.geomspace(0.1, 10, 4)
    return pd.DataFrame(
        {
            **{"run_id": run_id, "parameter": "C", "value": ends[:-1] * 1.1},
            **{"from": ends[:-1], "to": ends[1:], "dual_objective": 1.0, "primal_objective": 1.1},
            **{"relative_gap": 0.05, "worst_gap": 0.09, "n_support": [30, 20, 10]},
            **{"iterations": 5, "time_solve": 0.25, "error": error},
            **{"least_error": error / 2, "most_error": 2 * error},
        }
    )


def verification():
    """Two references, and solvers that agree, differ, crash and refuse."""
    rows = [run("p", "cvxopt_qp", relative_gap=1e-9), run("p", "cvxpy_qp"), run("p", "smo")]
    rows += [run("p", "libsvm", primal_objective=11.0), crashed("p", "one_dal")]
    rows += [crashed("p", "liblinear", status="unsupported", reason="needs two classes")]
    nothing = dict.fromkeys(("primal_objective", "dual_objective", "gap", "relative_gap"), NAN)
    proof = nothing | {"status": "infeasible", "claimed": "infeasible", "verdict": "infeasible"}
    rows += [run("q", solver, **proof) for solver in ("cvxopt_qp", "cvxpy_qp", "smo")]
    rows += [run("q", "libsvm")]
    return rows, {}, {"kind": "verification"}


def qps():
    """Convex quadratic programs, whose claims are counted and refuted."""
    known = {"formulation": "convex_qp", "target_gap": 1e-9}
    rows = [
        run("a", "one", relative_gap=1e-7, time_solve=1.0, **known),
        run("a", "two", relative_gap=1e-4, claimed="stopped", verdict="inaccurate", **known),
        run(
            "a", "three", claimed="infeasible", verdict="wrong", **known | {"primal_objective": NAN}
        ),
        run("b", "one", primal_objective=11.0, verdict="inaccurate", **known),
    ]
    return rows, {}, {}


def growth():
    """One problem in three sizes, solved, missed and crashed, with rounds and rates."""
    known = {"primal_objective": 2.0, "dual_objective": 2.0, "kernel": "linear", "rounds": 7.0}
    rows = [
        run(problem_spec(n=n), solver, n=n, params=params, time_solve=t * 1e-6 * n**1.5, **known)
        for solver, params in (("projected_gradient", '{"variant": "plain"}'), ("smo", "{}"))
        for n in (100, 400, 1600)
        for t in (1.0, 9.0, 2.0)
    ]
    rows += [run(problem_spec(n=6400), "smo", n=6400, time_solve=7.0, kernel="linear", **MISSED)]
    rows += [crashed(problem_spec(n=9000), "smo", n=9000, kernel="linear")]
    return rows, {2: [0.5**k for k in range(8)], 11: GAPS}, {}


# with the kinds of figures that show what is particular about each
FOLDERS = {
    study: ("gap_against_time", "overview", "performance_profile", "shifted_means"),
    hosts: ("gap_against_time",),
    benchmark: ("speedup",),
    folds: ("cross_validation", "certified_errors", "certified_path"),
    verification: ("differences",),
    qps: (),
    growth: ("time_against_n", "gap_against_rounds", "rates", "primal_against_dual"),
}


def write(root: Path) -> dict[str, Path]:
    """Write all folders below `root`/results; return them by name."""
    found = {}
    for make in FOLDERS:
        name, (rows, gaps, manifest) = make.__name__, make()
        traces = {
            i: [each | {"iteration": 3**k} for k, each in enumerate(trace_of_gaps(rows[i], own))]
            for i, own in gaps.items()
        }
        found[name] = published(root / "results" / name, rows, traces, **manifest)
    return found


def changed():
    """Return the changes from the study to a later one: slower, faster, solved, broken, and new."""
    before, _, _ = study()
    after = [
        row | {"time_solve": 2 * row["time_solve"]} for row in before if row["solver"] == "smo"
    ]
    after += [row for row in before if row["solver"] in ("libsvm", "pegasos")]
    after += solved("sgd", FAST, claimed="stopped", params='{"epochs": 1}')
    after += [crashed(RINGS, "one_dal"), run(HOSTILE, "new"), run(MOONS, "cvxpy_qp", host="there")]
    return compare_results(pd.DataFrame(labelled(before)), pd.DataFrame(labelled(after)))
