"""The columns of `load_results` and `load_traces`, and what each means: `dualgap list columns`.

This one declaration gives the columns, their order and types, the page of the documentation, and the
`datapackage.json` beside the tables (a Frictionless Tabular Data Package). Objectives and bounds are in
the scale ½‖w‖² + Σ Cᵢ·lossᵢ unless stated otherwise, times in seconds. A missing value is NaN, never 0.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

_KINDS = {  # what a column holds, and what Frictionless calls that
    **{"text": "string", "json": "object", "flag": "boolean"},
    **{"number": "number", "whole": "integer"},  # float64 where loaded, as either may be missing
    "measure": "number",  # that is no bound: twelve significant digits are written of it
}


class Column(NamedTuple):
    """A column: its name, what it holds (a key of `_KINDS`), and what that means."""

    name: str
    kind: str
    meaning: str


def _columns(text: str) -> tuple[Column, ...]:
    """Return the columns of a text, `name kind: meaning`; lines that go on are indented."""
    lines = re.sub(r"\n +", " ", text).strip().splitlines()
    parted = (line.split(" ", 2) for line in lines)
    return tuple(Column(name, kind.rstrip(":"), meaning) for name, kind, meaning in parted)


# a row for each run; scripts elsewhere read these up to `versions`, which stay as they are
RESULTS = _columns("""
run_id text: hash of everything that decides what is run
problem_id text: readable name of the problem, unique in its experiment
problem_hash text: identity of the formulation, its data and parameters; equal in every experiment
family_hash text: the same for a problem's primal, dual and risk, which share one optimum
formulation text: its name in `dualgap list problems`
dataset text: its name and options
n whole: number of training samples; of a convex QP of variables
d whole: number of features; of a convex QP of constraints other than bounds
kernel text: its name and settings; empty where the formulation takes none
C number: weight of the slacks
epsilon number: half-width of the tube of a regression
lam number: weight of the ridge (lam/2)‖w‖² of a risk; C = 1/(n·lam)
solver text: its name, or file.py:Class for one from outside
params json: the solver's settings, as JSON
seed whole: of a solver that draws random numbers
repetition whole: number of the repetition, from 0
target_gap number: relative gap at which the verdict is 'solved'
status text: of the process: how the run ended
claimed text: by the solver: optimal, infeasible, unbounded, stopped (no claim) or none (no answer)
verdict text: by the certificate: solved, inaccurate, wrong, infeasible or uncertified
reason text: why the run ended in this way, why a bound is missing, what is wrong; else empty
objective number: of the answer, in the formulation's own sign and scale
primal_objective number: upper bound on the optimum: the primal objective at the answer
dual_objective number: lower bound on the optimum: the dual objective at the answer
gap number: primal_objective − dual_objective
relative_gap number: gap / max(|primal_objective|, |dual_objective|)
suboptimality measure: primal_objective less the best lower bound of any run with this family_hash
kkt_violation measure: natural residual: min over ν of max |α − clip(α − r, lb, ub)|, r = Qα + p + νa
violating_pair measure: how far the most violating pair is from optimal: LIBSVM's stopping measure
primal_residual measure: largest violation of α's box and equality, before it was projected
dual_residual measure: largest violation of a margin that no slack may absorb: hard margin only, else 0
complementarity measure: largest product of a variable's distance to a bound and that bound's multiplier
projection_distance measure: how far α was moved to be feasible before it was certified, in ‖·‖₂
bound_source text: what the bounds are from: 'alpha', 'alpha and w' (the solver's own w), 'recovered
    from w', 'none'; 'proven: ...' where they are theorems
time_setup measure: seconds of preparing: imports, compilation; our own compiled code is loaded before
time_solve measure: seconds inside the algorithm; evaluating iterates and certifying are not counted
cpu_time measure: seconds of all threads inside the algorithm, and of children that were waited for
peak_rss whole: largest resident memory of the process that solved, in bytes
iterations whole: the solver's own count: steps, epochs, ... differ from one solver to the next
n_kernel_evals whole: kernel values computed, if the solver counts them
n_support whole: support vectors: samples with α ≠ 0 (at least 1e-8 of C)
n_free whole: support vectors between their bounds, 0 < |α| < C
n_bounded whole: support vectors at their bound, |α| = C
margin measure: width 2/‖w‖ of the strip −1 ≤ f ≤ 1, of nu_svc 2ρ/‖w‖; two classes only
train_accuracy measure: share of training samples whose class is right; of a regression R²
test_accuracy measure: the same of the samples held out by `test_size` or `folds`
threads whole: most threads that a numerical library of the process may use
signal text: that ended the process, such as SIGKILL
host text: the machine: times are comparable only within one
versions json: of Python and of the packages that decide numbers and times, as JSON
label text: what the experiment file calls this entry of its solvers; empty if it does not
problem json: specification of the problem: formulation, data set, parameters, path, as JSON
aa_repeat flag: whether it is the second of two identical runs, whose times show the noise
search text: what the ids of the runs of one search of a tolerance have in common; empty if it is none
step whole: number of the run in its search, from 0, the loosest
path text: the parameter that was followed and its interval, such as C=0.01..100; else empty
n_answers whole: of a path, whose relative_gap is the largest at any value of its parameter
warm_start text: run_id of the run whose answer the solver was given to begin at; empty if none
tol number: tolerance that the solver stopped at: as in params, or where that has null what target_gap
    needs; NaN if the solver has none
""")
# of runs that are solved, with `describe: true`; tables without any have no such columns
DESCRIBED = _columns("""
share_free measure: share of the dual variables strictly between their bounds
share_bounded measure: share of the dual variables at a bound that is not 0
condition_free measure: ratio of the largest to the smallest eigenvalue of Q on the free variables,
    within the equalities; up to 2000 free ones
strict_complementarity measure: least over the variables of max(distance to a bound as a share of the
    box, |reduced gradient|): 0 where one is at its bound without being held there
effective_rank measure: (trace K)² / ‖K‖²: how many equal eigenvalues would be as much
effective_rank_error measure: standard error of that over four samples of 250; 0 up to n = 1000
eigenvalue_decay measure: p of the fit λₖ ∝ k^−p to the eigenvalues of K, or of samples of it
eigenvalue_decay_error measure: standard error of that over four samples of 250; 0 up to n = 1000
kernel_density measure: share of the entries of K off its diagonal above 1e-6 of its mean diagonal
kernel_density_error measure: standard error of that over four samples of 250; 0 up to n = 1000
duplicates measure: share of the samples that are equal to an earlier one
largest_eigenvalue measure: of the dual's Q, the Lipschitz constant L of its gradient, to 1e-3
start_distance measure: ‖x₀ − x*‖ of the dual's variables, x₀ the feasible point nearest to 0
radius measure: R, the largest ‖φ(x)‖ of a sample
total_weight measure: Σ Cᵢ, which is 1/lam of a risk
loss_at_zero measure: Σ Cᵢ·lossᵢ at w = 0
""")
# of solvers on samples in blocks, and of programs; tables without any have no such columns
COUNTED = _columns("""
rounds whole: questions that every block was asked
bytes_moved whole: bytes of questions and answers between processes
worker_cpu_seconds measure: seconds of CPU time of all processes that answered
worker_memory whole: largest resident memory of each process that answered, in bytes, summed
time_empty measure: seconds that a program takes on two samples: starting it, and reading and writing
time_own measure: seconds that a program prints as its own; they rank nothing
""")
# a row for each evaluation of a running solver
TRACES = _columns("""
run_id text: the run that was evaluated
time measure: seconds inside the algorithm until then
iteration whole: the solver's own count until then
primal_objective number: upper bound on the optimum then
dual_objective number: lower bound on the optimum then
gap number: primal_objective − dual_objective
kkt_violation measure: natural residual
""")
# a row for each answer on a path, in the order of the parameter
PATHS = _columns("""
run_id text: the run that followed the path
parameter text: C, lam or epsilon
value number: of the parameter, at which the answer was found
from number: lowest value for which it stands
to number: highest value for which it stands
dual_objective number: lower bound on the optimum at `value`
primal_objective number: upper bound on the optimum at `value`
relative_gap number: of the two, at `value`
worst_gap number: largest relative gap between `from` and `to`
n_support whole: support vectors: samples with α ≠ 0
iterations whole: the solver's own count, of this answer
time_solve measure: seconds inside the algorithm, of this answer
error measure: of this answer on the samples held out by `test_size` or `folds`: the share of wrong
    predictions, or the mean squared error; empty if none are held out
least_error number: no optimum between `from` and `to` has a lower error on them
most_error number: nor a higher one
""")
_OF_TRACES = _columns("""
n_support whole: support vectors then
objective number: of the iterate, in the formulation's own sign and scale
relative_gap number: gap / max(|primal_objective|, |dual_objective|)
""")
FULL_TRACES = (*TRACES, *_OF_TRACES)
COLUMNS, TRACE_COLUMNS = [c.name for c in RESULTS], [c.name for c in TRACES]
FILES = {
    "runs.csv": (*RESULTS, *DESCRIBED, *COUNTED),
    "traces.csv": FULL_TRACES,
    "paths.csv": PATHS,
}


def numbers_of(file: str) -> list[str]:
    """Return the names of the columns of a file that hold numbers, whole or not."""
    return [own.name for own in FILES[file] if _KINDS[own.kind] in ("number", "integer")]


def typed(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """Return a table with the columns of a file, each of its type; those it lacks are empty."""
    found = table.reindex(columns=[own.name for own in FILES[file]]).astype(object)
    for name in numbers_of(file):
        found[name] = found[name].astype(np.float64)
    for name in (own.name for own in FILES[file] if own.kind == "flag"):
        found[name] = found[name].map({True: True, "True": True}).notna()
    return found


def csv_of(table: pd.DataFrame, file: str) -> bytes:
    """Return a table as CSV: whole numbers have no decimal point, and measures twelve digits."""
    whole, measures = (
        [own.name for own in FILES[file] if own.kind == kind and own.name in table]
        for kind in ("whole", "measure")
    )
    known = {name: table[name].dropna() for name in whole}
    kept = [k for k, own in known.items() if (own % 1 == 0).all() and (own.abs() < 2**63).all()]
    written = table.astype(dict.fromkeys(kept, "Int64"))
    written[measures] = written[measures].map("{:.12g}".format).astype(np.float64)
    return written.to_csv(index=False).encode()


def datapackage(name: str, tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Return what describes these tables, by the names of their files, some of `FILES`."""
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
                        {"name": own.name, "type": _KINDS[own.kind], "description": own.meaning}
                        for own in FILES[file]
                        if own.name in table
                    ]
                },
            }
            for file, table in tables.items()
        ],
    }
