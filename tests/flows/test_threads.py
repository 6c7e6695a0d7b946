"""Threads grow as mail arrives, in any order, and the commands that show them tell what a user needs."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from driving import LOOK, USAGE, Product, assert_equal_trees, validate
from letters import ANN, BO, MEI, OFFICE, PIA, ROY, hash_of, letter, post

ROOT_ID = "tour-1@northwind.example"


def tour(
    number: int, day: int, sender: str, to: str, text: str, *, after: int | None = None, subject: str = ""
) -> bytes:
    """Return one mail of a conversation about a tour; `after` is the number of the mail that it answers."""
    return letter(
        f"tour-{number}@northwind.example",
        f"{day:02} Mar 2026 09:00:00 +0000",
        sender,
        to,
        subject or ("Re: Factory tour" if after else "Factory tour"),
        text,
        after=f"tour-{after}@northwind.example" if after else None,
    )


def arrive(product: Product, **letters: bytes) -> dict[str, Any]:
    """Let mails arrive in the product's mailbox and run it."""
    mail = post(product.folder / "mail", {f"{name}.eml": data for name, data in letters.items()})
    return product.run("--source", mail)


def members(thread: dict[str, Any]) -> list[tuple[str, str | None, str]]:
    return [(row["msg_id"].partition("@")[0], row["parent"], row["method"]) for row in thread["members"]]


def test_a_late_parent_joins_two_threads(product: Product) -> None:
    first = tour(1, 2, BO, ANN, "Shall we visit the factory?")
    late = tour(2, 3, ANN, BO, "Gladly. When?", after=1)
    last = tour(3, 4, BO, ANN, "On Friday.", after=2, subject="Re: Visit on Friday")
    report = arrive(product, a=first, b=last)
    assert report["threads"]["new"] == 2
    old = sorted(product.threads())
    report = arrive(product, c=late)
    assert (report["written"], report["unchanged"], report["threads"]["merged"]) == (
        2,
        1,
        1,
    )  # one moved over
    [(thread_id, thread)] = product.threads().items()
    assert members(thread) == [
        ("tour-1", None, "root"),
        ("tour-2", ROOT_ID, "in_reply_to"),
        ("tour-3", "tour-2@northwind.example", "in_reply_to"),
    ]
    paths = sorted(path for path in product.tree() if path.startswith("extracted/"))
    assert len(paths) == 3 and all(f"/{thread_id}/" in path for path in paths)
    for name in old:
        assert product.call("thread", "show", name, "--json").json["thread_id"] == thread_id


def test_an_earlier_root_gives_the_thread_a_new_id_and_the_old_one_still_leads_there(
    product: Product,
) -> None:
    arrive(
        product, b=tour(2, 3, ANN, BO, "Gladly. When?", after=1), c=tour(3, 4, BO, ANN, "On Friday.", after=2)
    )
    [old] = product.threads()
    assert old.startswith("thr-2026-03-03-")
    report = arrive(product, a=tour(1, 2, BO, ANN, "Shall we visit the factory?"))
    [new] = product.threads()
    assert new.startswith("thr-2026-03-02-")
    assert report["threads"] == {"new": 0, "merged": 0, "rekeyed": 1, "guessed_links": 0}
    assert (report["written"], report["rewritten"]) == (
        3,
        0,
    )  # all three are listed, and all have a new place
    assert {path.split("/")[2] for path in product.tree() if path.startswith("extracted/")} == {new}
    shown = product.call("thread", "show", old)
    assert new in shown.out and old not in shown.out


def test_a_better_guess_replaces_an_old_one_and_splits_its_thread(product: Product) -> None:
    old = tour(1, 2, BO, f"{ANN}, {PIA}", "Shall we visit the factory in spring?")
    lost = tour(5, 6, ANN, BO, "Friday suits me.", subject="Re: Factory tour")
    arrive(product, a=old, b=lost)
    [thread] = product.threads().values()
    assert members(thread)[1] == ("tour-5", ROOT_ID, "subject") and thread["members"][1]["guess"]
    report = arrive(product, c=tour(4, 6, BO, ANN, "Does Friday suit you?"))
    assert report["threads"]["guessed_links"] == 1
    found = sorted((members(thread) for thread in product.threads().values()), key=str)
    assert found == [
        [("tour-1", None, "root")],
        [("tour-4", None, "root"), ("tour-5", "tour-4@northwind.example", "subject")],
    ]


def test_a_header_replaces_a_guess(product: Product) -> None:
    """A copy of the mail that kept its headers arrives after the one that lost them."""
    first, other = (
        tour(1, 2, BO, ANN, "Shall we visit the factory?"),
        tour(2, 5, BO, ANN, "Shall we visit the archive?"),
    )
    arrive(product, a=first, b=other, c=tour(3, 6, ANN, BO, "Yes.", subject="Re: Factory tour"))
    assert [email["rule_audit"]["thread_parent"] for email in product.emails().values()][-1].startswith(
        "tour-2"
    )
    report = arrive(product, d=tour(3, 6, ANN, BO, "Yes.", after=1))
    assert (report["duplicate"], report["threads"]["guessed_links"]) == (1, 0)
    email = product.emails()["tour-3@northwind.example"]
    assert email["rule_audit"]["thread_parent"] == ROOT_ID and len(email["locations"]) == 2


