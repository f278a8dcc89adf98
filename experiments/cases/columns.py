"""The columns of `load_results` and `load_traces`, and what each means: `dualgap list columns`.

Objectives and bounds are in the scale ½‖w‖² + Σ Cᵢ·lossᵢ unless stated otherwise, times in seconds.
A missing value is NaN, never 0.
"""

from __future__ import annotations

RESULTS = {  # in the order of the table
    "run_id": "hash of everything that decides what is run",
    "problem_id": "readable name of the problem, unique in its experiment",
    "problem_hash": "identity of the formulation, its data and parameters; equal in every experiment",
    "family_hash": "the same for a problem's primal, dual and risk, which share one optimum",
    "formulation": "its name in `dualgap list problems`",
    "dataset": "its name and options",
    "n": "number of training samples",
    "d": "number of features",
    "kernel": "its name and settings; empty where the formulation takes none",
    "C": "weight of the slacks",
    "epsilon": "half-width of the tube of a regression",
    "lam": "weight of the ridge (lam/2)‖w‖² of a risk; C = 1/(n·lam)",
    "solver": "its name, or file.py:Class for one from outside",
    "params": "the solver's settings, as JSON",
    "seed": "of a solver that draws random numbers",
    "repetition": "number of the repetition, from 0",
    "target_gap": "relative gap at which the verdict is 'solved'",
    "status": "of the process: how the run ended",
    "claimed": "by the solver: optimal, infeasible, stopped (it makes no claim) or none (no answer)",
    "verdict": "by the certificate: solved, inaccurate, wrong, infeasible or uncertified",
    "reason": "why the run ended in this way, why a bound is missing, what is wrong; else empty",
    "objective": "of the answer, in the formulation's own sign and scale",
    "primal_objective": "upper bound on the optimum: the primal objective at the answer",
    "dual_objective": "lower bound on the optimum: the dual objective at the answer",
    "gap": "primal_objective − dual_objective",
    "relative_gap": "gap / max(|primal_objective|, |dual_objective|)",
    "suboptimality": "primal_objective less the best lower bound of any run with this family_hash",
    "kkt_violation": "natural residual: min over ν of max |α − clip(α − r, lb, ub)|, r = Qα + p + νa",
    "violating_pair": "how far the most violating pair is from optimal: LIBSVM's stopping measure",
    "primal_residual": "largest violation of α's box and equality, before it was projected",
    "dual_residual": "largest violation of a margin that no slack may absorb: hard margin only, else 0",
    "complementarity": "largest product of a variable's distance to a bound and that bound's multiplier",
    "projection_distance": "how far α was moved to be feasible before it was certified, in ‖·‖₂",
    "bound_source": "what the bounds are from: 'alpha', 'alpha and w' (the solver's own w), "
    "'recovered from w', 'none'; 'proven: ...' where they are theorems",
    "time_setup": "seconds of preparing: imports, compilation; our own compiled code is loaded before",
    "time_solve": "seconds inside the algorithm; evaluating iterates and certifying are not counted",
    "cpu_time": "seconds of all threads inside the algorithm, and of children that were waited for",
    "peak_rss": "largest resident memory of the process that solved, in bytes",
    "iterations": "the solver's own count: steps, epochs, ... differ from one solver to the next",
    "n_kernel_evals": "kernel values computed, if the solver counts them",
    "n_support": "support vectors: samples with α ≠ 0 (at least 1e-8 of C)",
    "n_free": "support vectors between their bounds, 0 < |α| < C",
    "n_bounded": "support vectors at their bound, |α| = C",
    "margin": "width 2/‖w‖ of the strip −1 ≤ f ≤ 1, of nu_svc 2ρ/‖w‖; two classes only",
    "train_accuracy": "share of training samples whose class is right; of a regression R²",
    "test_accuracy": "the same of the samples held out by `test_size` or `folds`",
    "threads": "most threads that a numerical library of the process may use",
    "signal": "that ended the process, such as SIGKILL",
    "host": "the machine: times are comparable only within one",
    "versions": "of Python and of the packages that decide numbers and times, as JSON",
    "label": "what the experiment file calls this entry of its solvers; empty if it does not",
    "path": "the parameter that was followed and its interval, such as C=0.01..100; else empty",
    "n_answers": "of a path, whose relative_gap is the largest at any value of its parameter",
    "warm_start": "run_id of the run whose answer the solver was given to begin at; empty if none",
}
DESCRIBED = {  # of runs that are solved, with `describe: true`; tables without any have no such columns
    "share_free": "share of the dual variables strictly between their bounds",
    "share_bounded": "share of the dual variables at a bound that is not 0",
    "condition_free": "ratio of the largest to the smallest eigenvalue of Q on the free variables, "
    "within the equalities; up to 2000 free ones",
    "strict_complementarity": "least over the variables of max(distance to a bound as a share of the "
    "box, |reduced gradient|): 0 where one is at its bound without being held there",
    "effective_rank": "(trace K)² / ‖K‖²: how many equal eigenvalues would be as much",
    "effective_rank_error": "standard error of that over four samples of 250; 0 up to n = 1000",
    "eigenvalue_decay": "p of the fit λₖ ∝ k^−p to the eigenvalues of K, or of samples of it",
    "eigenvalue_decay_error": "standard error of that over four samples of 250; 0 up to n = 1000",
    "kernel_density": "share of the entries of K off its diagonal above 1e-6 of its mean diagonal",
    "kernel_density_error": "standard error of that over four samples of 250; 0 up to n = 1000",
    "duplicates": "share of the samples that are equal to an earlier one",
    "largest_eigenvalue": "of the dual's Q, the Lipschitz constant L of its gradient, to 1e-3",
    "start_distance": "‖x₀ − x*‖ of the dual's variables, x₀ the feasible point nearest to 0",
    "radius": "R, the largest ‖φ(x)‖ of a sample",
    "total_weight": "Σ Cᵢ, which is 1/lam of a risk",
    "loss_at_zero": "Σ Cᵢ·lossᵢ at w = 0",
}
TRACES = {  # a row for each evaluation of a running solver
    "run_id": "the run that was evaluated",
    "time": "seconds inside the algorithm until then",
    "iteration": "the solver's own count until then",
    "primal_objective": "upper bound on the optimum then",
    "dual_objective": "lower bound on the optimum then",
    "gap": "primal_objective − dual_objective",
    "kkt_violation": "natural residual",
}
PATHS = {  # a row for each answer on a path, in the order of the parameter
    "run_id": "the run that followed the path",
    "parameter": "C, lam or epsilon",
    "value": "of the parameter, at which the answer was found",
    "from": "lowest value for which it stands",
    "to": "highest value for which it stands",
    "dual_objective": "lower bound on the optimum at `value`",
    "primal_objective": "upper bound on the optimum at `value`",
    "relative_gap": "of the two, at `value`",
    "worst_gap": "largest relative gap between `from` and `to`",
    "n_support": "support vectors: samples with α ≠ 0",
    "iterations": "the solver's own count, of this answer",
    "time_solve": "seconds inside the algorithm, of this answer",
}
COLUMNS, TRACE_COLUMNS, PATH_COLUMNS = list(RESULTS), list(TRACES), list(PATHS)
FULL_TRACE_COLUMNS = [*TRACE_COLUMNS, "n_support", "objective"]
_TEXT_COLUMNS = """
run_id problem_id problem_hash family_hash formulation dataset kernel path solver params warm_start
status claimed
verdict reason bound_source signal host versions label
"""
NUMBER_COLUMNS = [name for name in [*COLUMNS, *DESCRIBED] if name not in _TEXT_COLUMNS.split()]
