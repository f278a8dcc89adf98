"""`dualgap list`: the names that commands and experiment files accept and results contain."""

import click

from dualgap.experiments.operations.terminal import console

_KINDS = (
    *("solvers", "problems", "losses", "datasets", "kernels", "experiments"),
    *("keys", "columns", "outcomes", "figures", "properties"),
)


@click.command("list")
@click.argument("kind", type=click.Choice(_KINDS), required=False)
def command(kind: str | None) -> None:
    """List names for experiment files, columns and kinds of figures."""
    from dualgap.experiments.operations.listing import listing  # noqa: PLC0415

    for chosen in [kind] if kind else _KINDS:
        console().print(listing(chosen))