# ---- any order ---------------------------------------------------------------------------------------------

TALKATIVE = {
    "a1": tour(1, 2, BO, ANN, "Shall we visit the factory?"),
    "a2": tour(2, 3, ANN, BO, "Gladly. When?", after=1),
    "a3": tour(3, 4, BO, ANN, "On Friday, with Pia.", after=2),
    "a3-again": tour(3, 4, BO, ANN, "On Friday, with Pia.", after=2).replace(
        b"MIME", b"X-Gateway: two\nMIME"
    ),
    "a4": tour(4, 5, ANN, BO, "Good. Roy comes too.", subject="Re: Factory tour"),
    "a5": tour(5, 6, PIA, f"{ANN}, {BO}", "How many are you?", subject="Re: Factory tour"),
    "b1": tour(6, 5, PIA, ROY, "Shall we visit the factory?"),
    "b2": tour(7, 7, ROY, PIA, "We are three.", subject="Re: Factory tour"),
    "c2": tour(9, 9, ROY, MEI, "The car is booked.", after=8, subject="Re: Car"),
    "c3": tour(10, 10, MEI, ROY, "谢谢，已收到。", after=8, subject="回复: Car"),
    "d1": tour(11, 2, BO, ANN, "A second mail under a used id.", subject="Badges"),
    "d2": tour(11, 8, BO, ANN, "Quite another text.", subject="Badges"),
    "e1": letter(None, None, ROY, ANN, "Factory tour", "Undated, and without an id."),
}


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the tree of one run over all talkative mails."""
    product = Product(tmp_path_factory.mktemp("calm"))
    report = arrive(product, **TALKATIVE)
    assert (report["written"], report["duplicate"], report["threads"]["guessed_links"]) == (12, 1, 3)
    return product.tree()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_order_of_arrival_ends_in_the_same_files(
    seed: int, product: Product, calm: dict[str, str]
) -> None:
    chance = random.Random(seed)
    names = chance.sample(sorted(TALKATIVE), len(TALKATIVE))
    product.configure(pipeline={"processes": chance.choice((1, 2)), "batch_size": chance.choice((1, 3, 200))})
    cuts = sorted(chance.sample(range(1, len(names)), 2))
    for start, end in zip([0, *cuts], [*cuts, len(names)], strict=True):
        arrive(product, **{name: TALKATIVE[name] for name in names[start:end]})
    assert_equal_trees(calm, product.tree())


# ---- what the commands show --------------------------------------------------------------------------------

UNREADABLE = letter(
    "torn@x.example",
    "Mon, 09 Mar 2026 10:00:00 +0000",
    BO,
    ANN,
    "torn",
    "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} 19 \N{REPLACEMENT CHARACTER} " * 12,
)
"""What a gateway left of a text whose charset it did not know."""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Return a product that has run over the office correspondence, an empty file and an unreadable text."""
    product = Product(tmp_path_factory.mktemp("shelf"))
    mail = post(product.folder / "office", {**OFFICE, "inbox/empty.eml": b"", "inbox/torn.eml": UNREADABLE})
    product.run("--source", mail, code=LOOK)
    return product


def test_status_tells_what_is_there_and_how_the_last_run_ended(shelf: Product) -> None:
    told = shelf.call("status")
    for words in (
        str(shelf.state),
        "messages 13",
        "copies 15",
        "quarantined 1",
        "unclustered 1",
        "15 seen",
        "balanced",
    ):
        assert words in told.all, told
    value = shelf.call("status", "--json").json
    assert (value["messages"], value["copies"], value["pending"]) == (13, 15, 0)
    assert value["threads"] == len(shelf.threads())
    validate("report", value["last_run"])


def test_explain_tells_the_reason_of_every_decision(shelf: Product) -> None:
    told = shelf.call("explain", "<offer-2@us.example>").out
    for words in (
        "offer-2@us.example",
        "from its Date header",
        "quote by rule",
        "below offer-1@northwind.example",
        "its In-Reply-To header names",
        "Intent ",
        "Customer ",
        "office sent sent/02-offer.eml",
    ):
        assert words in told, told
    guess = shelf.call("explain", "bill-2@tokiwa.example", "--json").json
    assert guess["msg_id"] == "bill-2@tokiwa.example" and (shelf.state / guess["path"]).exists()
    assert any("(a guess)" in sentence and "score" in sentence for sentence in guess["sentences"])


def test_explain_of_a_held_message_says_why_it_is_held(shelf: Product) -> None:
    told = shelf.call("explain", "inbox/empty.eml", code=1)
    assert "empty" in told.all and "corrupt_input" in told.all
    assert shelf.call("explain", hash_of(b"")[:20], "--json", code=1).json["raw"] == hash_of(b"")


