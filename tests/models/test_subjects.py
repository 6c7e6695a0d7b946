"""Subjects without what clients, lists and gateways put before them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.subjects import KINDS, former_key, load_marks, read_subject, strip_prefixes, subject_key

PACKS = {name: pack for name, pack in load_marks().items() if name != "gateways"}
MATCH = [(name, text) for name, pack in PACKS.items() for text in pack["match"]]
KEEP = [(name, text) for name, pack in PACKS.items() for text in pack["keep"]]


def test_every_pack_has_two_examples_of_each_kind() -> None:
    assert len(PACKS) >= 25
    for pack in PACKS.values():
        assert len(pack["match"]) >= 2 and len(pack["keep"]) >= 2
        words = [word for kind in KINDS for word in pack.get(kind, [])]
        assert words and set(pack.get("counted", [])) <= set(words)
        assert all(word == word.strip().casefold() or word == "i̇lt" or word.startswith("i̇") for word in words)


@pytest.mark.parametrize(("pack", "subject"), MATCH)
def test_a_prefix_of_a_pack_goes(pack: str, subject: str) -> None:
    _, _, bare = subject.replace("：", ":").partition(":")
    assert strip_prefixes(subject) == (bare.strip(), True)


@pytest.mark.parametrize(("pack", "subject"), KEEP)
def test_a_near_miss_of_a_pack_stays(pack: str, subject: str) -> None:
    assert strip_prefixes(subject) == (subject, False)


@pytest.mark.parametrize(
    "before",
    [
        "Re: Re: ",
        "RE: AW: 回复: ",
        "回复：转发：",
        "Re[2]: ",
        "RE(3)：",
        "Re^2: ",
        "Re2: ",
        "回复【2】：",
        "Re : ",
        "Re\N{NO-BREAK SPACE}: ",
        "ＲＥ： ",
        "Ｒｅ［２］：",
        "Re\N{SMALL COLON} ",
        "\N{RIGHT-TO-LEFT EMBEDDING}Re: ",
        "\ufeffRe:\t\t",
        "[EXTERNAL] Re: ",
        "［外部メール］ＲＥ： ",
        "Re: [EXT] Re: ",
        "[list] Re: ",
        "[list] [EXTERNAL] Re: ",
        "【通知】回覆：",
        "Re: [list] ",
    ],
)
def test_stacked_counted_wide_and_tagged_prefixes_go(before: str) -> None:
    assert strip_prefixes(f"{before}Délai  de livraison") == ("Délai de livraison", True)
    assert subject_key(f"{before}Délai de livraison") == "délai de livraison"


@pytest.mark.parametrize(
    ("subject", "bare"),
    [
        ("[Fwd: Delivery]", "Delivery"),
        ("[Fwd: [Fwd: Delivery [3]]]", "Delivery [3]"),
        ("Delivery (fwd)", "Delivery"),
        ("Re: Delivery (FWD) (fwd)", "Delivery"),
    ],
)
def test_a_forward_mark_around_a_subject_goes(subject: str, bare: str) -> None:
    assert strip_prefixes(subject) == (bare, True)


@pytest.mark.parametrize(
    ("subject", "bare"),
    [
        ("[list] Delivery", "Delivery"),
        ("[EXTERNAL] Delivery", "Delivery"),
        ("【重要】納品の件", "納品の件"),
        ("[urgent]", "[urgent]"),
        ("[one] [urgent]", "[urgent]"),
        ("[EXTERNAL]", ""),
        ("Delivery [final]", "Delivery [final]"),
        ("[unclosed Delivery", "[unclosed Delivery"),
        ("", ""),
        (" \t ", ""),
    ],
)
def test_a_tag_is_no_sign_of_a_reply(subject: str, bare: str) -> None:
    assert strip_prefixes(subject) == (bare, False)


def test_a_number_in_a_tag_tells_conversations_apart() -> None:
    assert strip_prefixes("Re: [Claim 3381] Re: Broken pump") == ("[Claim 3381] Broken pump", True)
    assert strip_prefixes("[support] [#3381] Re: Broken pump") == ("[#3381] Broken pump", True)
    assert subject_key("[Claim 3381] Broken pump") != subject_key("Re: [Claim 3390] Broken pump")
    assert subject_key("[Claim 3381] Broken pump") == subject_key("RE: [claim ３３８１] Broken pump")


def test_case_is_kept_and_the_key_has_none() -> None:
    assert strip_prefixes("Re: Straße nach ＡＢＣ")[0] == "Straße nach ＡＢＣ"
    assert subject_key("Re: STRASSE nach ＡＢＣ") == subject_key("Straße nach abc")


def test_a_reply_without_a_subject_has_an_empty_key() -> None:
    assert strip_prefixes("Re: Fwd:") == ("", True)
    assert subject_key("Re: Fwd:") == ""


SCRAPS = [
    "Re: ",
    "RE：",
    "[list] ",
    "[#7] ",
    "[EXTERNAL]",
    "[Fwd: ",
    "]",
    "[",
    "(fwd)",
    "回复:",
    "Plan",
    " ",
    "\u200f",
    ":",
    "R2:",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(SCRAPS) | st.text(max_size=4), max_size=8).map("".join))
def test_what_is_stripped_once_is_stripped(subject: str) -> None:
    bare, _ = strip_prefixes(subject)
    assert strip_prefixes(bare)[0] == bare


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(SCRAPS), max_size=6).map("".join),
    st.sampled_from(["Re: ", "回复：", "[EXTERNAL] "]),
)
def test_a_reply_has_the_key_of_what_it_answers(subject: str, prefix: str) -> None:
    assert subject_key(prefix + subject) == subject_key(subject)


@pytest.mark.parametrize(
    "piece", ["Re:", "[x]", "[Fwd: ", "(fwd)", "[1]", "Re[", "\u200b", "回复 ", "[" * 40]
)
def test_an_endless_subject_is_looked_at_up_to_a_bound(piece: str) -> None:
    assert len(strip_prefixes(piece * 200_000)[0]) <= 2000


@pytest.mark.parametrize(
    ("subject", "key", "former"),
    [
        ("Prices (was: Catalogue 9)", "prices", "catalogue 9"),
        ("回复：付款条件（原：Re: 备用刀）", "付款条件", "备用刀"),
        ("付款條件（原主旨：備用刀）", "付款條件", "備用刀"),
        ("お支払い（元：納品の件）", "お支払い", "納品の件"),
        ("Prices (was high)", "prices (was high)", None),
        ("(was: Catalogue)", "(was: catalogue)", "catalogue"),
    ],
)
def test_a_renamed_subject_names_the_one_before(subject: str, key: str, former: str | None) -> None:
    assert (subject_key(subject), former_key(subject)) == (key, former)


@pytest.mark.parametrize(
    ("subject", "marks"),
    [
        ("Re: Fwd: Plan", ("reply", "forward")),
        ("转发：回复：计划", ("forward", "reply")),
        ("Accepted: Plan @ Tue 4 May 2026 10:00 - 11:00 (CET)", ("event",)),
        ("邀请: 计划", ("opening",)),
        ("[RE] Plan", ("reply",)),
        ("EXTERNAL: Plan", ()),
    ],
)
def test_marks_are_told_outermost_first(subject: str, marks: tuple[str, ...]) -> None:
    found = read_subject(subject)
    assert found.marks == marks and found.text in ("Plan", "计划")


def test_a_tag_names_the_list_unless_a_gateway_put_it_there() -> None:
    assert read_subject("Re: [Plan-users] Re: Gear").list_tag == "plan-users"
    assert read_subject("[EXTERNAL] Re: Gear").list_tag is None
    assert read_subject("Gear [EXTERNAL]").text == "Gear"
