"""The columns of `load_results` and `load_traces`, and their meanings: `dualgap list columns`.

This one declaration defines the columns, their order and types, the page of the documentation, and the
`datapackage.json` next to the tables (a Frictionless Tabular Data Package). Objectives and bounds are in
the scale ½‖w‖² + Σ Cᵢ·lossᵢ unless stated otherwise, times in seconds. A missing value is NaN, never 0.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["text", "json", "flag", "number", "whole", "measure"]


class ColumnSpec(NamedTuple):
    """A column of a table: its name, the kind of its values, and their meaning.

    A measure is a number that is not a bound: it is written with twelve significant digits.
    """

    name: str
    kind: Kind
    meaning: str


# one row per run; user scripts read the columns up to `versions`, which stay as they are
RESULTS = (
    ColumnSpec("run_id", "text", "hash of everything that defines the run"),
    ColumnSpec("problem_id", "text", "readable name of the problem, unique in its experiment"),
    ColumnSpec(
        "problem_hash",
        "text",
        "identity of the formulation, its data and parameters; equal in every experiment",
    ),
    ColumnSpec(
        "family_hash",
        "text",
        "the same for a problem's primal, dual and risk, which share one optimum",
    ),
    ColumnSpec("formulation", "text", "its name in `dualgap list problems`"),
    ColumnSpec("dataset", "text", "name and options of the data set"),
    ColumnSpec("n", "whole", "number of training samples; for a convex QP, of variables"),
    ColumnSpec(
        "d", "whole", "number of features; for a convex QP, of constraints other than bounds"
    ),
    ColumnSpec("kernel", "text", "its name and settings; empty if the formulation takes none"),
    ColumnSpec("C", "number", "weight of the slacks"),
    ColumnSpec("epsilon", "number", "half-width of the regression tube"),
    ColumnSpec("lam", "number", "weight of the ridge term (lam/2)‖w‖² in a risk; C = 1/(n·lam)"),
    ColumnSpec("solver", "text", "its name, or file.py:Class if it is user-defined"),
    ColumnSpec("params", "json", "the solver's settings, as JSON"),
    ColumnSpec("seed", "whole", "seed of a solver that draws random numbers"),
    ColumnSpec("repetition", "whole", "index of the repetition, from 0"),
    ColumnSpec("target_gap", "number", "relative gap at which the verdict is 'solved'"),
    ColumnSpec("status", "text", "how the solver process ended"),
    ColumnSpec(
        "claimed",
        "text",
        "the solver's claim: optimal, infeasible, unbounded, stopped (no claim) or none (no "
        "answer)",
    ),
    ColumnSpec(
        "verdict",
        "text",
        "the certificate's verdict: solved, inaccurate, wrong, infeasible or uncertified",
    ),
    ColumnSpec(
        "reason",
        "text",
        "why the run ended this way, why a bound is missing, or what is wrong; else empty",
    ),
    ColumnSpec(
        "objective",
        "number",
        "objective of the answer, in the formulation's own sign and scale",
    ),
    ColumnSpec(
        "primal_objective",
        "number",
        "upper bound on the optimum: the primal objective at the answer",
    ),
    ColumnSpec(
        "dual_objective",
        "number",
        "lower bound on the optimum: the dual objective at the answer",
    ),
    ColumnSpec("gap", "number", "primal_objective − dual_objective"),
    ColumnSpec("relative_gap", "number", "gap / max(|primal_objective|, |dual_objective|)"),
    ColumnSpec(
        "suboptimality",
        "measure",
        "primal_objective minus the best lower bound of any run with this family_hash",
    ),
    ColumnSpec(
        "kkt_violation",
        "measure",
        "natural residual: min over ν of max |α − clip(α − r, lb, ub)|, r = Qα + p + νa",
    ),
    ColumnSpec(
        "violating_pair",
        "measure",
        "how far the most violating pair is from optimality: LIBSVM's stopping measure",
    ),
    ColumnSpec(
        "primal_residual",
        "measure",
        "largest violation of α's box and equality, before projection; of a convex QP, of any "
        "constraint",
    ),
    ColumnSpec(
        "dual_residual",
        "measure",
        "largest violation of a margin constraint without slack: hard margin only, else 0; of a "
        "convex QP ‖Px + q + Aᵀy + Gᵀz + u‖∞, with multipliers u of the bounds that make it least",
    ),
    ColumnSpec(
        "complementarity",
        "measure",
        "largest product of a variable's distance to a bound and that bound's multiplier",
    ),
    ColumnSpec(
        "projection_distance",
        "measure",
        "how far α was moved to be feasible before certification, in ‖·‖₂",
    ),
    ColumnSpec(
        "bound_source",
        "text",
        "source of the bounds: 'alpha', 'alpha and w' (the solver's own w), 'recovered from "
        "w', 'none'; 'proven: ...' if they are theorems",
    ),
    ColumnSpec(
        "time_setup",
        "measure",
        "seconds of preparation: imports, compilation; our own compiled code is loaded earlier",
    ),
    ColumnSpec(
        "time_solve",
        "measure",
        "seconds inside the algorithm, without evaluation of iterates and certification",
    ),
    ColumnSpec(
        "cpu_time",
        "measure",
        "CPU seconds of all threads inside the algorithm, and of child processes waited for",
    ),
    ColumnSpec("peak_rss", "whole", "largest resident memory of the solver process, in bytes"),
    ColumnSpec(
        "iterations",
        "whole",
        "the solver's own count (steps, epochs, ...), not comparable between solvers",
    ),
    ColumnSpec("n_kernel_evals", "whole", "kernel values computed, if the solver counts them"),
    ColumnSpec("n_support", "whole", "support vectors: samples with α ≠ 0 (at least 1e-8 of C)"),
    ColumnSpec("n_free", "whole", "support vectors between their bounds, 0 < |α| < C"),
    ColumnSpec("n_bounded", "whole", "support vectors at their bound, |α| = C"),
    ColumnSpec(
        "margin",
        "measure",
        "width 2/‖w‖ of the strip −1 ≤ f ≤ 1, for nu_svc 2ρ/‖w‖; two classes only",
    ),
    ColumnSpec(
        "train_accuracy",
        "measure",
        "fraction of training samples classified correctly; for a regression R²",
    ),
    ColumnSpec(
        "test_accuracy",
        "measure",
        "the same on the samples held out by `test_size` or `folds`",
    ),
    ColumnSpec(
        "threads",
        "whole",
        "largest number of threads that a numerical library of the process may use",
    ),
    ColumnSpec("signal", "text", "signal that ended the process, such as SIGKILL"),
    ColumnSpec("host", "text", "host name; compare times only between runs on the same host"),
    ColumnSpec(
        "versions", "json", "Python and the packages that affect numbers and times, as JSON"
    ),
    ColumnSpec(
        "label",
        "text",
        "the solver's name in tables: its label in the experiment file or its name, with the "
        "settings in which solvers of this name differ",
    ),
    ColumnSpec(
        "problem",
        "json",
        "specification of the problem: formulation, data set, parameters, path, as JSON",
    ),
    ColumnSpec(
        "aa_repeat",
        "flag",
        "whether it is the second of two identical runs (A/A), whose times show the noise",
    ),
    ColumnSpec(
        "search",
        "text",
        "common part of the run ids of one tolerance search; empty outside a search",
    ),
    ColumnSpec("step", "whole", "index of the run in its search, from 0, the loosest tolerance"),
    ColumnSpec(
        "path",
        "text",
        "the parameter that was followed and its interval, such as C=0.01..100; else empty",
    ),
    ColumnSpec(
        "n_answers",
        "whole",
        "answers on a path; its relative_gap is the largest at any value of the parameter",
    ),
    ColumnSpec(
        "warm_start",
        "text",
        "run_id of the run whose answer was the starting point; empty if none",
    ),
    ColumnSpec(
        "tol",
        "number",
        "the solver's stopping tolerance: as in params, or if that is null, the one that "
        "target_gap needs; NaN if the solver has none",
    ),
    ColumnSpec(
        "series", "text", "label without the settings that trade time for accuracy, such as tol"
    ),
    ColumnSpec(
        "search_setting", "text", "setting of the step, such as tol=0.01; empty outside a search"
    ),
    ColumnSpec("stop_reason", "text", "what ended the solver: a word of `dualgap list outcomes`"),
    ColumnSpec(
        "cpu_frequency", "measure", "clock in MHz of the solver's core as it ended, if known"
    ),
    ColumnSpec("cpu_throttled", "whole", "throttling events of all cores meanwhile, if known"),
)
# for solved runs with `describe: true`; tables without such runs lack these columns
DESCRIBED = (
    ColumnSpec(
        "fraction_free", "measure", "fraction of the dual variables strictly between their bounds"
    ),
    ColumnSpec(
        "fraction_bounded", "measure", "fraction of the dual variables at a bound that is not 0"
    ),
    ColumnSpec(
        "condition_number_free",
        "measure",
        "ratio of the largest to the smallest eigenvalue of Q on the free variables, within "
        "the equalities; up to 2000 free ones",
    ),
    ColumnSpec(
        "strict_complementarity",
        "measure",
        "minimum over the variables of max(distance to a bound relative to the box, |reduced "
        "gradient|): 0 if one is at its bound without a multiplier",
    ),
    ColumnSpec(
        "effective_rank",
        "measure",
        "(trace K)² / ‖K‖²: the number of equal eigenvalues with this ratio",
    ),
    ColumnSpec(
        "effective_rank_error",
        "measure",
        "its standard error over four samples of 250; 0 up to n = 1000",
    ),
    ColumnSpec(
        "eigenvalue_decay",
        "measure",
        "exponent p of the fit λₖ ∝ k^−p to the eigenvalues of K, or of samples of it",
    ),
    ColumnSpec(
        "eigenvalue_decay_error",
        "measure",
        "its standard error over four samples of 250; 0 up to n = 1000",
    ),
    ColumnSpec(
        "kernel_density",
        "measure",
        "fraction of the off-diagonal entries of K above 1e-6 of its mean diagonal",
    ),
    ColumnSpec(
        "kernel_density_error",
        "measure",
        "its standard error over four samples of 250; 0 up to n = 1000",
    ),
    ColumnSpec(
        "fraction_duplicate", "measure", "fraction of the samples that equal an earlier one"
    ),
    ColumnSpec(
        "largest_eigenvalue",
        "measure",
        "that of the dual's Q, the Lipschitz constant L of its gradient, to 1e-3",
    ),
    ColumnSpec(
        "start_distance",
        "measure",
        "‖x₀ − x*‖ in the dual variables, x₀ being the feasible point nearest to 0",
    ),
    ColumnSpec("radius", "measure", "R, the largest ‖φ(x)‖ of a sample"),
    ColumnSpec("total_weight", "measure", "Σ Cᵢ; for a risk, 1/lam"),
    ColumnSpec("loss_at_zero", "measure", "Σ Cᵢ·lossᵢ at w = 0"),
)
# for convex QPs; tables without any lack this column
QP_COLUMNS = (
    ColumnSpec(
        "duality_gap",
        "measure",
        "|xᵀPx + qᵀx + b_eqᵀy + hᵀz + lbᵀ min(u, 0) + ubᵀ max(u, 0)| of the answer: with the two "
        "residuals the conditions that qpbenchmark measures",
    ),
)
# for solvers on blocks of samples, and for programs; tables without such runs lack these columns
COUNTED = (
    ColumnSpec("rounds", "whole", "passes over the blocks of samples"),
    ColumnSpec("bytes_moved", "whole", "bytes sent between processes"),
    ColumnSpec("worker_cpu_time", "measure", "CPU seconds of all worker processes"),
    ColumnSpec(
        "worker_peak_rss",
        "whole",
        "largest resident memory of each worker process, in bytes, summed",
    ),
    ColumnSpec(
        "time_startup",
        "measure",
        "seconds that a program takes on two samples: startup, reading and writing",
    ),
    ColumnSpec(
        "time_reported", "measure", "seconds that a program itself reports; not used in rankings"
    ),
)
# one row per evaluation of a running solver
TRACES = (
    ColumnSpec("run_id", "text", "the run that was evaluated"),
    ColumnSpec("time", "measure", "seconds inside the algorithm so far"),
    ColumnSpec("iteration", "whole", "the solver's own count so far"),
    ColumnSpec("primal_objective", "number", "upper bound on the optimum at that time"),
    ColumnSpec("dual_objective", "number", "lower bound on the optimum at that time"),
    ColumnSpec("gap", "number", "primal_objective − dual_objective"),
    ColumnSpec("kkt_violation", "measure", "natural residual"),
)
# one row per answer on a path, in the order of the parameter
PATHS = (
    ColumnSpec("run_id", "text", "the run that followed the path"),
    ColumnSpec("parameter", "text", "C, lam or epsilon"),
    ColumnSpec("value", "number", "value of the parameter at which the answer was found"),
    ColumnSpec("from", "number", "lowest value that the answer covers"),
    ColumnSpec("to", "number", "highest value that the answer covers"),
    ColumnSpec("dual_objective", "number", "lower bound on the optimum at `value`"),
    ColumnSpec("primal_objective", "number", "upper bound on the optimum at `value`"),
    ColumnSpec("relative_gap", "number", "relative gap of these bounds"),
    ColumnSpec("worst_gap", "number", "largest relative gap between `from` and `to`"),
    ColumnSpec("n_support", "whole", "support vectors: samples with α ≠ 0"),
    ColumnSpec("iterations", "whole", "the solver's own count for this answer"),
    ColumnSpec("time_solve", "measure", "seconds inside the algorithm for this answer"),
    ColumnSpec(
        "error",
        "measure",
        "error on the samples held out by `test_size` or `folds`: fraction of wrong "
        "predictions, or mean squared error; empty if none are held out",
    ),
    ColumnSpec(
        "error_lower",
        "number",
        "lower bound on this error of any optimum between `from` and `to`",
    ),
    ColumnSpec("error_upper", "number", "upper bound on it"),
)
FULL_TRACES = (
    *TRACES,
    ColumnSpec("n_support", "whole", "support vectors at that time"),
    ColumnSpec(
        "objective",
        "number",
        "objective of the iterate, in the formulation's own sign and scale",
    ),
    ColumnSpec("relative_gap", "number", "gap / max(|primal_objective|, |dual_objective|)"),
)
COLUMNS = [c.name for c in RESULTS]
TRACE_COLUMNS = [c.name for c in TRACES]
FILES = {
    "runs.csv": (*RESULTS, *DESCRIBED, *QP_COLUMNS, *COUNTED),
    "traces.csv": FULL_TRACES,
    "paths.csv": PATHS,
}
