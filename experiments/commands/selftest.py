"""`dualgap selftest`: test a solver's behaviour on small problems."""

import sys

import click

from dualgap.experiments.operations.terminal import console, refusing


@click.command("selftest")
@click.argument("solver", metavar="NAME|FILE:CLASS")
@click.option("--property", "only", metavar="NAME", multiple=True, help="Test only this one [all].")
def command(solver: str, only: tuple[str, ...]) -> None:
    """Test a solver's behaviour and claims on small problems.

    This takes at most two minutes. Exit 1 if a property fails.
    """
    from dualgap.experiments.operations.progress import progress  # noqa: PLC0415
    from dualgap.experiments.selftest import properties, try_solver  # noqa: PLC0415
    from dualgap.experiments.selftest.report import to_terminal  # noqa: PLC0415

    with refusing(ValueError):
        chosen = properties(only)
        with progress(len(chosen)) as advance:
            report = try_solver(
                solver,
                properties=chosen,
                progress=lambda outcome: advance(f"{outcome.name}: {outcome.result}"),
            )
    console().print(to_terminal(report))
    sys.exit(0 if report.passed else 1)
