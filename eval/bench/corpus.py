"""The benchmark's mailbox: a seeded Maildir of long conversations between several mail programs.

By default 60 % of the mails have HTML, 30 % are Chinese or Japanese, 15 % carry a file of 30 kB or more, quotes
go ten deep, a fifth of the mails share a few recurring subjects, and no two bodies are alike. The same count,
seed and VERSION give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import quopri
import random
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from email.header import Header
from email.utils import format_datetime, formataddr
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eval.bench.clients import CLIENTS, Earlier
from models.base import Record

VERSION = 1  # of the generator: another version writes other bytes
MAX_DEPTH = 10
_RECENT = 80  # mails that an answer may be to
_FIRST_DAY = datetime(2025, 9, 1, 7, 0, tzinfo=UTC)
_OFFSETS = {"zh": 8, "ja": 9, "de": 1, "en": 0}
_CHARSETS = {
    "zh": ("utf-8", "gb18030"),
    "ja": ("utf-8", "iso-2022-jp"),
    "de": ("utf-8", "iso-8859-1"),
    "en": ("utf-8",),
}
_FILES = (("pdf", "application/pdf"), ("png", "image/png"), ("xlsx", "application/vnd.ms-excel"))


class CorpusShape(Record):
    """Shares of all mails."""

    html: float = 0.6
    cjk: float = 0.3
    attachments: float = 0.15
    replies: float = 0.62
    recurring: float = 0.2


class CorpusFacts(Record):
    """What was written: counts, sizes in bytes, and a digest of all mails in their order."""

    mails: int
    seed: int
    version: int
    bytes: int
    mean_bytes: int
    html: int
    cjk: int
    attachments: int
    recurring: int
    deepest: int
    digest: str


class Sent(NamedTuple):
    """A mail that can be answered."""

    sender: tuple[str, str]
    to: list[tuple[str, str]]
    date: datetime
    subject: str
    msg_id: str
    references: list[str]
    text: str
    html: str
    depth: int
    language: str
    recurring: bool


def make_corpus(folder: Path, mails: int, seed: int, shape: CorpusShape | None = None) -> CorpusFacts:
    """Write a Maildir with `mails` mails into `folder` (or find it there) and return its facts."""
    facts_file = folder / "facts.json"
    if facts_file.is_file():
        facts = msgspec.json.decode(facts_file.read_bytes(), type=CorpusFacts)
        if (facts.mails, facts.seed, facts.version) == (mails, seed, VERSION):
            return facts
    box = folder / "Maildir"
    for name in ("cur", "new", "tmp"):
        (box / name).mkdir(parents=True, exist_ok=True)
    writer = _Writer(random.Random(seed), shape or CorpusShape())
    digest = hashlib.sha256()
    total = 0
    for number, data in enumerate(writer.mails(mails)):
        digest.update(data)
        total += len(data)
        (box / "cur" / f"{1_700_000_000 + number}.M{number}.bench:2,S").write_bytes(data)
    facts = CorpusFacts(
        mails=mails,
        seed=seed,
        version=VERSION,
        bytes=total,
        mean_bytes=total // mails,
        digest=digest.hexdigest()[:16],
        **writer.counts,
    )
    facts_file.write_bytes(msgspec.json.encode(facts))
    return facts


class _Writer:
    def __init__(self, chance: random.Random, shape: CorpusShape) -> None:
        self.chance, self.shape = chance, shape
        self.words: dict[str, Any] = tomllib.loads(
            (resources.files("eval.bench") / "prose.toml").read_text("utf-8")
        )
        self.common = self.words["common"]
        self.people = [self._person(number) for number in range(300)]
        self.now = _FIRST_DAY
        self.counts = dict.fromkeys(("html", "cjk", "attachments", "recurring", "deepest"), 0)

    def _person(self, number: int) -> tuple[str, str]:
        first = self.chance.choice(self.common["first"])
        name = first if ord(first[0]) > 0x2E80 else f"{first} {self.chance.choice(self.common['last'])}"
        return name, f"p{number}@{self.chance.choice(self.common['domains'])}"

    def _is(self, share: float) -> bool:
        return self.chance.random() < share

    def mails(self, count: int) -> Iterator[bytes]:
        recent: list[Sent] = []
        for number in range(count):
            self.now += timedelta(seconds=self.chance.randint(20, 2400))
            parent = self.chance.choice(recent) if recent and self._is(self.shape.replies) else None
            sent, data = self._mail(number, parent)
            if sent.depth < MAX_DEPTH:
                recent = [*recent[-_RECENT:], sent]
            yield data

    def _mail(self, number: int, parent: Sent | None) -> tuple[Sent, bytes]:
        language = self._language(parent)
        words = self.words[language]
        sender, to = self._parties(parent)
        own = self._own(words, to[0][0])
        title, street = self.chance.choice(self.common["titles"]), self.chance.choice(self.common["streets"])
        signature = f"{sender[0]}\n{title}, {sender[1].partition('@')[2]}\n{street}, +49 40 {number:07}"
        depth = parent.depth + 1 if parent else 0
        client = "qq" if language == "zh" and self._is(0.5) else self.chance.choice(list(CLIENTS)[:4])
        text, html = CLIENTS[client](own, signature, self._earlier(parent, words) if parent else None)
        recurring = parent.recurring if parent else self._is(self.shape.recurring)
        subject = self._subject(parent, words, recurring)
        sent = Sent(
            sender=sender,
            to=to,
            date=self.now.astimezone(timezone(timedelta(hours=_OFFSETS[language]))),
            subject=subject,
            msg_id=f"{number}.{self.chance.getrandbits(64):016x}@{sender[1].partition('@')[2]}",
            references=[*parent.references, parent.msg_id] if parent else [],
            text=text,
            html=html,
            depth=depth,
            language=language,
            recurring=recurring,
        )
        with_html = self._is(self.shape.html)
        file = self._file(number) if self._is(self.shape.attachments) else None
        self.counts["html"] += with_html
        self.counts["cjk"] += language in ("zh", "ja")
        self.counts["attachments"] += file is not None
        self.counts["recurring"] += recurring
        self.counts["deepest"] = max(self.counts["deepest"], depth)
        return sent, self._render(number, sent, with_html, file)

    def _language(self, parent: Sent | None) -> str:
        if parent and self._is(0.9):
            return parent.language
        if self._is(self.shape.cjk):
            return self.chance.choice(("zh", "zh", "ja"))
        return self.chance.choice(("en", "en", "en", "de"))

    def _parties(self, parent: Sent | None) -> tuple[tuple[str, str], list[tuple[str, str]]]:
        if parent is None:
            sender, *to = self.chance.sample(self.people, self.chance.randint(2, 5))
            return sender, to
        sender = self.chance.choice(parent.to)
        return sender, [parent.sender, *(one for one in parent.to if one != sender)]

    def _own(self, words: dict[str, Any], first: str) -> str:
        greeting = self.chance.choice(words["greetings"]).format(first=first.split(maxsplit=1)[0])
        paragraphs = [
            (" " if words is self.words["en"] or words is self.words["de"] else "").join(
                self._sentence(words) for _ in range(self.chance.randint(1, 5))
            )
            for _ in range(self.chance.choice((1, 1, 2, 2, 3, 4, 6)))
        ]
        if self._is(0.25):
            paragraphs.append(
                "\n".join(f"- {self._sentence(words)}" for _ in range(self.chance.randint(2, 6)))
            )
        return "\n\n".join([greeting, *paragraphs, self.chance.choice(words["closings"])])

    def _sentence(self, words: dict[str, Any]) -> str:
        order = ("heads", "subjects", "objects", "verbs", "tails")
        if words is not self.words["ja"]:
            order = ("heads", "subjects", "verbs", "objects", "tails")
        spaced = words is self.words["en"] or words is self.words["de"]
        parts = [self._fill(self.chance.choice(words[key])) for key in order]
        return (" " if spaced else "").join(parts).replace(" ,", ",")

    def _fill(self, pattern: str) -> str:
        day = self.now + timedelta(days=self.chance.randint(-40, 40))
        return pattern.format(
            project=self.chance.choice(self.common["projects"]),
            number=self.chance.randint(2, 9000),
            small=self.chance.randint(2, 12),
            code=f"{self.chance.choice('ABCDEFGHKLMN')}{self.chance.randint(100, 99999)}",
            amount=f"{self.chance.randint(1, 900) * 100:,}",
            date=self.chance.choice((f"{day:%Y-%m-%d}", f"{day.month}/{day.day}", f"{day:%d %B}")),
        )

    def _subject(self, parent: Sent | None, words: dict[str, Any], recurring: bool) -> str:
        if parent:
            prefix = self.chance.choice(("Re: ", "RE: ", "回复: ", "AW: "))
            return (
                parent.subject
                if parent.subject.startswith(("Re", "RE", "回", "AW"))
                else prefix + parent.subject
            )
        if recurring:
            return str(self.chance.choice(self.common["recurring"]))
        return self._fill(self.chance.choice(words["subject_lines"]))

    def _earlier(self, parent: Sent, words: dict[str, Any]) -> Earlier:
        return Earlier(
            name=parent.sender[0],
            email=parent.sender[1],
            to="; ".join(formataddr(one) for one in parent.to),
            date=f"{parent.date:%Y-%m-%d}",
            time=f"{parent.date:%H:%M}",
            subject=parent.subject,
            text=parent.text,
            html=parent.html,
            words=words,
        )

    def _file(self, number: int) -> tuple[str, str, bytes]:
        ending, mime = self.chance.choice(_FILES)
        return f"file-{number}.{ending}", mime, self.chance.randbytes(self.chance.randint(30_000, 44_000))

    def _render(self, number: int, sent: Sent, with_html: bool, file: tuple[str, str, bytes] | None) -> bytes:
        received = format_datetime(sent.date.astimezone(UTC) + timedelta(seconds=9))
        lines = [
            f"Received: from relay{number % 7}.example by mx.us.example with ESMTPS id {number:x};\n {received}",
            f"Message-ID: <{sent.msg_id}>",
            f"Date: {format_datetime(sent.date)}",
            f"From: {formataddr(sent.sender)}",
            "To: " + ",\n ".join(formataddr(one) for one in sent.to),
            "Subject: " + Header(sent.subject, "utf-8", header_name="Subject").encode(),
        ]
        if sent.references:
            lines.append(f"In-Reply-To: <{sent.references[-1]}>")
            lines.append("References: " + "\n ".join(f"<{one}>" for one in sent.references))
        body = self._text_part("plain", sent.text, sent.language)
        if with_html:
            html = self._text_part("html", f"<html><body>{sent.html}</body></html>\n", sent.language)
            body = _multipart("alternative", f"alt{number:07}", [body, html])
        if file:
            body = _multipart("mixed", f"mix{number:07}", [body, _attached(*file)])
        return ("\n".join([*lines, "MIME-Version: 1.0"]) + "\n").encode() + body

    def _text_part(self, subtype: str, text: str, language: str) -> bytes:
        charset = self.chance.choice(_CHARSETS[language])
        try:
            data = text.encode(charset)
        except UnicodeEncodeError:
            charset, data = "utf-8", text.encode()
        encoding = "base64" if charset == "gb18030" or self._is(0.2) else "quoted-printable"
        if charset == "iso-2022-jp":
            encoding = "7bit"
        head = f"Content-Type: text/{subtype}; charset={charset}\nContent-Transfer-Encoding: {encoding}\n\n"
        if encoding == "base64":
            return head.encode() + base64.encodebytes(data)
        return head.encode() + (data if encoding == "7bit" else quopri.encodestring(data))


def _attached(name: str, mime: str, data: bytes) -> bytes:
    head = f'Content-Type: {mime}; name="{name}"\nContent-Disposition: attachment; filename="{name}"\n'
    return (head + "Content-Transfer-Encoding: base64\n\n").encode() + base64.encodebytes(data)


def _multipart(subtype: str, boundary: str, parts: list[bytes]) -> bytes:
    head = f'Content-Type: multipart/{subtype}; boundary="{boundary}"\n\n'.encode()
    rows = [f"--{boundary}\n".encode() + part + b"\n" for part in parts]
    return head + b"".join(rows) + f"--{boundary}--\n".encode()
