"""Answers inside an unmarked original, told by a label."""

from __future__ import annotations

import pytest

from models.message import Address, QuoteMark
from stages.dequote import DequoteInput, DequotePolicy, dequote

HEADER = "From: Ivo Brandt <ivo@kelp.example>\nSent: 4 March 2026 17:40\nTo: Rosa Lind\nSubject: Crane\n\n"


def clean(text: str, sender: Address | None = None) -> str:
    return dequote(DequoteInput(text=text, from_=sender), DequotePolicy()).clean


@pytest.mark.parametrize(
    ("above", "label"),
    [
        ("See RL.", "RL:"),
        ("Below, marked [RL].", "[RL]"),
        ("As ANS.", "ANS："),
        ("见下。", "回复："),
        ("Below.", ">>>"),
    ],
)
def test_lines_with_a_label_are_the_senders(above: str, label: str) -> None:
    text = f"{above}\n\n{HEADER}Which day?\n{label} Thursday.\nWhich pier?\n{label} North.\n\nIvo"
    found = dequote(DequoteInput(text=text), DequotePolicy())
    assert [line.lstrip(">: ") for line in found.clean.split("\n") if line] == [
        above,
        f"{label} Thursday.".lstrip("> "),
        f"{label} North.".lstrip("> "),
    ]
    assert [part.answers is not None for part in found.segments if part.kind == "reply"] == [
        False,
        True,
        True,
    ]


def test_indented_lines_go_on_with_an_answer() -> None:
    text = (
        f"See RL.\n\n{HEADER}Which day?\nRL: one of\n  - Thursday\n  - Friday\nWhich pier?\nRL: north.\nIvo"
    )
    assert clean(text) == "See RL.\n\nRL: one of\n  - Thursday\n  - Friday\nRL: north."


@pytest.mark.parametrize(
    "dialog", ["Tom: when?\nAnn: at ten.\nTom: where?\nAnn: here.", "Note: a.\nb\nNote: c.\nd"]
)
def test_labels_that_nobody_announced_stay_in_the_original(dialog: str) -> None:
    assert clean(f"Fine.\n\n{HEADER}{dialog}") == "Fine."


def test_the_name_of_the_reader_in_brackets_opens_the_answer_below() -> None:
    assert (
        clean(f"{HEADER}Which day?\nIvo\n\n[Rosa] Thursday.\nBring a bucket.")
        == "[Rosa] Thursday.\nBring a bucket."
    )


@pytest.mark.parametrize(
    "text",
    [
        "Minutes 14\nFrom: written by Rosa\nDate: 9 April 2026 14:00\nTo: everybody\nSubject: move\n\n1. Racks go first.",
        "Trip:\n\nFrom: Kiel\nTo: Bergen\nDate: 14 October, 08:10\nSubject to change: the return.",
    ],
)
def test_labels_without_any_address_below_the_senders_words_are_content(text: str) -> None:
    assert clean(text) == text


def coloured(text: str, *answers: str) -> str:
    marks = [
        QuoteMark(hook="coloured", start=text.index(part), end=text.index(part) + len(part))
        for part in answers
    ]
    return dequote(DequoteInput(text=text, quote_marks=marks), DequotePolicy()).clean


def test_answers_in_a_colour_that_the_sender_announces_are_kept() -> None:
    text = f"See red.\n\n{HEADER}Which day?\nThursday.\nWhich pier? North."
    assert coloured(text, "Thursday.", "North.") == "See red.\n\nThursday.\nNorth."
    zh = "见红字。\n\n发件人: 贺敏 <a@b.example>\n发送时间: 2026年3月4日 17:40\n收件人: 罗兰\n主题: 吊车\n\n几号？\n周四。"
    assert coloured(zh, "周四。") == "见红字。\n\n周四。"


def test_colours_that_nobody_announces_stay_in_the_original() -> None:
    assert coloured(f"Fine.\n\n{HEADER}Bring the papers!\nIvo", "Bring the papers!") == "Fine."
    assert coloured("Bring the papers!\nRed ones.", "papers!") == "Bring the papers!\nRed ones."


def test_the_history_below_a_help_desks_line_goes_and_its_own_mail_stays() -> None:
    line = "##- Please type your reply above this line -##"
    assert clean(f"Still drifts.\n\n{line}\n\nTicket 7719 was updated.\nTry the weight.") == "Still drifts."
    assert clean(f"\n{line}\n\nTicket 7719 was updated.") == "Ticket 7719 was updated."


def test_a_slogan_may_close_the_card_below_a_formula() -> None:
    card = "Rosa Lind\nYard Engineer\nt: 01632 960 717"
    assert clean(f"Label it.\n\nMany thanks,\n\n{card}\nWe grow what the tide brings.") == "Label it."
