"""Whether what is published still follows from its records."""

import shutil
import subprocess
from pathlib import Path

import pytest

from dualgap.experiments.report.published.commits import PUBLISHED_IN, commit_text, history
from dualgap.experiments.report.published.outdated import outdated, write_digests
from dualgap.experiments.store.manifest import read_manifest

ROOT = Path(__file__).parents[4]


@pytest.fixture
def published(tmp_path):
    """A copy of two published folders and of the README's tables of them."""
    for name in ("quickstart", "bench_first_order"):
        shutil.copytree(ROOT / "results" / name, tmp_path / "results" / name)
    text = (ROOT / "README.md").read_text()
    begin = text.index("<!-- quickstart table")
    end = text.index("<!-- end of table -->", begin)
    (tmp_path / "README.md").write_text(text[begin:end] + "<!-- end of table -->\n")
    return tmp_path


@pytest.mark.exhaustive  # as `make check` does it too
def test_what_this_repository_publishes_is_up_to_date():
    assert outdated(ROOT) == []


def test_a_number_changed_in_the_readme_is_found(published):
    assert outdated(published) == []
    readme = published / "README.md"
    readme.write_text(readme.read_text().replace("ms", "s", 1))
    assert outdated(published) == ["README.md: the quickstart table does not agree with results/"]


def test_changed_records_make_the_rest_out_of_date(published):
    runs = published / "results/quickstart/runs.csv"
    runs.write_text(runs.read_text().replace("solved", "wrong"))
    faults = outdated(published)
    assert "runs.csv changed after tables and figures were made from it" in faults[0]
    assert faults[1] == "README.md: the quickstart table does not agree with results/"


@pytest.mark.parametrize("change", ["altered", "lost", "added"])
def test_a_figure_that_is_not_of_the_records_is_found(published, change):
    figure = published / "results/quickstart/gap_against_time.svg"
    if change == "lost":
        figure.unlink()
    else:
        (figure if change == "altered" else figure.with_name("new.svg")).write_text("<svg/>")
    (fault,) = outdated(published)
    assert fault.startswith("quickstart: ")
    assert ("new.svg" if change == "added" else figure.name) in fault


def test_a_table_of_a_benchmark_is_derived_again(published):
    folder = published / "results/bench_first_order"
    means = folder / "means.csv"
    heads, first, *rest = means.read_text().splitlines()
    cells = first.split(",")
    mean = heads.split(",").index("mean")
    cells[mean] = str(2 * float(cells[mean]))
    means.write_text("\n".join([heads, ",".join(cells), *rest]) + "\n")
    write_digests(folder)  # as if it had been published so
    assert outdated(published) == ["bench_first_order: means.csv does not agree with runs.csv"]


def committed(folder):
    """Make a git repository of a folder, with one commit; return its hash."""
    person = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "--quiet"], ["add", "."], [*person, "commit", "--quiet", "-m", "x"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return history(folder)


def test_a_published_folder_names_a_commit_of_the_history(published):
    assert isinstance(history(published), str)  # as of an sdist: nothing is checked
    (commit,) = committed(published)
    faults = outdated(published)
    assert [fault.partition(":")[0] for fault in faults] == ["bench_first_order", "quickstart"]
    assert all("which is not in the history" in fault for fault in faults)
    for name in ("bench_first_order", "quickstart"):
        folder = published / "results" / name
        (folder / PUBLISHED_IN).write_text(f"{commit}\n")
    assert outdated(published) == []
    (folder / PUBLISHED_IN).unlink()
    (fault,) = outdated(published)
    assert fault.startswith("quickstart: names no commit; write ")


def test_a_shallow_clone_cannot_say_which_commits_there_are(published, tmp_path_factory):
    committed(published)
    clone = tmp_path_factory.mktemp("shallow") / "clone"
    subprocess.run(
        ["git", "clone", "--quiet", "--depth", "1", f"file://{published}", str(clone)], check=True
    )
    assert history(clone) == "this is a shallow clone"
    assert outdated(clone) == []


def test_a_page_says_where_its_records_are_from():
    folder = ROOT / "results" / "bench_C"  # measured at a commit that is lost
    assert commit_text(folder, read_manifest(folder)) == (
        "Published in commit 92579bb553; measured at 3d82c2251c, which is not in the history."
    )
    folder = ROOT / "results" / "out_of_core"
    assert commit_text(folder, read_manifest(folder)) == "Measured at commit 9146119f99."
