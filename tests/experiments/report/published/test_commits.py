"""The commit that each published folder names, and whether the history contains it."""

import json
import shutil
import subprocess
from pathlib import Path

from dualgap.experiments.report.published.commits import (
    PUBLISHED_IN,
    commit_text,
    history,
    unknown_commits,
)
from dualgap.experiments.report.published.documents import folders_in

ROOT = Path(__file__).parents[4]


def committed(folder):
    """Make a git repository of a folder, with one commit; return its hash."""
    person = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "--quiet"], ["add", "."], [*person, "commit", "--quiet", "-m", "x"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return history(folder)


def test_a_published_folder_names_a_commit_of_the_history(tmp_path):
    for name in ("quickstart", "bench_first_order"):
        shutil.copytree(ROOT / "results" / name, tmp_path / name)
    assert isinstance(history(tmp_path), str)  # as of an sdist: nothing is checked
    assert not [*unknown_commits(folders_in(tmp_path), history(tmp_path))]
    (commit,) = committed(tmp_path)
    faults = [*unknown_commits(folders_in(tmp_path), {commit})]
    assert [fault.partition(":")[0] for fault in faults] == ["bench_first_order", "quickstart"]
    assert all("which is not in the history" in fault for fault in faults)
    for name in ("bench_first_order", "quickstart"):
        (tmp_path / name / PUBLISHED_IN).write_text(f"{commit}\n")
    assert not [*unknown_commits(folders_in(tmp_path), {commit})]
    (tmp_path / "quickstart" / PUBLISHED_IN).unlink()
    manifest = tmp_path / "quickstart" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"provenance": []}))
    (fault,) = unknown_commits(folders_in(tmp_path), {commit})
    assert fault.startswith("quickstart: names no commit; write ")


def test_a_shallow_clone_does_not_know_all_commits(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    committed(tmp_path / "full")
    clone = ["git", "clone", "--quiet", "--depth", "1", f"file://{tmp_path}/full", "clone"]
    subprocess.run(clone, check=True, cwd=tmp_path)
    assert history(tmp_path / "clone") == "this is a shallow clone"


def test_a_page_names_the_source_of_its_records(tmp_path):
    manifest = {"provenance": [{"git": {"commit": "0123456789ab"}}, {"git": None}]}
    assert commit_text(tmp_path, manifest) == "Measured at commit 0123456789."
    (tmp_path / PUBLISHED_IN).write_text("ba9876543210\n")
    assert commit_text(tmp_path, manifest) == (
        "Published in commit ba98765432; measured at 0123456789, which is not in the history."
    )
