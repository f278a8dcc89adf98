"""What a notebook shows of a solution and of its certificate."""

from dataclasses import replace
from html.parser import HTMLParser

from tests.small_problems import PROBLEMS

from dualgap.solvers import SMO, Pegasos, solve, solve_path


class _Texts(HTMLParser):
    """The tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_a_solution_and_its_certificate_show_their_numbers_in_a_notebook():
    solution = solve(PROBLEMS["soft_dual_linear"], SMO())
    page = _Texts(solution._repr_html_())
    assert "smo on SoftMarginDual" in page.texts
    assert f"{solution.objective:.10g}" in page.texts
    certificate = _Texts(solution.certificate._repr_html_()).texts
    assert f"{solution.certificate.dual_objective:.10g}" in certificate
    assert "nan" not in " ".join(page.texts + certificate)


def test_a_path_shows_the_number_of_its_answers():
    path = solve_path(PROBLEMS["soft_dual_linear"], C=(0.1, 1.0), gap=0.1)
    texts = " ".join(_Texts(path._repr_html_()).texts)
    assert "C 0.1 to 1" in texts
    assert f"answers {len(path.answers)}, and combinations of two" in texts


def test_a_missing_answer_shows_its_reason():
    solution = solve(PROBLEMS["soft_dual_linear"], Pegasos())
    texts = _Texts(solution._repr_html_()).texts
    assert solution.reason in texts
    assert _Texts(solution.certificate._repr_html_()).texts.count("unknown") == 2


def test_user_text_is_escaped_in_a_notebook():
    solution = solve(PROBLEMS["soft_dual_linear"], Pegasos())
    hostile = replace(solution, note="<script>alert(1)</script>")
    page = _Texts(hostile._repr_html_())
    assert "script" not in page.tags
    assert "<script>alert(1)</script>" in page.texts


def test_colours_are_inherited_from_the_page():
    page = solve(PROBLEMS["soft_dual_linear"], SMO())._repr_html_()
    assert "color:inherit" in page
    assert "#" not in page
