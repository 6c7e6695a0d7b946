"""The benchmark's mailbox is what it says: the same bytes each time, and shaped like a mailbox of business mail."""

from __future__ import annotations

import email
import email.policy
import hashlib
from collections import Counter
from email.message import Message
from pathlib import Path

import pytest

from eval.bench.corpus import CorpusFacts, make_corpus

COUNT = 1500


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CorpusFacts]:
    folder = tmp_path_factory.mktemp("corpus")
    return folder, make_corpus(folder, COUNT, 3)


@pytest.fixture(scope="module")
def mails(corpus: tuple[Path, CorpusFacts]) -> list[Message]:
    paths = sorted((corpus[0] / "Maildir" / "cur").iterdir())
    return [email.message_from_bytes(path.read_bytes(), policy=email.policy.compat32) for path in paths]


def texts(mail: Message, subtype: str) -> list[str]:
    found = []
    for part in mail.walk():
        payload = part.get_payload(decode=True)
        if part.get_content_type() == f"text/{subtype}" and isinstance(payload, bytes):
            found.append(payload.decode(part.get_content_charset() or "utf-8"))
    return found


def test_the_same_seed_writes_the_same_mails(tmp_path: Path) -> None:
    first, again = make_corpus(tmp_path / "a", 40, 7), make_corpus(tmp_path / "b", 40, 7)
    assert first == again
    assert first.digest != make_corpus(tmp_path / "c", 40, 8).digest


def test_a_corpus_that_is_there_is_not_written_again(corpus: tuple[Path, CorpusFacts]) -> None:
    folder, facts = corpus
    one = next((folder / "Maildir" / "cur").iterdir())
    before = one.stat().st_mtime_ns
    assert make_corpus(folder, COUNT, 3) == facts
    assert one.stat().st_mtime_ns == before


def test_sizes_and_shares_are_those_of_the_benchmark(
    mails: list[Message], corpus: tuple[Path, CorpusFacts]
) -> None:
    facts = corpus[1]
    assert len(mails) == COUNT
    assert 12_000 <= facts.mean_bytes <= 20_000
    html = sum(bool(texts(mail, "html")) for mail in mails) / COUNT
    assert 0.55 < html < 0.65
    assert 0.22 < facts.cjk / COUNT < 0.38
    files = [
        len(payload)
        for mail in mails
        for part in mail.walk()
        if part.get_filename() and isinstance(payload := part.get_payload(decode=True), bytes)
    ]
    assert 0.12 < len(files) / COUNT < 0.18
    assert min(files) >= 30_000
    assert facts.deepest == 10
    subjects = Counter(str(mail["Subject"]) for mail in mails)
    assert sum(count for _, count in subjects.most_common(40)) > COUNT * 0.12


def test_no_two_bodies_are_alike(mails: list[Message]) -> None:
    digests = Counter(hashlib.sha256("".join(texts(mail, "plain")).encode()).hexdigest() for mail in mails)
    assert len(digests) == COUNT


def test_quotes_of_several_mail_programs_are_in_it(mails: list[Message]) -> None:
    html = "".join(part for mail in mails for part in texts(mail, "html"))
    plain = "".join(part for mail in mails for part in texts(mail, "plain"))
    for mark in ("gmail_quote", "MsoNormal", 'type="cite"', "moz-cite-prefix", "原始邮件"):
        assert mark in html
    assert ">>>>>" in plain
    assert "-----Original Message-----" in plain
