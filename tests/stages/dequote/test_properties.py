"""What holds for any text: full cover, a subsequence, no exception, and bounded work."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.message import Address, QuoteMark
from stages.decode.html import render
from stages.dequote import DequoteInput, DequotePolicy, dequote
from stages.dequote.config import Choice
from stages.dequote.packs import read_packs

PIECES = [
    "On Wed, Mar 4, 2026 at 5:40 PM Ivo <ivo@kelp.example> wrote:", "> Ten?", ">> Nine?", "", "", "OK", "好的。", "-- ",
    "发件人: 贺敏 <a@b.example>", "发送时间: 2026年3月4日 17:40", "收件人: 罗兰", "主题: 吊车", "From: x", "Thanks,", "Rosa Lind",
    "________________________", "-----Original Message-----", "在 2026-03-04 17:40:12，\"贺敏\" <a@b.example> 写道：", "Sent from my iPhone",
    "Best regards", "電話：02-5550-0183", "━━━━━━━━━━", "this message is confidential", "unsubscribe", "【回】好", "| |", "　", "\t",
]  # fmt: skip
texts = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=30).map("\n".join))


def is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(char in rest for char in short)


@settings(max_examples=300, deadline=None)
@given(
    texts,
    st.sampled_from(["", "Re: a", "Fwd: a"]),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=4),
)
def test_segments_cover_the_text_and_clean_is_a_subsequence(
    text: str, subject: str, keep: bool, edges: list[tuple[int, int]]
) -> None:
    choice: Choice = "kept" if keep else "removed"
    marks = [
        QuoteMark(hook=("blockquote", "gmail_quote")[at % 2], start=a, end=b)
        for at, (a, b) in enumerate(edges)
    ]
    policy = DequotePolicy(signature_policy=choice, signoff_policy=choice, forward_policy=choice)
    message = DequoteInput(
        text=text,
        subject=subject,
        from_=Address(name="Rosa Lind", email="rosa@tern.example"),
        quote_marks=marks,
    )
    found = dequote(message, policy)
    assert found.text == text
    assert "".join(text[part.start : part.end] for part in found.segments) == text
    assert all(part.start < part.end for part in found.segments)
    assert is_subsequence(found.clean, text)
    assert found.clean == found.clean.strip("\n")
    assert found == dequote(message, policy)


SENDER = Address(name="Rosa Lind", email="rosa@tern.example")
OWN_LINES = [
    "The plan is ready.",
    "十点可以。",
    "See page two, then call me.",
    "木曜で大丈夫です。",
    "Der Kran kommt am Montag.",
    "- bring the papers",
    "",
]
CLOSINGS = [
    "",
    "Best regards,\nRosa",
    "祝好\nRosa Lind",
    "-- \nRosa Lind\nTern Yard",
    "Rosa",
    "Sent from my iPhone",
    "よろしくお願いいたします。\n\nRosa",
]
EARLIER = [
    "", "On Wed, Mar 4, 2026 at 5:40 PM Ivo <ivo@kelp.example> wrote:\n\n> Ten?\n> Nine?",
    "发件人: 贺敏 <a@b.example>\n发送时间: 2026年3月4日 17:40\n收件人: Rosa\n主题: 吊车\n\n几点？",
    "-----Original Message-----\nFrom: Ivo <ivo@kelp.example>\nSent: 4 March 2026 17:40\nTo: Rosa\n\nTen?",
]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(OWN_LINES), min_size=1, max_size=6),
    st.sampled_from(CLOSINGS),
    st.sampled_from(EARLIER),
)
def test_a_clean_text_is_clean(own: list[str], closing: str, earlier: str) -> None:
    text = "\n\n".join(part for part in ("\n".join(own), closing, earlier) if part)
    message = DequoteInput(text=text, from_=SENDER)
    clean = dequote(message, DequotePolicy()).clean
    assert "\n".join(own).split() in ([], clean.split())
    again = dequote(DequoteInput(text=clean, from_=SENDER), DequotePolicy())
    assert again.clean == clean


@settings(max_examples=300, deadline=None)
@given(texts)
def test_only_hard_evidence_leaves_an_empty_text(text: str) -> None:
    found = dequote(DequoteInput(text=text, from_=SENDER), DequotePolicy())
    if text.strip() and not found.clean:
        soft = {"signoff"} if found.is_forward else {"signoff", "signature"}
        parts = [part for part in found.segments if text[part.start : part.end].strip()]
        assert all(part.kind not in soft or part.rule == "any:signature.delimiter" for part in parts)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(OWN_LINES[:6]), min_size=1, max_size=4),
    st.sampled_from(["", "<p>Best regards,<br>Rosa</p>", "<p>-- <br>Rosa Lind<br>Tern Yard</p>"]),
    st.sampled_from(range(3)),
)
def test_html_and_text_of_one_mail_give_the_same_words(own: list[str], closing: str, client: int) -> None:
    wrote = "On Wed, Mar 4, 2026 at 5:40 PM Ivo &lt;ivo@kelp.example&gt; wrote:"
    head = "<b>From:</b> Ivo &lt;ivo@kelp.example&gt;<br><b>Sent:</b> 4 March 2026 17:40<br><b>To:</b> Rosa<br><b>Subject:</b> x"
    quoted = (
        f'<div class="gmail_quote"><div>{wrote}<br></div><blockquote>Ten?</blockquote></div>',
        f'<div id="divRplyFwdMsg">{head}</div><p>Ten?</p>',
        f'<div class="moz-cite-prefix">{wrote}<br></div><blockquote type="cite">Ten?</blockquote>',
    )[client]
    plain = (f"{wrote}\n> Ten?", re.sub("<br>", "\n", head) + "\n\nTen?", f"{wrote}\n\n> Ten?")[client]
    page = "".join(f"<p>{line}</p>" for line in own) + closing + quoted
    text = "\n\n".join(own) + "\n\n" + re.sub("</?p>|<br>", "\n", closing) + "\n" + plain
    text = re.sub("</?b>", "", text).replace("&lt;", "<").replace("&gt;", ">")
    rendered = render(page)
    of_html = dequote(
        DequoteInput(text=rendered.text, quote_marks=rendered.marks, from_=SENDER), DequotePolicy()
    )
    of_text = dequote(DequoteInput(text=text, from_=SENDER), DequotePolicy())
    assert of_html.clean.split() == of_text.clean.split()
    kinds = [part.kind for part in of_html.segments]
    assert kinds == [part.kind for part in of_text.segments]


@pytest.mark.parametrize(
    "text",
    [
        ">" * 200_000,
        "> " * 100_000 + "x",
        "\n".join(">" * depth + " x" for depth in range(1500)),
        "On " + "1 " * 100_000 + "wrote:",
        "On that day the man at the gate <who> wrote it down at 12:30 " * 2_000,
        "On that day the man\nat the gate wrote:\n" * 2_000,
        "From:\n" * 20_000,
        "From: a@b.example\nTo: x\n" * 5_000,
        "From: a@b.example\nTo: " + "x <x@y.example>,\n" * 10_000,
        "Ivo Brandt wrote:\n> a\n" * 10_000,
        "-" * 200_000,
        ("-" * 500 + "\n") * 200,
        "this e-mail this message " * 8_000,
        "a : " * 50_000,
        "5550 0183 22\n" * 10_000,
        "\n" * 200_000,
        "写道：" * 60_000,
        "[" * 100_000,
        "よろしく" * 40_000,
        "x" * 1_000_000,
        "This e-mail is. " * 60_000,
        "\n".join(">" * depth + "x" for depth in range(1_990)),
        "From: the gate\nDate it.\nOn Monday she wrote\nSent from the depot\n-- x\n" * 14_000,
        "On page twelve of the report the surveyor wrote that the slab is thin. " * 5_600,
        "Thanks,\nIvo\n\n" * 30_000,
        "Tel: 020 5550 0183\n\n" * 30_000,
        "From: Ivo <ivo@kelp.example>\nSent: 4 March 2026 17:40\nTo: x\n\n" + "Ivo\n\n" * 60_000,
        "disclaimer: " * 80_000,
    ],
    ids=lambda text: f"{text[:12]!r}-{len(text)}",
)
def test_hostile_text_is_read_in_one_pass(text: str) -> None:
    found = dequote(DequoteInput(text=text, subject=text[:50_000]), DequotePolicy())
    assert found.segments[-1].end == len(text)


def test_a_thousand_quote_marks_are_applied_in_one_sweep() -> None:
    marks = [QuoteMark(hook="blockquote", start=at, end=5_000 - at) for at in range(2_400)]
    found = dequote(DequoteInput(text="x\n" * 2_500, quote_marks=marks), DequotePolicy())
    assert found.segments[-1].end == 5_000


def test_every_repeat_in_a_pack_has_a_bound() -> None:
    for pack in read_packs():
        for entries in pack.values():
            for entry in entries if isinstance(entries, list) else []:
                for pattern in entry.get("patterns", []) if isinstance(entry, dict) else []:
                    outside = re.sub(r"\\.|\[[^\]]*\]", "x", pattern)  # without escapes and classes
                    assert not re.search(r"[x.)][*+]", outside), (pack["language"], pattern)
