"""`dualgap export`: write problems to files that other programs read."""

from pathlib import Path

import click

from dualgap.experiments.commands import FILE, INPUT_FILE, PATH
from dualgap.experiments.operations.terminal import say
from dualgap.experiments.records import Refusal


@click.command("export")
@click.argument("problem", metavar="PROBLEM.yaml", type=INPUT_FILE)
@click.option("--out", type=FILE, help="Output file: .npz, or any other name for LIBSVM.")
@click.option("--qp", is_flag=True, help="Write the dual as a box QP (.npz, .mat or .qps).")
@click.option(
    "--all", "folder", type=PATH, help="Write all problems of an experiment to this folder."
)
@click.option("--format", "formats", multiple=True, help="File format, with --all [libsvm].")
def command(
    problem: Path, out: Path | None, qp: bool, folder: Path | None, formats: tuple[str, ...]
) -> None:
    """Export the samples or the QP of PROBLEM.yaml to a file.

    The file is a NumPy archive (.npz) or LIBSVM text. An archive has X (n, d) and y, C (n,); with --qp
    it has Q, p, A, b, lb and ub of min ½xᵀQx + pᵀx s.t. Ax = b, lb ≤ x ≤ ub, and `dualgap certify`
    accepts an x. A convex QP is written unchanged, and its x, z and y are accepted.

    With --all, PROBLEM.yaml is an experiment, and problems.json lists its problems, with checksums.
    --format is libsvm, npz, csv, mat, qp (npz), qp_mat or qps, and may be repeated.
    """
    from dualgap.experiments.operations.exchange import export_all, write_problem  # noqa: PLC0415

    if folder is not None and out is None and not qp:
        for path in export_all(problem, folder, formats or ["libsvm"]):
            say(path)
        return
    if folder is not None or out is None or formats:
        raise Refusal("Give --out FILE, possibly with --qp, or --all DIR, possibly with --format.")
    write_problem(problem, out, qp)
    say(out)
