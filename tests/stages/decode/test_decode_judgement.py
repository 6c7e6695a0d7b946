"""Category and language; every rule of a pack against its own examples."""

import re
import tomllib
from importlib.resources import files
from typing import Any

import pytest

from stages.decode import DecodePolicy, decode
from stages.decode.category import has_unsubscribe_text
from stages.decode.language import chinese_variant, identify, own_words


def pack(name: str) -> dict[str, Any]:
    return tomllib.loads(files("stages.decode").joinpath(f"packs/{name}.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    "rule", [*pack("category")["auto_reply"]["subject"], *pack("stubs")["stub"]], ids=str
)
def test_a_rule_matches_its_examples_and_spares_its_near_misses(rule: dict[str, Any]) -> None:
    pattern = re.compile(rule["pattern"])
    find = pattern.search if rule in pack("stubs")["stub"] else pattern.match
    assert len(rule["match"]) >= 2 and len(rule["miss"]) >= 2
    assert all(find(text.casefold()) for text in rule["match"])
    assert not any(find(text.casefold()) for text in rule["miss"])


def test_every_hook_of_the_quote_pack_is_prefiltered_by_its_own_words() -> None:
    for hook in pack("quote_hooks")["hook"]:
        assert hook["extent"] in {"element", "rest"}
        assert hook["reason"]
        assert any(
            word in hook["selector"].lower().replace(" ", "") or word.startswith("<")
            for word in hook["words"]
        )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("请确认一下 PO 的金额，明天 demo 的 slides 请 review 一下", "zh-CN"),
        ("請確認合約金額，謝謝", "zh-TW"),
        ("ご確認ください。", "ja"),
        ("承知しました", "ja"),
        ("안녕하세요, 확인 부탁드립니다", "ko"),
        ("Hi, thanks!", "en"),
        ("OK", "en"),
        ("Danke, bis morgen", "de"),
        ("Bonjour, merci beaucoup pour votre aide", "fr"),
        ("Gracias por todo", "es"),
        ("Спасибо большое", "ru"),
        ("The 王伟 account is ready for you to look at", "en"),
        ("好的\n\nOn Mon, Bob wrote:\n> english quoted text here\n> and more of it", "zh-CN"),
        (
            "ok for me.\n\n发件人: A <a@b.c>\n发送时间: x\n收件人: y\n主题: z\n\n旧的内容在这里很长很长很长很长",
            "en",
        ),
        ("12345 !!", None),
        ("", None),
    ],
)
def test_language(text: str, wanted: str | None) -> None:
    tongue = identify(text)
    assert tongue.language == wanted
    if wanted is not None:
        assert tongue.languages[0].language == wanted
        assert abs(sum(share.share for share in tongue.languages) - 1) < 0.001


def test_the_two_chinese_tables_share_no_character_and_are_large_enough() -> None:
    tables = pack("han")
    assert len(set(tables["simplified"])) >= 400 and len(set(tables["traditional"])) >= 400
    assert not set(tables["simplified"]) & set(tables["traditional"])
    assert chinese_variant("收到", None) == "zh-CN"
    assert chinese_variant("收到", "big5hkscs") == "zh-TW"


def test_own_words_end_at_a_header_block() -> None:
    assert own_words("mine\n> theirs\nFrom: a@b.c\nSent: now\nTo: d@e.f\nold") == "mine"
    assert own_words("From: a@b.c\nSent: now\nTo: d@e.f\n\nanswer") == "answer"


@pytest.mark.parametrize(
    ("headers", "body", "wanted"),
    [
        ("From: a@b.example", "hi", "conversation"),
        ("From: a@b.example\nList-Unsubscribe: <x>", "hi", "conversation"),
        ("From: a@b.example\nList-Unsubscribe: <x>", "hi, unsubscribe here", "newsletter"),
        ("From: a@b.example\nList-Id: <l>\nPrecedence: list\nIn-Reply-To: <x1@y>", "hi", "conversation"),
        (
            "From: a@b.example\nList-Id: <l>\nPrecedence: list\nIn-Reply-To: <x1@y>\nList-Unsubscribe-Post: y",
            "hi",
            "newsletter",
        ),
        ("From: a@b.example\nPrecedence: bulk\nX-Campaign: 5", "hi", "newsletter"),
        ("From: do_not-reply@b.example", "hi", "notification"),
        ("From: a@b.example\nAuto-Submitted: auto-generated", "hi", "notification"),
        ("From: a@b.example\nX-GitHub-Reason: mention\nList-Id: <l>\nPrecedence: list", "hi", "notification"),
        ("From: a@b.example\nSubject: 自动回复: 报价", "hi", "auto_reply"),
        ("From: a@b.example\nAuto-Submitted: no", "hi", "conversation"),
        ("From: MAILER-DAEMON@b.example", "hi", "bounce"),
        ("From: a@b.example\nX-Auto-Response-Suppress: All", "hi", "conversation"),
    ],
)
def test_category(headers: str, body: str, wanted: str) -> None:
    decoded = decode(f"{headers}\n\n{body}\n".encode(), DecodePolicy())
    assert decoded.category == wanted
    assert decoded.category_reasons or wanted == "conversation"


def test_unsubscribe_words_are_found_at_both_ends_of_a_long_body() -> None:
    assert has_unsubscribe_text("x" * 50_000 + " unsubscribe")
    assert has_unsubscribe_text("点击这里退订" + "x" * 50_000)
    assert not has_unsubscribe_text("please describe")
