"""`dualgap publish`: published results are written, or checked against their records."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from experiments.output.terminal import refuse, refusing


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Only check that results/ derives from its records.")
@click.option(
    "--pages", metavar="DIR", type=click.Path(path_type=Path), help="Only write reports to it."
)
def publish(folders: tuple[Path, ...], check: bool, pages: Path | None) -> None:
    """Publish the results FOLDERS into results/: one run, a folder of runs, or several benchmarks.

    Without a folder, all tables in results/ and the README files are written again from the
    records. With --check nothing is written, and exit is 1 if anything is out of date. With --pages a
    report page of each published experiment is written below DIR, with one file of the library that
    their charts share, and an index.
    """
    from experiments.publishing import publish as publishing  # noqa: PLC0415
    from experiments.publishing.documents import ROOT  # noqa: PLC0415
    from experiments.publishing.outdated import outdated  # noqa: PLC0415
    from experiments.publishing.pages import write_pages  # noqa: PLC0415
    from experiments.store.manifest import StoreError  # noqa: PLC0415

    if not (ROOT / "results").is_dir():
        refuse(f"publish: is for a clone of dualgap, which has results/; {ROOT} has none")
    if (check or pages) and folders:
        refuse(
            f"--{'check' if check else 'pages'}: is of all that is published; leave out the folders"
        )
    if check:
        faults = outdated()
        for fault in faults:
            click.echo(fault)
        sys.exit(1 if faults else 0)
    with refusing(StoreError, ValueError, OSError):
        for written in write_pages(pages) if pages else publishing.publish(folders):
            click.echo(written)
