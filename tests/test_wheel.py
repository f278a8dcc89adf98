"""The wheel holds all that is needed at run time, and no more."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("problems", "solvers", "experiments")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel; return the folder that it is unpacked into."""
    build = pytest.importorskip("hatchling.build", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        name = build.build_wheel(str(folder))
    with ZipFile(folder / name) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def files_in(root, folders):
    """Return the files in folders of `root`, by their paths from there."""
    paths = [path for name in folders for path in (root / name).rglob("*")]
    return {path.relative_to(root) for path in paths if path.is_file()}


def test_the_wheel_has_packages_and_data_but_no_tests_or_documentation(wheel):
    tops = {path.name for path in wheel.iterdir() if path.suffix != ".dist-info"}
    assert tops == {"dualgap"}
    left_out = {"__pycache__", "docs", "GALLERY_HEADER.rst"}
    expected = {path for path in files_in(ROOT, PACKAGES) if left_out.isdisjoint(path.parts)}
    top = ROOT / ".packaging/dualgap"
    added = {path.relative_to(top) for path in top.iterdir() if path.is_file()}
    assert files_in(wheel, tops) == {Path("dualgap") / path for path in expected | added}


@pytest.mark.exhaustive
def test_the_installed_wheel_solves_and_lists_its_experiments(wheel, tmp_path):
    code = """
import dualgap
from dualgap.experiments.files.experiment import experiment_names
data = dualgap.datasets.load("two_moons", n=40, noise=0.1)
print(dualgap.__file__, dualgap.solve(dualgap.SoftMarginDual(data.X, data.y)).verdict)
print("quickstart" in experiment_names())
"""
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(wheel)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.stdout == f"{wheel}/dualgap/__init__.py solved\nTrue\n", result.stderr
