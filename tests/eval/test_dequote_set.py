"""The authored dequote set is whole: its labels fit its texts, and it holds what its README promises."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import pytest

from models.message import SegmentKind

ROOT = Path(__file__).parents[2]
OWN = ROOT / "eval" / "dequote" / "own.jsonl"
PUBLIC = ROOT.parent / "shared" / "eval" / "dequote" / "public_dev.jsonl"
LAYOUTS = {"top", "bottom", "interleaved", "forward", "forward_only", "fresh", "nothing"}
LEAST_BY_LANGUAGE = {"zh-CN": 60, "zh-TW": 20, "ja": 30, "mixed": 20}
LEAST_BY_LANGUAGE |= dict.fromkeys(("en", "de", "fr", "es", "pt", "it", "nl", "ko", "pl", "ru"), 2)

RECORDS: list[dict[str, Any]] = [json.loads(line) for line in OWN.read_text("utf-8").splitlines()]
IDS = [record["id"] for record in RECORDS]
each = pytest.mark.parametrize("record", RECORDS, ids=IDS)


class Visible(HTMLParser):
    """Collects the text of a page; white space is not compared, so tags leave no trace."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in ("style", "script", "title")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("style", "script", "title")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def readable(source: str, kind: str) -> str:
    """Return the text a reader sees, without any white space."""
    if kind == "html":
        page = Visible()
        page.feed(source)
        page.close()
        source = "".join(page.parts)
    return re.sub(r"\s+", "", source)


def zone_text(record: dict[str, Any], kinds: set[str]) -> str:
    spans = [zone for zone in record["zones"] if zone["kind"] in kinds]
    joined = "".join(record["input"][zone["start"] : zone["end"]] for zone in spans)
    return readable(joined, record["kind"])


def is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(character in rest for character in short)


def test_languages_layouts_and_forms_are_all_there() -> None:
    languages = Counter(record["lang"] for record in RECORDS)
    assert {lang: n for lang, n in LEAST_BY_LANGUAGE.items() if languages[lang] < n} == {}
    layouts = Counter(record["layout"] for record in RECORDS)
    total = len(RECORDS)
    assert total >= 200
    assert set(layouts) == LAYOUTS
    assert layouts["interleaved"] + layouts["bottom"] >= total / 3
    assert layouts["nothing"] >= total / 5
    assert min(layouts.values()) >= 5
    forms = Counter(record["kind"] for record in RECORDS)
    assert set(forms) == {"text", "html"}
    assert forms["html"] >= 30
    assert sum("alternative" in record for record in RECORDS) >= 5


def test_every_segment_kind_is_asked_for() -> None:
    kinds = Counter(zone["kind"] for record in RECORDS for zone in record["zones"])
    assert {kind: kinds[kind] for kind in get_args(SegmentKind) if kinds[kind] < 5} == {}


def test_ids_and_messages_are_written_once() -> None:
    assert len(set(IDS)) == len(IDS)
    for part in ("input", "expected_clean", "why"):
        texts = Counter(re.sub(r"\W+", "", record[part]) for record in RECORDS)
        assert [text for text, n in texts.items() if n > 1 and len(text) > 4] == []


def test_no_sentence_comes_back_in_another_message() -> None:
    """Quoted or fresh: a body that returned would be counted twice. Header lines and small marks may."""
    seen: dict[str, str] = {}
    repeated = []
    for record in RECORDS:
        bodies = zone_text(record, {"reply"})
        for sentence in re.split(r"[。.!?！？]", bodies):
            if len(sentence) >= 16 and seen.setdefault(sentence, record["id"]) != record["id"]:
                repeated.append((sentence, seen[sentence], record["id"]))
    assert repeated == []


@each
def test_zones_cover_the_input_and_give_the_expected_text(record: dict[str, Any]) -> None:
    position = 0
    for zone in record["zones"]:
        assert zone["kind"] in {*get_args(SegmentKind), "*"}
        assert zone["start"] == position < zone["end"]
        position = zone["end"]
    assert position == len(record["input"])
    assert zone_text(record, {"*"}) == ""
    expected = re.sub(r"\s+", "", record["expected_clean"])
    assert expected == zone_text(record, {"reply"})
    assert is_subsequence(expected, readable(record["input"], record["kind"]))
    if "alternative" in record:
        assert record["kind"] == "html"
        assert is_subsequence(expected, readable(record["alternative"], "text"))


@each
def test_other_accepted_answers_are_subsequences_too(record: dict[str, Any]) -> None:
    whole = readable(record["input"], record["kind"])
    assert len(set(record["also_ok"])) == len(record["also_ok"])
    for answer in record["also_ok"]:
        assert answer != record["expected_clean"]
        assert is_subsequence(re.sub(r"\s+", "", answer), whole)


@each
def test_the_layout_fits_the_zones(record: dict[str, Any]) -> None:
    kinds = [zone["kind"] for zone in record["zones"] if zone["kind"] != "*"]
    old = {"quote", "forward_body"}
    replies = [i for i, kind in enumerate(kinds) if kind == "reply"]
    quotes = [i for i, kind in enumerate(kinds) if kind in old]
    layout = record["layout"]
    if layout == "nothing":
        assert kinds == ["reply"]
        assert record["also_ok"] == []
    elif layout == "fresh":
        assert replies and not quotes and len(kinds) > 1
    elif layout == "top":
        assert max(replies) < min(quotes)
    elif layout == "bottom":
        below = [i for i in replies if i > min(quotes)]
        assert below and min(below) > max(quotes)
    elif layout == "interleaved":
        assert len(quotes) >= 2 and any(min(quotes) < i < max(quotes) for i in replies)
    else:
        assert "forward_header" in kinds and "forward_body" in kinds
        assert bool(replies) == (layout == "forward")


@each
def test_people_and_addresses_are_invented(record: dict[str, Any]) -> None:
    text = record["input"] + record.get("alternative", "")
    domains = re.findall(r"@([A-Za-z0-9][A-Za-z0-9.-]*)", unicodedata.normalize("NFKC", text))
    domains += re.findall(r"https?://([A-Za-z0-9.-]+)", text)
    assert [domain for domain in domains if domain.rstrip(".").rsplit(".")[-1] != "example"] == []


def test_no_long_line_stands_in_the_public_set() -> None:
    if not PUBLIC.exists():
        pytest.skip("the public set is not beside this checkout")
    public: set[str] = set()
    for line in PUBLIC.read_text("utf-8").splitlines():
        public.update(part.strip(" >\t") for part in json.loads(line).get("input", "").splitlines())
    texts = [record["input"] for record in RECORDS if record["kind"] == "text"]
    ours = {part.strip(" >\t") for text in texts for part in text.splitlines()}
    marks = re.compile(
        r"[-\s]*(?:original message|ursprüngliche nachricht|(?:begin )?forwarded message)?[\W_]*", re.I
    )
    assert [part for part in ours & public if len(part) >= 24 and not marks.fullmatch(part)] == []
