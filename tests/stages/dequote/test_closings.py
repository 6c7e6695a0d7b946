"""Ends of mails without any delimiter: cards, bare names, postscripts, small print inside a line."""

from __future__ import annotations

import pytest

from models.message import Address, Dequoted
from stages.dequote import DequoteInput, DequotePolicy, dequote

LUO = Address(name="罗兰", email="luo.lan@kelp.example")
ROSA = Address(name="Rosa Lind", email="rosa.lind@ternyard.example")


def run(text: str, sender: Address | None = None, subject: str = "") -> Dequoted:
    return dequote(DequoteInput(text=text, from_=sender, subject=subject), DequotePolicy())


@pytest.mark.parametrize(
    "card",
    [
        "Rosa Lind\n020 5550 0183",
        "Rosa Lind\nYard Manager, Tern Yard",
        "Rosa Lind\nYard Manager\n\nMobile : 07700 900 183\nBlog : tern.example",
        "**********\nRosa Lind, CFA\n14 Quay St.\nTern Yard\n(020) 5550-0183 ph.",
        "罗兰\n采购部经理",
        "박서준 대리\n켈프해운 구매팀\nT. 02-5550-0183\nE. park@kelp.example",
    ],
)
def test_a_card_is_found_without_a_from_header(card: str) -> None:
    found = run(f"The plan is ready, see page two.\n\n{card}")
    assert found.clean == "The plan is ready, see page two."
    assert "signature" in {part.kind for part in found.segments}


@pytest.mark.parametrize(
    "text",
    [
        "Call our surveyor before noon.\n\nInga Roth\nRoth Survey\nTel: 020 5550 0190\nwww.roth.example",
        "Both will be there:\n\nInga Roth\nTel: 020 5550 0190",
        "Two contacts for the gate.\n\nInga Roth\nTel: 020 5550 0190\n\nIvo Brandt\nTel: 020 5550 0191",
    ],
)
def test_the_card_of_somebody_else_is_content(text: str) -> None:
    assert run(text, ROSA).clean == text


def test_a_name_alone_is_a_signoff_where_no_header_tells_the_sender() -> None:
    assert run("The slab dried well.\n\nKay").clean == "The slab dried well."
    assert run("The slab dried well.\n\nKay", ROSA).clean == "The slab dried well.\n\nKay"
    assert run("The slab dried well.\n\nDone").clean == "The slab dried well.\n\nDone"


def test_a_formula_that_no_pack_knows_is_told_by_its_comma_and_name() -> None:
    assert run("The slab dried well.\n\nFoolishly,\nRosa", ROSA).clean == "The slab dried well."


def test_names_of_attached_files_below_the_card_stay() -> None:
    found = run("See the plan.\n\nBest regards,\nRosa\n\n - plan-07.pdf\n - photo.jpg", ROSA)
    assert found.clean == "See the plan.\n\n - plan-07.pdf\n - photo.jpg"


def test_a_disclaimer_behind_the_last_sentence_goes_alone() -> None:
    text = "报价见附件。本邮件及其附件含有保密信息，仅限于发送给上面列出的个人。禁止任何其他人使用。"
    found = run(text, LUO)
    assert found.clean == "报价见附件。"
    assert [part.kind for part in found.segments] == ["reply", "disclaimer"]


def test_a_second_card_that_the_client_adds_goes_too() -> None:
    text = "同意。\n\n罗兰\n海带船务 采购部\n\n| |\n罗兰\n|\n|\n邮箱：luo.lan@kelp.example\n|\n签名由 网易邮箱大师 定制"
    assert run(text, LUO).clean == "同意。"


def test_what_a_server_puts_below_a_quote_is_a_footer() -> None:
    text = (
        "Yes.\n\nOn 4 March 2026 at 17:40, Ivo <ivo@kelp.example> wrote:\n> Ten?\n\n"
        "------------------------------------------------------\n"
        "Docks of the north, meet in May!\nhttps://docks.example/may\n"
    )
    found = run(text)
    assert found.clean == "Yes."
    assert found.segments[-1].kind == "list_footer"


@pytest.mark.parametrize(
    "head",
    [
        "Rosa Lind\nSent by: Gate Office\n04/03/2026 05:40 PM\n\nTo: Ivo Brandt/Kelp@KELP\ncc:\nSubject: Crane",
        "From: Ivo Brandt @ KELP 04/03/2026 05:40 PM\nTo: Rosa Lind/Tern@TERN\ncc:\nSubject: Crane",
        "Ivo Brandt@KELP\n04/03/2026 05:40 PM\n\n\nTo: rosa@tern.example, Gate Office/Tern@TERN, Yard\nOffice/Tern@TERN\ncc:\nSubject: Crane",
        "=09Ivo Brandt <ivo@kelp.example>\n=0904/03/2026 05:40 PM\n=09=09=20\n=09=09 To: rosa@tern.example\n=09=09 cc:=20\n=09=09 Subject: Crane",
        "From: Ivo <ivo@kelp.example> Date: Wed, 4 Mar 2026 17:40:12 +0100",
        "Ivo Brandt <ivo@kelp.example\n> wrote:",
    ],
)
def test_old_and_broken_headers_are_found(head: str) -> None:
    quoted = "> Ten?" if head.endswith("wrote:") else "Ten?"
    found = run(f"Fine.\n\n{head}\n{quoted}\n")
    assert found.clean == "Fine."
    assert found.segments[1].kind == "attribution"


HEADER = (
    "From: Ivo Brandt <ivo@kelp.example>\nSent: 4 March 2026 17:40\nTo: Rosa\nSubject: Crane\n\nWhich day?\n"
)


def test_an_answer_below_an_unmarked_mail_is_found_by_the_names() -> None:
    answered = run(f"{HEADER}\nIvo\n\nThursday, from ten.\n\nRosa", ROSA, "Re: Crane")
    assert answered.clean == "Thursday, from ten."
    closed = run(f"See below.\n\n{HEADER}\nIvo\n\nThursday, from ten.\n\nRosa Lind", ROSA)
    assert closed.clean == "See below.\n\nThursday, from ten."


@pytest.mark.parametrize(
    "below", ["Kelp Marine\n020 5550 0184", "On Tue, Gate <gate@kelp.example> wrote:\n\nWhen?\n\nRosa"]
)
def test_what_follows_the_name_in_an_earlier_mail_stays_there(below: str) -> None:
    assert run(f"See below.\n\n{HEADER}\nIvo\n\n{below}", ROSA, "Re: Crane").clean == "See below."
