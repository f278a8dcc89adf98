"""Line styles, pages and titles."""

import io

import pytest
from tests.halves import quick_cases

from dualgap.experiments.plots.style import (
    chunks,
    figure,
    key,
    label_outside,
    legend,
    line_styles,
    panels,
    save,
    style,
    wrap,
)


def test_no_two_of_32_solvers_look_alike():
    assert len(set(line_styles(map(str, range(32))).values())) == 32


def test_pages_hold_every_problem_once():
    for count in (1, 6, 7, 13, 31):
        parts = list(chunks([str(i) for i in range(count)], 6))
        assert [x for part in parts for x in part] == [str(i) for i in range(count)]
        assert max(map(len, parts)) <= 6
        assert len(parts) == -(-count // 6)


def test_long_titles_are_shortened_and_escaped():
    lines = wrap("standardize=True_" * 40 + "C=$5$", 30).split("\n")
    assert len(lines) == 2
    assert max(map(len, lines)) <= 40
    assert lines[1].endswith(r"C=\$5\$")


@pytest.mark.parametrize("count", quick_cases([1, 2, 6, 7, 13], [1, 6, 7]))
def test_a_script_may_have_any_number_of_panels(count):
    with style():
        figure, axes = panels([f"kernel {i}" for i in range(count)], shared_axes="both")
        label_outside(axes, "$x_1$", "$x_2$")
        figure.draw_without_rendering()
    assert len(axes) == count
    boxes = [ax.get_window_extent() for ax in axes]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize("letters", [[6] * 2, [26] * 3, [26] * 7, [6, 13, 27, 27, 31], [150] * 2])
def test_a_legend_stays_within_the_figure(letters):
    with style():
        figure, _ = panels(["one", "two"])
        legend(figure, [(key(), "n" * count) for count in letters])
        figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.x1


def test_files_are_in_utf_8_in_every_locale(tmp_path, monkeypatch):
    monkeypatch.setattr(io, "text_encoding", lambda encoding, *_: encoding or "ascii")
    new = figure(2, 2)
    new.suptitle("α ≤ 1")
    with style():
        for drawn in (new, "α ≤ 1"):
            (path,) = save(drawn, tmp_path, "drawn", formats=["svg"])
            assert "α ≤ 1" in path.read_text(encoding="utf-8")
