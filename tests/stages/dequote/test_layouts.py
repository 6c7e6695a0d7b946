"""Layouts of the dequote policy: what is kept, what it is called, and why."""

from __future__ import annotations

import pytest

from models.message import Address, Dequoted, QuoteMark
from stages.dequote import DequoteInput, DequotePolicy, dequote

ROSA = Address(name="Rosa Lind", email="rosa.lind@ternyard.example")
LUO = Address(name="罗兰", email="luo.lan@kelp.example")


def run(text: str, sender: Address | None = None, subject: str = "", **policy: str) -> Dequoted:
    message = DequoteInput(text=text, from_=sender, subject=subject)
    return dequote(message, DequotePolicy(**policy))  # type: ignore[arg-type]


def kinds(found: Dequoted) -> list[str]:
    return [part.kind for part in found.segments]


def test_a_mail_with_nothing_to_remove_comes_back_unchanged() -> None:
    text = "Ivo,\n\nthe crane comes on Monday.\n- bring the papers\n- keep the lane free"
    found = run(text)
    assert (found.clean, found.strategy, kinds(found)) == (text, "none", ["reply"])


def test_a_bottom_reply_is_found() -> None:
    found = run("Carla Nunes, 9 May:\n> Do we need the permit?\nWe do. Ten days ahead.")
    assert found.clean == "We do. Ten days ahead."
    assert kinds(found) == ["attribution", "quote", "reply"]


def test_interleaved_answers_stay_in_order_and_name_their_question() -> None:
    text = "贺敏 <he.min@tern.example> 于2026年3月4日周三 17:40写道：\n> 几点？\n\n十点。\n\n> 哪个码头？\n\n北码头。"
    found = run(text)
    assert found.clean == "十点。\n\n北码头。"
    answers = [part.answers for part in found.segments if part.kind == "reply"]
    assert [
        text[found.segments[at].start : found.segments[at].end].strip() for at in answers if at is not None
    ] == [
        "> 几点？",
        "> 哪个码头？",
    ]


def test_an_answer_tagged_with_the_senders_name_is_kept() -> None:
    text = "答复在下面。\n\n发件人: 贺敏\n发送时间: 2026年3月4日 17:40\n收件人: 罗兰\n主题: 吊车\n\n几号？\n【罗兰】九号。\n哪里？"
    assert run(text, LUO).clean == "答复在下面。\n\n【罗兰】九号。"


def test_a_forward_with_a_comment_keeps_the_comment() -> None:
    text = "Please answer by Friday.\n\n---------- Forwarded message ---------\nFrom: Ivo <ivo@kelp.example>\nDate: Wed, Mar 4, 2026\nTo: Rosa\n\nTen?"
    found = run(text)
    assert found.clean == "Please answer by Friday."
    assert found.is_forward
    assert kinds(found) == ["reply", "forward_header", "forward_body"]


def test_a_bare_forward_leaves_nothing_and_says_so() -> None:
    found = run(
        "> Begin forwarded message:\n>\n> From: Ivo <ivo@kelp.example>\n> To: Rosa\n> Date: 4 March 2026\n>\n> Ten?"
    )
    assert (found.clean, found.is_forward) == ("", True)


def test_a_forward_is_kept_when_the_policy_says_so() -> None:
    text = "See below.\n\n-----Original Message-----\nFrom: Ivo <ivo@kelp.example>\nSent: 4 March 2026 17:40\nTo: Rosa\n\nTen?"
    assert run(text, subject="FW: crane", forward_policy="kept").clean == text


@pytest.mark.parametrize(
    "subject", ["WG: Kran", "转发：吊车", "轉寄: 吊車", "転送: クレーン", "Fwd: crane", "TR : grue"]
)
def test_the_subject_decides_what_the_words_leave_open(subject: str) -> None:
    text = "See below.\n\nFrom: Ivo <ivo@kelp.example>\nSent: 4 March 2026 17:40\nTo: Rosa\nSubject: crane\n\nTen?"
    assert run(text, subject=subject).is_forward
    assert not run(text, subject="Re: crane").is_forward


def test_a_phone_style_attribution_inside_the_marks_is_found() -> None:
    found = run(
        "好的。\n\n发自我的 iPhone\n\n> 在 2026年3月4日，17:40，贺敏 <he.min@tern.example> 写道：\n> \n> 十点？"
    )
    assert found.clean == "好的。"
    assert kinds(found) == ["reply", "device_line", "attribution", "quote"]


def test_header_labels_of_two_languages_make_one_block() -> None:
    text = "OK.\n\n发件人： Ivo <ivo@kelp.example>\nDate: 2026年3月4日周三 17:40\nSubject: 吊车\n宛先: Rosa\n\nTen?"
    assert run(text).clean == "OK."