@pytest.mark.parametrize("name", ["offer-4@us.example", "<offer-4@us.example>", "inbox/04-offer.eml"])
def test_path_finds_a_message_by_any_of_its_names(name: str, shelf: Product) -> None:
    value = shelf.call("path", name, "--json").json
    email = json.loads((shelf.state / value["path"]).read_bytes())
    assert email["msg_id"] == value["msg_id"] == "offer-4@us.example"
    again = shelf.call("path", value["raw"]).out.strip()
    assert again == str(shelf.state / value["path"]) == shelf.call("path", again).out.strip()


def test_what_is_not_known_is_said_so(shelf: Product) -> None:
    for arguments in (
        ("path", "nobody@x.example"),
        ("explain", "nobody@x.example"),
        ("thread", "show", "thr-x"),
    ):
        ended = shelf.call(*arguments, code=USAGE)
        assert "is known here" in ended.err and ended.out == ""


def test_thread_show_prints_a_tree_with_its_guesses(shelf: Product) -> None:
    lines = shelf.call("thread", "show", "bill-3@us.example").out.splitlines()
    assert "三月账单" in lines[0] and lines[1].startswith(
        "3 messages, 2026-03-05T01:00:00Z to 2026-03-09T08:40:00Z"
    )
    assert [len(line) - len(line.lstrip()) for line in lines[2:]] == [0, 2, 4]
    assert "mei@us.example [root]" in lines[2] and "[subject, a guess, 0." in lines[3]
    assert "[in_reply_to]" in lines[4] and "请问款项" in lines[4]
    value = shelf.call("thread", "show", "bill-3@us.example", "--json").json
    validate("thread", value)
    assert value == shelf.threads()[value["thread_id"]]
    assert value["participants"] == ["ken@tokiwa.example", "mei@us.example"]


def test_unclustered_lists_what_could_not_be_read(shelf: Product) -> None:
    value = shelf.call("unclustered", "--json").json
    assert [row["msg_id"] for row in value] == ["torn@x.example"]
    assert json.loads((shelf.state / value[0]["path"]).read_bytes())["unclustered"] is True
    assert "torn@x.example" in shelf.call("unclustered").out


def test_quarantine_list_and_show_say_what_where_and_why(shelf: Product) -> None:
    [row] = shelf.call("quarantine", "list", "--json").json
    assert row.pop("dismissed") is False
    validate("quarantine", row)
    assert row == shelf.failed()[hash_of(b"")]
    line = shelf.call("quarantine", "list").out
    for words in (hash_of(b"")[7:19], "corrupt_input", "office: inbox/empty.eml", "empty"):
        assert words in line
    told = shelf.call("quarantine", "show", hash_of(b"")[7:19]).out
    for words in (
        hash_of(b""),
        "office: inbox/empty.eml",
        "tried once",
        "why",
        "(corrupt_input, in decode)",
        "remedy",
    ):
        assert words in told
    [shown] = shelf.call("quarantine", "show", "inbox/empty.eml", "--json").json
    assert shown == row
    assert (
        "is not in quarantine"
        in shelf.call("quarantine", "retry", "offer-1@northwind.example", code=USAGE).err
    )
    assert "which messages?" in shelf.call("quarantine", "dismiss", code=USAGE).err


def test_a_split_and_a_join_by_hand_survive_every_later_run(product: Product) -> None:
    first = tour(1, 2, BO, ANN, "Shall we visit the factory?")
    second = tour(2, 3, ANN, BO, "Gladly. By the way, who pays for the crates?", after=1)
    third = tour(3, 4, BO, ANN, "We pay for them.", after=2)
    arrive(product, a=first, b=second, c=third)
    product.call("thread", "split", "tour-2@northwind.example")
    late = tour(4, 5, ANN, BO, "Thank you.", after=3)
    arrive(product, d=late)
    names = sorted([row[0] for row in members(thread)] for thread in product.threads().values())
    assert names == [["tour-1"], ["tour-2", "tour-3", "tour-4"]]
    arrive(product)
    assert len(product.threads()) == 2
    product.call("thread", "join", ROOT_ID, "tour-3@northwind.example")
    arrive(product)
    [thread] = product.threads().values()
    assert ("tour-2", ROOT_ID, "manual") in members(thread)
    written = json.loads((product.state / "threads/_manual.json").read_text(encoding="utf-8"))
    assert [list(entry) for entry in written] == [["split"], ["join"]]


@pytest.mark.parametrize(
    "arguments", [("split", ROOT_ID), ("split", "none@x"), ("join", ROOT_ID), ("show", ROOT_ID, ROOT_ID)]
)
def test_what_cannot_be_split_or_joined_is_said(product: Product, arguments: tuple[str, ...]) -> None:
    arrive(product, a=tour(1, 2, BO, ANN, "Shall we visit the factory?"))
    product.call("thread", *arguments, code=USAGE)
    assert not (product.state / "threads/_manual.json").exists()
