"""Quadratic programs in files, solved by every back end: what they claim, what is verified.

    python -m experiments.analysis.maros_meszaros FOLDER OUT.csv [NAME ...]

Each back end is asked for 1e-3, 1e-6 and 1e-9, in a process of its own that is ended at `LIMIT` seconds
of solving; where it fails to end in time at one tolerance the tighter ones are not tried. A row is kept
for each, also where there is no answer. Two problems are worked on at a time.
"""

import csv
import multiprocessing
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from math import nan
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from problems import QP, ConvexQP, Point, certify, reduce
from problems.datasets.quadratic_programs import read_qp
from solvers import Solver
from solvers.cvxopt_qp import CvxoptQP
from solvers.external.qpsolvers_qp import QPSolversQP

LIMIT, CERTIFYING = 4.0, 10.0  # seconds
TOLERANCES = (1e-3, 1e-6, 1e-9)
BACKENDS = ("clarabel", "cvxopt", "highs", "osqp", "piqp", "scs")
COLUMNS = [
    *("problem", "n", "m", "backend", "tol", "status", "claimed", "time_solve"),
    *("primal_objective", "dual_objective", "relative_gap", "primal_residual", "bound_source"),
    *("time_certify", "reason"),
]


def solver_of(backend: str, tol: float) -> Solver:
    """Return a back end at a tolerance; first-order methods get as many steps as time allows."""
    if backend == "cvxopt":
        return CvxoptQP(tol=tol)
    many = 10_000_000 if backend in ("osqp", "scs") else None
    return QPSolversQP(backend=backend, tol=tol, max_iter=many)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of one file."""
    name = path.stem.upper()
    try:
        problem = read_qp(path)
    except (ValueError, OSError) as error:
        return [dict.fromkeys(COLUMNS) | {"problem": name, "reason": str(error)}]
    known = {"problem": name, "n": problem.n, "m": problem.d}
    return [known | row for backend in BACKENDS for row in _of_backend(problem, backend)]


def _of_backend(problem: ConvexQP, backend: str) -> Iterator[dict[str, Any]]:
    status = ""
    for tol in TOLERANCES:
        row: dict[str, Any] = {"backend": backend, "tol": tol, "claimed": "none"}
        if status == "time_limit":
            yield row | {"status": status, "reason": "a looser tolerance took too long"}
            continue
        status, seconds, claim, point = _solved(problem, solver_of(backend, tol))
        row |= {"status": status, "time_solve": seconds, "claimed": claim}
        yield row | (_judged(problem, point) if point is not None else {"reason": status})


def _solved(problem: ConvexQP, solver: Solver) -> tuple[str, float, str, Point | None]:
    """Return status, seconds, claim and point of a solver in a process of its own."""
    fork = multiprocessing.get_context("fork")
    receiving, sending = fork.Pipe(duplex=False)
    process = fork.Process(target=_solve, args=(problem, solver, sending), daemon=True)
    process.start()
    sending.close()
    try:
        if not receiving.poll(1.0 + LIMIT):
            return "time_limit", nan, "none", None
        status, seconds, claim, *arrays = receiving.recv()
    except EOFError:
        return "crashed", nan, "none", None
    finally:
        process.kill()
        process.join()
    if seconds > LIMIT:
        return "time_limit", nan, "none", None
    return status, seconds, claim, Point(*arrays) if arrays else None


def _solve(problem: ConvexQP, solver: Solver, sending: Any) -> None:
    made = reduce(problem, QP)
    state = solver.prepare(made.form)
    begun = perf_counter()
    try:
        *_, last = solver.iterates(state)
    except Exception as error:
        sending.send((f"crashed: {type(error).__name__}: {error}"[:200], nan, "none"))
        return
    seconds, point = perf_counter() - begun, made.recover(last)
    arrays = () if point.alpha is None else (point.alpha, point.w)
    sending.send(("finished", seconds, last.claim, *arrays))


def _judged(problem: ConvexQP, point: Point) -> dict[str, Any]:
    begun = perf_counter()

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, CERTIFYING)
    try:
        with np.errstate(all="ignore"):
            c = certify(problem, point)
    except TimeoutError:
        return {"reason": f"certifying took more than {CERTIFYING:g} s", "time_certify": CERTIFYING}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    names = "primal_objective dual_objective relative_gap primal_residual bound_source reason"
    found = {name: getattr(c, name) for name in names.split()}
    return found | {"time_certify": perf_counter() - begun}


def main(folder: str, out: str, *names: str) -> None:
    """Write the rows of all files of a folder, the smallest first."""
    files = sorted(Path(folder).iterdir(), key=lambda file: file.stat().st_size)
    files = [file for file in files if not names or file.stem.upper() in names]
    with Path(out).open("w", newline="", encoding="utf-8") as file, ProcessPoolExecutor(3) as pool:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for done in as_completed(pool.submit(rows_of, path) for path in files):
            writer.writerows(done.result())
            file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
