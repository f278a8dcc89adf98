"""The columns of `load_results` and `load_traces`, and their meanings: `dualgap list columns`.

This one declaration defines the columns, their order and types, the page of the documentation, and the
`datapackage.json` next to the tables (a Frictionless Tabular Data Package). Objectives and bounds are in
the scale ½‖w‖² + Σ Cᵢ·lossᵢ unless stated otherwise, times in seconds. A missing value is NaN, never 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:  # workers import this module, and need no pandas: it takes a sixth of their start
    import pandas as pd

_KINDS = {  # kind of values of a column: its name in Frictionless
    **{"text": "string", "json": "object", "flag": "boolean"},
    **{"number": "number", "whole": "integer"},  # loaded as float64, as values may be missing
    "measure": "number",  # a number that is not a bound: written with twelve significant digits
}


class ColumnSpec(NamedTuple):
    """A column: its name, the kind of its values (a key of `_KINDS`), and their meaning."""

    name: str
    kind: str
    meaning: str


def _columns(text: str) -> tuple[ColumnSpec, ...]:
    """Return the columns of a text, `name kind: meaning`; continuation lines are indented."""
    lines = re.sub(r"\n +", " ", text).strip().splitlines()
    parted = (line.split(" ", 2) for line in lines)
    return tuple(ColumnSpec(name, kind.rstrip(":"), meaning) for name, kind, meaning in parted)


# one row per run; user scripts read the columns up to `versions`, which stay as they are
RESULTS = _columns("""
run_id text: hash of everything that defines the run
problem_id text: readable name of the problem, unique in its experiment
problem_hash text: identity of the formulation, its data and parameters; equal in every experiment
family_hash text: the same for a problem's primal, dual and risk, which share one optimum
formulation text: its name in `dualgap list problems`
dataset text: name and options of the data set
n whole: number of training samples; for a convex QP, of variables
d whole: number of features; for a convex QP, of constraints other than bounds
kernel text: its name and settings; empty if the formulation takes none
C number: weight of the slacks
epsilon number: half-width of the regression tube
lam number: weight of the ridge term (lam/2)‖w‖² in a risk; C = 1/(n·lam)
solver text: its name, or file.py:Class if it is user-defined
params json: the solver's settings, as JSON
seed whole: seed of a solver that draws random numbers
repetition whole: index of the repetition, from 0
target_gap number: relative gap at which the verdict is 'solved'
status text: how the solver process ended
claimed text: the solver's claim: optimal, infeasible, unbounded, stopped (no claim) or none (no answer)
verdict text: the certificate's verdict: solved, inaccurate, wrong, infeasible or uncertified
reason text: why the run ended this way, why a bound is missing, or what is wrong; else empty
objective number: objective of the answer, in the formulation's own sign and scale
primal_objective number: upper bound on the optimum: the primal objective at the answer
dual_objective number: lower bound on the optimum: the dual objective at the answer
gap number: primal_objective − dual_objective
relative_gap number: gap / max(|primal_objective|, |dual_objective|)
suboptimality measure: primal_objective minus the best lower bound of any run with this family_hash
kkt_violation measure: natural residual: min over ν of max |α − clip(α − r, lb, ub)|, r = Qα + p + νa
violating_pair measure: how far the most violating pair is from optimality: LIBSVM's stopping measure
primal_residual measure: largest violation of α's box and equality, before projection
dual_residual measure: largest violation of a margin constraint without slack: hard margin only, else 0
complementarity measure: largest product of a variable's distance to a bound and that bound's multiplier
projection_distance measure: how far α was moved to be feasible before certification, in ‖·‖₂
bound_source text: source of the bounds: 'alpha', 'alpha and w' (the solver's own w), 'recovered from w',
    'none'; 'proven: ...' if they are theorems
time_setup measure: seconds of preparation: imports, compilation; our own compiled code is loaded earlier
time_solve measure: seconds inside the algorithm, without evaluation of iterates and certification
cpu_time measure: CPU seconds of all threads inside the algorithm, and of child processes waited for
peak_rss whole: largest resident memory of the solver process, in bytes
iterations whole: the solver's own count (steps, epochs, ...), not comparable between solvers
n_kernel_evals whole: kernel values computed, if the solver counts them
n_support whole: support vectors: samples with α ≠ 0 (at least 1e-8 of C)
n_free whole: support vectors between their bounds, 0 < |α| < C
n_bounded whole: support vectors at their bound, |α| = C
margin measure: width 2/‖w‖ of the strip −1 ≤ f ≤ 1, for nu_svc 2ρ/‖w‖; two classes only
train_accuracy measure: fraction of training samples classified correctly; for a regression R²
test_accuracy measure: the same on the samples held out by `test_size` or `folds`
threads whole: largest number of threads that a numerical library of the process may use
signal text: signal that ended the process, such as SIGKILL
host text: host name; compare times only between runs on the same host
versions json: Python and the packages that affect numbers and times, as JSON
label text: label of this solver entry in the experiment file; empty if it has none
problem json: specification of the problem: formulation, data set, parameters, path, as JSON
aa_repeat flag: whether it is the second of two identical runs (A/A), whose times show the noise
search text: common part of the run ids of one tolerance search; empty outside a search
step whole: index of the run in its search, from 0, the loosest tolerance
path text: the parameter that was followed and its interval, such as C=0.01..100; else empty
n_answers whole: answers on a path; its relative_gap is the largest at any value of the parameter
warm_start text: run_id of the run whose answer was the starting point; empty if none
tol number: the solver's stopping tolerance: as in params, or if that is null, the one that target_gap
    needs; NaN if the solver has none
""")
# for solved runs with `describe: true`; tables without such runs lack these columns
DESCRIBED = _columns("""
share_free measure: fraction of the dual variables strictly between their bounds
share_bounded measure: fraction of the dual variables at a bound that is not 0
condition_free measure: ratio of the largest to the smallest eigenvalue of Q on the free variables,
    within the equalities; up to 2000 free ones
strict_complementarity measure: minimum over the variables of max(distance to a bound relative to the
    box, |reduced gradient|): 0 if one is at its bound without a multiplier
effective_rank measure: (trace K)² / ‖K‖²: the number of equal eigenvalues with this ratio
effective_rank_error measure: its standard error over four samples of 250; 0 up to n = 1000
eigenvalue_decay measure: exponent p of the fit λₖ ∝ k^−p to the eigenvalues of K, or of samples of it
eigenvalue_decay_error measure: its standard error over four samples of 250; 0 up to n = 1000
kernel_density measure: fraction of the off-diagonal entries of K above 1e-6 of its mean diagonal
kernel_density_error measure: its standard error over four samples of 250; 0 up to n = 1000
duplicates measure: fraction of the samples that equal an earlier one
largest_eigenvalue measure: that of the dual's Q, the Lipschitz constant L of its gradient, to 1e-3
start_distance measure: ‖x₀ − x*‖ in the dual variables, x₀ being the feasible point nearest to 0
radius measure: R, the largest ‖φ(x)‖ of a sample
total_weight measure: Σ Cᵢ; for a risk, 1/lam
loss_at_zero measure: Σ Cᵢ·lossᵢ at w = 0
""")
# for solvers on blocks of samples, and for programs; tables without such runs lack these columns
COUNTED = _columns("""
rounds whole: passes over the blocks of samples
bytes_moved whole: bytes sent between processes
worker_cpu_seconds measure: CPU seconds of all worker processes
worker_memory whole: largest resident memory of each worker process, in bytes, summed
time_empty measure: seconds that a program takes on two samples: startup, reading and writing
time_own measure: seconds that a program itself reports; not used in rankings
""")
# one row per evaluation of a running solver
TRACES = _columns("""
run_id text: the run that was evaluated
time measure: seconds inside the algorithm so far
iteration whole: the solver's own count so far
primal_objective number: upper bound on the optimum at that time
dual_objective number: lower bound on the optimum at that time
gap number: primal_objective − dual_objective
kkt_violation measure: natural residual
""")
# one row per answer on a path, in the order of the parameter
PATHS = _columns("""
run_id text: the run that followed the path
parameter text: C, lam or epsilon
value number: value of the parameter at which the answer was found
from number: lowest value that the answer covers
to number: highest value that the answer covers
dual_objective number: lower bound on the optimum at `value`
primal_objective number: upper bound on the optimum at `value`
relative_gap number: relative gap of these bounds
worst_gap number: largest relative gap between `from` and `to`
n_support whole: support vectors: samples with α ≠ 0
iterations whole: the solver's own count for this answer
time_solve measure: seconds inside the algorithm for this answer
error measure: error on the samples held out by `test_size` or `folds`: fraction of wrong
    predictions, or mean squared error; empty if none are held out
least_error number: lower bound on this error of any optimum between `from` and `to`
most_error number: upper bound on it
""")
_OF_TRACES = _columns("""
n_support whole: support vectors at that time
objective number: objective of the iterate, in the formulation's own sign and scale
relative_gap number: gap / max(|primal_objective|, |dual_objective|)
""")
FULL_TRACES = (*TRACES, *_OF_TRACES)
COLUMNS = [c.name for c in RESULTS]
TRACE_COLUMNS = [c.name for c in TRACES]
FILES = {
    "runs.csv": (*RESULTS, *DESCRIBED, *COUNTED),
    "traces.csv": FULL_TRACES,
    "paths.csv": PATHS,
}


def numeric_columns(file: str) -> list[str]:
    """Return the names of a file's numeric columns."""
    return [column.name for column in FILES[file] if _KINDS[column.kind] in ("number", "integer")]


def with_column_types(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """Return a table with the columns of a file in their types; missing columns are empty."""
    result = table.reindex(columns=[column.name for column in FILES[file]]).astype(object)
    for name in numeric_columns(file):
        result[name] = result[name].astype(np.float64)
    for name in (column.name for column in FILES[file] if column.kind == "flag"):
        result[name] = result[name].map({True: True, "True": True}).notna()
    return result


def to_csv_bytes(table: pd.DataFrame, file: str) -> bytes:
    """Return a table as CSV: integers without decimal point, measures with twelve digits."""
    counts, measures = (
        [column.name for column in FILES[file] if column.kind == kind and column.name in table]
        for kind in ("whole", "measure")
    )
    present = {name: table[name].dropna() for name in counts}
    integers = [k for k, v in present.items() if (v % 1 == 0).all() and (v.abs() < 2**63).all()]
    formatted = table.astype(dict.fromkeys(integers, "Int64"))
    formatted[measures] = formatted[measures].map("{:.12g}".format).astype(np.float64)
    return formatted.to_csv(index=False).encode()


def datapackage(name: str, tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Return the `datapackage.json` of tables, which are given by file name (keys of `FILES`)."""
    return {
        "profile": "tabular-data-package",
        "name": name.lower(),
        "resources": [
            {
                "profile": "tabular-data-resource",
                "name": file.removesuffix(".csv"),
                "path": file,
                "schema": {
                    "fields": [
                        {"name": col.name, "type": _KINDS[col.kind], "description": col.meaning}
                        for col in FILES[file]
                        if col.name in table
                    ]
                },
            }
            for file, table in tables.items()
        ],
    }
