"""Earlier mail recognised by its words, where the texts of earlier messages are given."""

from __future__ import annotations

from models.message import Dequoted
from stages.dequote import DequoteInput, DequotePolicy, dequote

ASKED = "Hello Rosa,\n\nwhich day suits you for the crane at the north pier?\nAnd who brings the papers to the gate office?\n\nIvo"
ASKED_ZH = "罗经理：\n\n吊车周四能不能进场？码头办公室需要提前两天知道。\n许可证由谁去市政窗口办理？\n\n贺敏"


def run(text: str, *earlier: str) -> Dequoted:
    return dequote(DequoteInput(text=text), DequotePolicy(), earlier)


def test_a_quote_without_any_mark_is_recognised() -> None:
    text = f"Thursday, from ten.\n\n{ASKED}"
    assert run(text).clean != "Thursday, from ten."
    found = run(text, ASKED)
    assert found.clean.startswith("Thursday, from ten.")
    assert "crane" not in found.clean
    assert found.segments[1].rule == "any:quote.known"


def test_other_line_widths_and_spaces_do_not_matter() -> None:
    text = "周四可以。\n\n吊车周四能不能进场？\n码头办公室需要提前两天知道。 许可证由谁去\n市政窗口办理？"
    assert run(text, ASKED_ZH).clean == "周四可以。"


def test_the_line_that_introduces_it_goes_with_it() -> None:
    text = (
        "Thursday.\n\nOn Tuesday Ivo wrote:\nwhich day suits you for the crane at the north pier?\n"
        "And who brings the papers to the gate office?"
    )
    found = run(text, ASKED)
    assert found.clean == "Thursday."


def test_a_changed_line_inside_the_original_is_the_senders() -> None:
    text = (
        "See my answers below.\n\nFrom: Ivo <ivo@kelp.example>\nSent: 4 March 2026 17:40\nTo: Rosa\nSubject: Crane\n\n"
        "Hello Rosa,\n\nwhich day suits you for the crane at the north pier?\nThursday would be best for us.\n"
        "And who brings the papers to the gate office?\n"
    )
    assert run(text).clean == "See my answers below."
    found = run(text, ASKED)
    assert found.clean == "See my answers below.\n\nThursday would be best for us."
    answer = next(part for part in found.segments if text[part.start :].startswith("Thursday would"))
    assert (answer.kind, answer.answers is not None) == ("reply", True)


def test_a_message_sent_again_keeps_its_words() -> None:
    assert run(ASKED, ASKED).clean.startswith("Hello Rosa,")


def test_a_few_shared_words_are_no_quote() -> None:
    text = "Which day suits you best?\nThe papers are at the gate office."
    assert run(text, ASKED).clean == text


def test_many_earlier_texts_are_read_up_to_a_bound() -> None:
    long = [f"the crane stands at pier number {at} and waits for its load " * 400 for at in range(40)]
    text = "Thursday.\n" + "\n".join(long)[:200_000]
    assert run(text, *long).segments[-1].end == len(text)
