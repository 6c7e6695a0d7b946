"""The made-up corpus is the same on every machine and holds what it promises."""

from __future__ import annotations

import email
import email.policy
from collections import Counter
from pathlib import Path

from eval.generate import Shape, generate


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    one, two = generate(60, 7, tmp_path / "one"), generate(60, 7, tmp_path / "two")
    assert one == two
    for row in one:
        assert (tmp_path / "one" / row.path).read_bytes() == (tmp_path / "two" / row.path).read_bytes()
    assert generate(60, 8, tmp_path / "three") != one


def test_every_oddity_occurs_and_every_mail_can_be_parsed(tmp_path: Path) -> None:
    shape = Shape(no_id=0.03, reused_id=0.03, undated=0.03, empty=0.03)
    rows = generate(400, 3, tmp_path, shape)
    traits = Counter(trait for row in rows for trait in row.traits)
    assert set(traits) == {"recurring", "no-references", "no-id", "reused-id", "undated", "empty", "copy"}
    assert len({row.number for row in rows}) == 400
    assert len({row.path for row in rows}) == len(rows)
    present = {row.number for row in rows}
    assert any(row.parent is not None and row.parent not in present for row in rows)
    for row in rows:
        if "empty" in row.traits:
            continue
        message = email.message_from_bytes((tmp_path / row.path).read_bytes(), policy=email.policy.default)
        body = message.get_body(("plain",))
        assert not message.defects and body is not None and body.get_content().strip()
        assert (message["Message-ID"] or "").strip("<>") == (row.msg_id or "")


def test_copies_of_a_message_say_the_same_and_came_another_way(tmp_path: Path) -> None:
    rows = generate(80, 5, tmp_path, Shape(overlap=1.0, empty=0, undated=0))
    by_number: dict[int, list[bytes]] = {}
    for row in rows:
        by_number.setdefault(row.number, []).append((tmp_path / row.path).read_bytes())
    assert len(by_number) == 80
    for first, second in by_number.values():
        assert (first.count(b"Received:"), second.count(b"Received:")) == (1, 2)
