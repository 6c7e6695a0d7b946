"""The own set of conversations holds what its README promises, checked row by row."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "eval" / "thread"
LANGUAGES = {"zh-CN", "zh-TW", "ja", "en", "mixed"}
TEXT = {"id", "subject", "from", "date", "body_head", "mailbox", "gold_thread", "lang", "kind", "why"}
NULLABLE = {"message_id", "in_reply_to", "thread_index", "thread_topic", "list"}
LISTS = {"references", "to", "cc"}
FLAGS = {"ambiguous", "single"}
OPTIONAL = {"auto_reply", "category", "list_id"}

Row = dict[str, Any]


@cache
def rows() -> list[Row]:
    with (FOLDER / "own.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def conversations() -> dict[str, list[Row]]:
    """Return the mails of each conversation in order of date, second copies left out."""
    out: dict[str, list[Row]] = defaultdict(list)
    for row in rows():
        if not is_copy(row):
            out[row["gold_thread"]].append(row)
    return out


def is_copy(row: Row) -> bool:
    return str(row["id"]).endswith("~b")


def people(row: Row) -> set[str]:
    return {row["from"], *row["to"], *row["cc"]}


def test_every_row_has_the_fields_and_their_types() -> None:
    for row in rows():
        assert set(row) - OPTIONAL == TEXT | NULLABLE | LISTS | FLAGS, row["id"]
        assert all(isinstance(row[key], str) for key in TEXT), row["id"]
        assert all(row[key] is None or (isinstance(row[key], str) and row[key]) for key in NULLABLE), row[
            "id"
        ]
        assert all(isinstance(row[key], list) for key in LISTS), row["id"]
        assert all(isinstance(row[key], bool) for key in FLAGS), row["id"]
        assert row["to"] and row["kind"] and row["why"] and len(row["body_head"]) <= 1500, row["id"]
        assert (row["thread_index"] is None) == (row["thread_topic"] is None), row["id"]


def test_it_is_large_enough_and_half_chinese() -> None:
    many = [mails for mails in conversations().values() if len(mails) > 1]
    assert len(rows()) >= 500 and len(many) >= 100
    assert {row["lang"] for row in rows()} == LANGUAGES
    mails = Counter(row["lang"].startswith("zh") for row in rows())
    threads = Counter(found[0]["lang"].startswith("zh") for found in many)
    assert mails[True] >= mails[False] and threads[True] >= threads[False]
    for language in LANGUAGES:
        assert sum(found[0]["lang"] == language for found in many) >= 5, language


def test_ids_of_rows_are_unique_and_tell_nothing_of_the_answer() -> None:
    assert len({row["id"] for row in rows()}) == len(rows())
    for row in rows():
        assert re.fullmatch(r"own-[0-9a-f]{10}(~b)?", row["id"])


def test_a_conversation_has_two_mails_or_is_marked_single() -> None:
    for name, mails in conversations().items():
        assert {row["single"] for row in mails} == {len(mails) == 1}, name
        assert len({row["kind"] for row in mails}) == 1, name
    assert sum(len(mails) == 1 for mails in conversations().values()) >= 5


def test_dates_parse_in_order_over_almost_four_months() -> None:
    dates = [datetime.strptime(row["date"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) for row in rows()]
    assert dates == sorted(dates)
    assert (dates[-1] - dates[0]).days >= 110


def test_every_address_and_id_is_of_an_example_domain() -> None:
    for row in rows():
        assert all(re.fullmatch(r"[a-z0-9._-]+@[a-z0-9.-]+\.example", one) for one in people(row)), row["id"]
        ids = [row["message_id"], row["in_reply_to"], *row["references"]]
        assert all("@" not in one or one.endswith(".example") for one in ids if one), row["id"]
        assert all(host.endswith(".example") for host in re.findall(r"@([\w.-]+\w)", row["body_head"])), row[
            "id"
        ]


def test_no_two_mails_say_the_same() -> None:
    said = Counter(row["body_head"] for row in rows() if not is_copy(row))
    assert max(said.values()) == 1


def test_a_copy_is_the_same_mail_found_twice() -> None:
    by_id = {row["id"]: row for row in rows()}
    copies = [row for row in rows() if is_copy(row)]
    assert len(copies) >= 5
    for copy in copies:
        first = by_id[copy["id"].removesuffix("~b")]
        same = ("message_id", "in_reply_to", "references", "from", "date", "gold_thread")
        assert all(copy[key] == first[key] for key in same)
        assert copy["body_head"].startswith(first["body_head"]) and copy["mailbox"] == "b"


def test_thread_indexes_are_whole_and_a_topic_has_one_conversation_part() -> None:
    parts: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows():
        if row["thread_index"] is not None:
            index = base64.b64decode(row["thread_index"], validate=True)
            assert len(index) >= 22 and (len(index) - 22) % 5 == 0 and index[0] == 1, row["id"]
            parts[index[:22].hex(), row["thread_topic"]].add(row["gold_thread"])
    assert parts and all(len(found) == 1 for found in parts.values())


def test_whoever_continues_a_conversation_met_somebody_of_it() -> None:
    for name, mails in conversations().items():
        for row in mails:
            others = [people(other) for other in mails if other is not row]
            assert not others or any(people(row) & met for met in others), (name, row["id"])


def test_the_hard_cases_are_there() -> None:
    mails = [row for row in rows() if not is_copy(row)]
    owner: dict[str, set[str]] = defaultdict(set)
    subjects: dict[str, set[str]] = defaultdict(set)
    for row in mails:
        if row["message_id"]:
            owner[row["message_id"]].add(row["gold_thread"])
        subjects[row["subject"]].add(row["gold_thread"])
    assert sum(len(found) > 1 for found in owner.values()) >= 2  # ids reused by a broken sender
    assert sum(len(found) > 1 for found in subjects.values()) >= 15  # one subject, many conversations
    bare = [row for row in mails if not (row["in_reply_to"] or row["references"] or row["thread_index"])]
    first = {found[0]["id"] for found in conversations().values()}
    assert sum(row["id"] not in first for row in bare) >= 200  # answers that name nothing
    assert any(row["message_id"] is None for row in mails)
    assert {row.get("category") for row in mails} >= {"auto_reply", "bounce", "calendar", "notification"}


def test_what_is_not_scored_is_little_and_explained() -> None:
    unsure = [row for row in rows() if row["ambiguous"]]
    assert 0 < len(unsure) <= len(rows()) // 50
    for row in unsure:
        shared = {other["why"] for other in conversations()[row["gold_thread"]] if not other["ambiguous"]}
        assert row["why"] not in shared, row["id"]


def test_the_readme_names_every_kind_and_the_counts() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    missing = {row["kind"] for row in rows() if f"`{row['kind']}`" not in readme}
    assert not missing
    singles = sum(len(mails) == 1 for mails in conversations().values())
    total = len(conversations())
    head = (
        f"{len(rows())} business mails .* in {total} conversations: {total - singles} .* {singles} that stay"
    )
    assert re.search(head, readme)
