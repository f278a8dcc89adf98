"""Judges certificates and verdicts of problems drawn at random against their exact optimum.

    python -m tests.differential.run [COUNT] [--seed S] [--first NUMBER] [--processes P]

Prints what does not hold, each with the number of its problem, and a table by formulation, kernel and
scale; exits with 1 unless all holds. `--only NUMBER` judges one problem and shows it. `--write FILE`
keeps what every certificate says; `--compare FILE` says where another version of the code says something
else, and exits with 1 where a verdict differs.
"""

import argparse
import json
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from tests.differential.drawing import Drawn, drawn
from tests.differential.judging import Fault, Judged, Said, certify_answers, last

KINDS = ("lower bound", "upper bound", "infeasible", "gap")  # of faults
KINDS += ("solved", "wrong", "crash", "no reference")
_LONGEST = 120  # seconds for a problem; most take some hundredths
_NEAR = 1e-12  # relative difference of bounds that another order of operations explains
_CHUNK = 250  # problems that a process is given at a time


def judged_in_time(seed: int, number: int) -> Judged:
    """Return what was found about a problem, in a process that does nothing else."""
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(_LONGEST)
    judgement = check(seed, number)
    signal.alarm(0)
    return judgement


def _stop(*_: object) -> None:
    raise TimeoutError(f"not judged within {_LONGEST} seconds")


def check(seed: int, number: int) -> Judged:
    """Return what was found about a problem; a judge that fails is a fault of that problem alone."""
    words = ("unknown", "", "")
    try:
        problem = drawn(seed, number)
        words = (problem.formulation, problem.kernel, problem.scale)
        return certify_answers(problem, seed)
    except Exception as error:
        return Judged(number, words, faults=[Fault("crash", "the judge", last(error))])


def judge_all(seed: int, numbers: Sequence[int], processes: int) -> Iterator[Judged]:
    """Yield what was found about each problem."""
    if processes == 1:
        yield from (check(seed, number) for number in numbers)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(partial(judged_in_time, seed), numbers, chunksize=_CHUNK)


def fault_report(seed: int, judgement: Judged) -> str:
    """Return the faults of a problem, each on a line, below the command that judges it again."""
    again = f"python -m tests.differential.run --seed {seed} --only {judgement.number}"
    title = f"{', '.join(judgement.words)}: {again}"
    return "\n".join([title] + [f"    {f.kind} of {f.point}: {f.detail}" for f in judgement.faults])


def as_source(d: Drawn) -> str:
    """Return a problem as text that makes it again."""
    p = d.problem
    X = p.X if isinstance(p.X, np.ndarray) else p.X.toarray()
    settings = {f.name: getattr(p, f.name) for f in fields(p) if f.name not in ("X", "y")}
    kind = "dense" if isinstance(p.X, np.ndarray) else "CSR"
    return f"{type(p).__name__}: {kind} X = {X.tolist()}, y = {p.y.tolist()}, {settings}"


def table(judgements: Iterable[Judged]) -> str:
    """Return a line for each formulation, kernel and scale, and one of all.

    Of the relative errors of bounds: how many are infinite, quantiles of the others, the widest proven.
    """
    rows = pd.DataFrame(
        {
            "of": of,
            "named": word,
            "problems": 1,
            "certif.": len(judgement.statements),
            **{kind: any(fault.kind == kind for fault in judgement.faults) for kind in KINDS},
            "unbounded": judgement.width == np.inf,
            "width": judgement.width,
            "proven": judgement.proven_width,
        }
        for judgement in judgements
        for of, word in zip(
            ("all", "formulation", "kernel", "scale"), ("", *judgement.words), strict=True
        )
    )
    groups = rows.replace(np.inf, np.nan).groupby(["of", "named"])
    widths = groups["width"].quantile([0.5, 0.99, 1.0]).unstack()
    widths.columns = ["median", "99 %", "widest"]
    sums = groups[["problems", "certif.", *KINDS, "unbounded"]].sum()
    return sums.join(widths).join(groups["proven"].max()).to_string(float_format="{:.0e}".format)


def written(results: Iterable[Judged]) -> str:
    """Return what every certificate says, one a line."""
    lines = ({"problem": j.number, **s._asdict()} for j in results for s in j.statements)
    return "".join(json.dumps(line) + "\n" for line in lines)


def compared(results: Iterable[Judged], file: Path) -> tuple[list[str], Counter[str]]:
    """Return where certificates say other than a file that was written, and how many say the same."""
    recorded: dict[int, list[Said]] = defaultdict(list)
    with file.open(encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            recorded[record.pop("problem")].append(Said(**record))
    count, differences = Counter[str](), list[str]()
    for judgement in results:
        before, now = recorded[judgement.number], judgement.statements
        if [s.answer for s in before] != [s.answer for s in now]:
            count["other answers"] += 1
            differences.append(f"{judgement.number}: other answers, {before} -> {now}")
            continue
        for old, new in zip(before, now, strict=True):
            bounds = [(getattr(old, end), getattr(new, end)) for end in ("lower", "upper")]
            pairs = np.array([[float.fromhex(v) for v in pair] for pair in bounds])
            close = np.isclose(pairs[:, 0], pairs[:, 1], rtol=_NEAR, atol=0.0, equal_nan=True)
            same = "equal" if all(a == b for a, b in bounds) else "near" if close.all() else "other"
            count[f"{same} bounds"] += 1
            count["equal reasons" if old.reason == new.reason else "other reasons"] += 1
            count["equal verdicts" if old.verdict == new.verdict else "other verdicts"] += 1
            if same == "other" or old.verdict != new.verdict:
                differences.append(f"{judgement.number}: {old} -> {new}")
    return differences, count


def main() -> int:
    """Judge, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=100_000, help="problems to draw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--only", type=int, help="judge this one and show it")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep what certificates say")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="with one that was written")
    options = parser.parse_args()
    if options.only is not None:
        problem = drawn(options.seed, options.only)
        judgement = certify_answers(problem, options.seed)
        print(as_source(problem), fault_report(options.seed, judgement), sep="\n")  # noqa: T201
        return bool(judgement.faults)
    numbers = range(options.first, options.first + options.count)
    results, started_at = [], time.monotonic()
    for judgement in judge_all(options.seed, numbers, options.processes):
        results.append(judgement)
        if judgement.faults:
            print(fault_report(options.seed, judgement), flush=True)  # noqa: T201
        if len(results) % 1000 == 0:
            seconds = time.monotonic() - started_at
            false = sum(bool(j.faults) for j in results)
            print(  # noqa: T201
                f"{len(results)} of {options.count} problems, {false} with faults, "
                f"{len(results) / seconds:.0f} a second",
                file=sys.stderr,
                flush=True,
            )
    print(table(results))  # noqa: T201
    if options.write:
        options.write.write_text(written(results), encoding="utf-8")
    differences, count = (
        compared(results, options.compare) if options.compare else ([], Counter[str]())
    )
    for line in [*differences, *(f"{kind}: {count[kind]}" for kind in sorted(count))]:
        print(line)  # noqa: T201
    differs = count["other verdicts"] + count["other answers"]
    return bool(differs) or any(j.faults for j in results)


if __name__ == "__main__":
    sys.exit(main())
