"""Bodies: HTML, flowed text, alternatives; quote edges; sanitised HTML."""

from hypothesis import given, settings
from hypothesis import strategies as st

from stages.decode import DecodePolicy, decode
from stages.decode.body import is_stub_text
from stages.decode.flowed import unflow
from stages.decode.html import render


def test_lines_lists_and_cells_come_out_as_a_reader_sees_them() -> None:
    text = render("<p>One<br>two</p><ul><li>a<li>b</ul><table><tr><td>x<td>y</tr></table>").text
    assert text.split("\n")[:3] == ["One", "two", ""]
    assert "• a" in text
    assert "x\t" in text


def test_edges_smuggled_into_a_mail_leave_no_trace() -> None:
    html = "<p>a&#xF0000;b\U000f0001</p><blockquote>q&#xF0001;</blockquote>"
    rendered = render(html)
    assert not any("\U000f0000" <= c <= "\U000f0fff" for c in rendered.text)
    assert all(0 <= mark.start < mark.end <= len(rendered.text) for mark in rendered.marks)


def test_text_below_the_conditional_comments_of_word_stays() -> None:
    html = (
        '<html><head><!--[if gte mso 9]><xml><o:p v:ext="edit" /></xml><![endif]--></head><body>'
        "<!--[if !mso]><!--><p>first</p><!--<![endif]--><![if !vml]><p>second</p><![endif]></body></html>"
    )
    assert render(html).text == "first\n\nsecond"


def test_an_empty_outlook_mark_points_at_the_text_behind_it() -> None:
    html = (
        '<p>Yes.</p><div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>From:</b> Ben</div><p>old</p>'
    )
    rendered = render(html)
    assert [rendered.text[mark.start :].split("\n")[0] for mark in rendered.marks] == [
        "From: Ben",
        "From: Ben",
    ]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["<blockquote>", "</blockquote>", "<p>", "a ", "<div class=gmail_quote>", "</div>", "\n", "<br>"]
        ),
        max_size=30,
    )
)
def test_marks_change_no_text(pieces: list[str]) -> None:
    html = "".join(pieces)
    unmarked = html.replace("blockquote", "bq-none").replace("gmail_quote", "other")
    rendered = render(html)
    assert all(0 <= mark.start < mark.end <= len(rendered.text) for mark in rendered.marks)
    assert rendered.text.split() == render(unmarked).text.split()


def test_flowed_lines_are_joined_within_one_quote_depth() -> None:
    assert unflow("a \nb\n> c \n> d\n>> e \nf\n-- \nx", delsp=False) == "a b\n> c d\n>> e\nf\n-- \nx"
    assert unflow("ab \ncd", delsp=True) == "abcd"
    assert unflow(" From here", delsp=False) == "From here"


def test_stub_texts() -> None:
    assert is_stub_text(" \n ")
    assert not is_stub_text("See you on Monday.")


def test_body_html_is_sanitised_and_only_kept_on_demand() -> None:
    raw = b'Content-Type: text/html\n\n<p onclick="x()">Hi<script>y()</script><img src="http://t.example/p.gif"></p>'
    assert decode(raw, DecodePolicy()).body_html is None
    html = decode(raw, DecodePolicy(body_html=True)).body_html
    assert html == "<p>Hi</p>"


def test_mixed_texts_are_joined_in_order() -> None:
    raw = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b\nContent-Type: text/html\n\n<p>two</p>\n--b\n\nthree\n--b--"
    assert decode(raw, DecodePolicy()).body_text == "one\n\ntwo\n\nthree"
