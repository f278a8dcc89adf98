"""Hostile text is shown as it is by each target: nothing in it is markup, and nothing steers."""

import io
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dualgap.experiments.plots.style import figure, plain, shortened, style
from dualgap.problems.texts import html, latex, markdown, one_line, printable

HOSTILE = [
    *(
        "\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07",
        "\x1b]8;;http://a.b\x07link",
        "\x9b2J",
        "a\bb\r",
        "\x00",
    ),
    *(
        "line\nfeed",
        "\n\n# heading",
        "\ttab",
        "\u2028",
        "\u202e\u2066gpj.exe",
        "a\u200bb",
        "\ud800",
    ),
    *(
        "<script>alert(1)</script>",
        "<!-- ",
        "&lt;",
        "&#60;",
        "'\"",
        "</pre>",
        "{{7*7}}",
        "[red]x[/red]",
    ),
    *(
        "[a](http://a.b)",
        "![](x)",
        "[a]: b",
        "| a | b |",
        "***",
        "__b__",
        "_a_",
        "a_b",
        "~~x~~",
        "`c`",
    ),
    *(
        "# a",
        "- a",
        "1. a",
        "1) a",
        "> a",
        "+",
        "---",
        "===",
        "http://a.b",
        "www.a.b",
        "a@b.c",
        "\\",
    ),
    *(
        "\\input{x}",
        "$x^2$",
        "100 %",
        "a & b",
        "#1",
        "~",
        "^",
        "{",
        "}",
        "[2cm]",
        "*",
        "--",
        "''",
        "``",
    ),
    *("中文", "العربية", "é", "αβ", "1e-5", "4e-07", "🎉", "e\u0301"),
]
TEXTS = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=3), max_size=5).map("".join)
ESCAPED = re.compile(
    r"\\(?:[&%$#_{}]|text[a-z]+\{\})|\$-?[\d.]+ \\cdot 10\^\{-?\d+\}\$|\{\}|\$-\$"
    r"|\\dots\{\}|\$\\(?:approx|times|leq|pm|alpha|infty|emptyset|surd|dagger)\$"
)


class Texts(HTMLParser):
    """The text of a page, and its tags."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_comment(self, data):
        self.tags.append("comment")

    def handle_data(self, data):
        self.text += data


def kinds_of(page):
    """Return the kinds of all tokens of a Markdown page, and the text that they show."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page)
    inside = [each for token in tokens for each in token.children or []]
    return {each.type for each in [*tokens, *inside]}, "".join(each.content for each in inside)


@given(TEXTS)
def test_control_characters_are_removed_for_a_terminal(text):
    assert printable(text).isprintable()
    assert printable(text, keep="\n").replace("\n", "").isprintable()
    assert len(printable(text)) == len(text)
    assert len(one_line(text * 9, 20)) <= 24


@given(TEXTS)
def test_markdown_shows_text_and_no_markup(text):
    text_shown = " ".join(printable(text).split())
    parts = {"# {}": "heading", "- {}": "list_item", "{}": "paragraph"}
    for form, kind in parts.items() if text_shown else ():
        kinds, content = kinds_of(form.format(markdown(text)))
        assert content == text_shown
        accepted = {"inline", "text", "text_special", "paragraph_open", "paragraph_close"}
        accepted |= {f"{kind}_{end}" for end in ("open", "close")}
        assert kinds <= accepted | {"bullet_list_open", "bullet_list_close"}
    kinds, content = kinds_of(f"| a |\n|:--|\n| {markdown(text)} |")
    assert content == f"a{text_shown}"


@given(TEXTS)
def test_html_shows_text_and_no_tags(text):
    page = Texts(f'<p title="{html(text)}">{html(text)}</p>')
    assert (page.tags, page.text) == (["p"], printable(text, keep="\n\t"))


@given(TEXTS)
def test_latex_has_no_command_of_the_text(text):
    bare = ESCAPED.sub("", latex(text))
    assert not re.search(r"[\\&%$#_{}~^<>|\"`]", re.sub(r"^\{\s*[\[*]\}", "", bare))
    assert not re.match(r"\s*[\[*]", latex(text))


@given(TEXTS)
def test_figures_show_text_in_the_glyphs_that_they_have(text):
    with style():
        drawn, file = figure(4, 1), io.BytesIO()
        drawn.text(0, 0, plain(text))
        drawn.savefig(file, format="svg")  # a glyph that is missing would warn
        drawn.draw_without_rendering()
    ElementTree.fromstring(file.getvalue())


def test_missing_glyphs_are_shown_as_code_points():
    assert plain("ab_é 中\u202e") == "ab_é [U+4E2D]\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("limit", [12, 20, 30, 60])
def test_long_captions_are_shortened_word_by_word_in_the_middle(limit):
    text = "breast_cancer test_size=0.25 soft_margin_dual rbf(gamma=0.05) C=10"
    words = text.split()
    text_shown = shortened(text, limit)
    assert len(text_shown) <= limit
    if limit >= len(f"{words[0]} … {words[-1]}"):
        assert {*text_shown.split()} <= {*words, "…"}
        assert text_shown.startswith(words[0])
        assert text_shown.endswith(words[-1])
    assert shortened(text, len(text)) == text