def test_wrapped_recipients_belong_to_the_header() -> None:
    text = "OK.\n\nFrom: Ivo <ivo@kelp.example>\nSent: 4 March 2026\nTo: Rosa <rosa@tern.example>;\nYard <yard@tern.example>;\nGate <gate@tern.example>\nSubject: crane\n\nTen?"
    found = run(text)
    assert found.clean == "OK."
    head = found.segments[1]
    assert text[head.start : head.end].strip().endswith("Subject: crane")


def test_a_signature_is_told_from_a_contact_that_is_passed_on() -> None:
    block = "\n\n{name}\nTern Yard\nPhone: 020 5550 0183"
    own = "The plan is ready." + block.format(name="Rosa Lind")
    other = "Ask our surveyor:" + block.format(name="Inga Roth")
    assert run(own, ROSA).clean == "The plan is ready."
    assert run(other, ROSA).clean == other


def test_name_and_company_without_any_number_are_a_signature() -> None:
    assert run("方案明天给您。\n\n罗兰\n海带船务 采购部", LUO).clean == "方案明天给您。"


def test_the_bare_name_of_the_sender_is_a_signoff() -> None:
    assert run("The plan is ready.\n\nRosa", ROSA).clean == "The plan is ready."
    assert run("The plan is ready.\n\nInga", ROSA).clean == "The plan is ready.\n\nInga"


def test_policies_keep_what_they_name() -> None:
    text = "The plan is ready.\n\nBest regards\nRosa\n\n-- \nTern Yard\nPhone: 020 5550 0183\n"
    assert run(text, signoff_policy="kept").clean == "The plan is ready.\n\nBest regards\nRosa"
    assert run(text, signature_policy="kept", signoff_policy="kept").clean == text.strip().replace(
        "-- ", "--"
    )


def test_a_disclaimer_below_the_signature_leaves_with_it() -> None:
    text = "十点。\n\n此致\n敬礼\n罗兰\n\n本邮件及其附件含有保密信息，仅限于发送给上面列出的个人。\nThis e-mail and its attachments are confidential."
    found = run(text)
    assert found.clean == "十点。"
    assert kinds(found)[-1] == "disclaimer"


def test_only_a_formula_is_not_cut_to_nothing() -> None:
    assert run("Thanks,\nRosa", ROSA).clean == "Thanks,\nRosa"


def test_a_cited_passage_without_attribution_stays() -> None:
    text = "Paragraph 12 of the lease says:\n> the tenant keeps the roof\nSo it is theirs."
    assert run(text).clean == text


def test_prompts_diffs_and_comments_stay() -> None:
    text = "Try this:\n$ node\n> const a = 1\n1\n-- a comment\n+++ b/log.js\n--- a/log.js\nFrom there on it works."
    assert run(text, subject="Re: log").clean == text


def test_an_html_container_bounds_the_quote() -> None:
    above, quoted, below = (
        "Yes.\n\n",
        "On 4 March 2026 at 17:40, Ivo <ivo@kelp.example> wrote:\nTen?\n\n",
        "And bring the papers.",
    )
    text = above + quoted + below
    mark = QuoteMark(hook="gmail_quote", start=len(above), end=len(above + quoted) - 2)
    found = dequote(DequoteInput(text=text, quote_marks=[mark]), DequotePolicy())
    assert found.clean == "Yes.\n\nAnd bring the papers."


def test_an_html_container_without_evidence_proves_nothing() -> None:
    text = "The poem:\nno bird is late\nRosa"
    mark = QuoteMark(hook="gmail_quote", start=0, end=len(text))
    cited = QuoteMark(hook="blockquote", start=10, end=25)
    assert dequote(DequoteInput(text=text, quote_marks=[mark]), DequotePolicy()).clean == text
    assert dequote(DequoteInput(text=text, quote_marks=[cited]), DequotePolicy()).clean == text


def test_a_blockquote_below_an_attribution_is_a_quote() -> None:
    text = "Yes.\nIvo Brandt schrieb am 4. März:\nTen?\nAt the pier."
    start = text.index("Ten")
    mark = QuoteMark(hook="blockquote", start=start, end=start + 4)
    found = dequote(DequoteInput(text=text, quote_marks=[mark]), DequotePolicy())
    assert found.clean == "Yes.\nAt the pier."


def test_a_text_over_the_limit_is_marked_truncated() -> None:
    found = dequote(DequoteInput(text="a line\n" * 100), DequotePolicy(max_chars=70))
    assert found.truncated and found.segments[-1].end == len(found.text) == 70


def test_an_empty_text_has_an_empty_answer() -> None:
    assert run("").segments == []
    assert run(" \n\n").clean == ""
