"""Published results: what is copied, and the README's table."""

import pandas as pd
import pytest
from click.testing import CliRunner

from experiments.cli import main
from experiments.publish import compact_table, publish, with_table

EXPERIMENT = """
name: tiny
problems:
  - {formulation: soft_margin_dual, dataset: {name: two_gaussians, n: 30}}
solvers: [smo]
"""


def test_a_run_is_copied_and_its_table_put_between_the_markers(tmp_path):
    experiment, folder = tmp_path / "tiny.yaml", tmp_path / "run"
    experiment.write_text(EXPERIMENT)
    CliRunner().invoke(main, ["run", str(experiment), "--out", str(folder)])
    (tmp_path / "README.md").write_text("a\n<!-- tiny table -->\nold\n<!-- end of table -->\nb\n")
    target = publish(folder, tmp_path)
    assert target == tmp_path / "results" / "tiny"
    assert {"manifest.json", "runs.csv", "summary.md"} <= {f.name for f in target.iterdir()}
    text = (tmp_path / "README.md").read_text()
    assert "old" not in text
    assert "two_gaussians soft_margin_dual" in text
    assert text.startswith("a\n")
    assert text.endswith("b\n")


def test_cells_show_time_gap_or_why_not():
    summary = pd.DataFrame(
        {
            "problem": ["p"] * 4,
            "solver": ["a", "b", "c", "d"],
            "outcome": ["solved", "inaccurate", "unsupported", "crashed"],
            "time": [0.0123, 1.0, float("nan"), 1.0],
            "gap": [1e-8, 3e-3, float("nan"), 1.0],
        }
    )
    table = compact_table(summary)
    assert [cell.strip() for cell in table.splitlines()[2].split("|")[2:-1]] == [
        "12.3 ms", "≈ 3e-03", "–", "crashed",
    ]  # fmt: skip


def test_a_readme_without_markers_is_refused():
    with pytest.raises(ValueError, match="has no markers"):
        with_table("nothing here", "tiny", "table")
