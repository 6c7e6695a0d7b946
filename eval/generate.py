"""A made-up mail corpus: conversations in three languages, with the oddities of real mailboxes.

Everything follows from the seed: two calls with the same arguments write the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import quopri
import random
import tomllib
from datetime import UTC, datetime, timedelta, timezone
from email.header import Header
from email.utils import format_datetime, formataddr
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from models.base import Record

FIRST_DAY = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
OFFSETS = (8, 9, 0, -5)
LIST_FOOTER = "\n" + "_" * 47 + "\nproject mailing list\nproject@lists.us.example\n"
REPLY_PREFIX = {"zh": ("Re: ", "回复：", "答复: "), "en": ("Re: ", "RE: "), "ja": ("Re: ", "返信: ")}


class Shape(Record):
    """How often each oddity occurs, as shares of all messages; `accounts` share `overlap` of the mail."""

    accounts: list[str] = msgspec.field(default_factory=lambda: ["alice", "bob"])
    overlap: float = 0.3
    replies: float = 0.65
    no_references: float = 0.15
    absent_parents: float = 0.03
    recurring: float = 0.06
    html: float = 0.3
    quotes: float = 0.6
    attachments: float = 0.15
    same_second: float = 0.03
    no_id: float = 0.01
    reused_id: float = 0.01
    undated: float = 0.005
    empty: float = 0.005


class Written(Record):
    """One file of the corpus and what is in it; `thread` and `parent` number conversations and messages."""

    account: str
    path: str
    number: int
    msg_id: str | None
    thread: int
    parent: int | None
    traits: list[str]


class Mail(Record):
    """One message before it is written."""

    number: int
    thread: int
    parent: int | None
    language: str
    sender: tuple[str, str]
    to: list[tuple[str, str]]
    date: datetime
    subject: str
    msg_id: str | None
    references: list[str]
    text: str
    html: bool
    attachment: bytes | None
    traits: list[str]


def generate(count: int, seed: int, out_dir: Path, shape: Shape | None = None) -> list[Written]:
    """Write `count` different messages under `out_dir/<account>/<folder>/` and return one row per file.

    Messages that several accounts hold are written to each, with other Received lines and sometimes another
    transfer encoding. Names are numbered at random, so parents often arrive after their replies.
    """
    shape = shape or Shape()
    chance = random.Random(seed)
    mails = _Writer(chance, shape).mails(count)
    names = list(range(2 * count * len(shape.accounts)))
    chance.shuffle(names)
    rows: list[Written] = []
    for mail in mails:
        everyone = len(shape.accounts) > 1 and chance.random() < shape.overlap
        owners = shape.accounts if everyone else [chance.choice(shape.accounts)]
        for copy, account in enumerate(owners):
            folder = "sent" if mail.sender[1].endswith("@us.example") else "inbox"
            path = f"{account}/{folder}/{names.pop():05}.eml"
            data = b"" if "empty" in mail.traits else render(mail, account, copy, chance)
            (out_dir / path).parent.mkdir(parents=True, exist_ok=True)
            (out_dir / path).write_bytes(data)
            traits = [*mail.traits, "copy"] if copy else mail.traits
            rows.append(
                Written(
                    account=account,
                    path=path,
                    number=mail.number,
                    msg_id=mail.msg_id,
                    thread=mail.thread,
                    parent=mail.parent,
                    traits=traits,
                )
            )
    return rows


class _Writer:
    """Makes messages up, one conversation after another in time."""

    def __init__(self, chance: random.Random, shape: Shape) -> None:
        self.chance, self.shape = chance, shape
        self.stock: dict[str, Any] = tomllib.loads(
            (resources.files("eval") / "generate.toml").read_text("utf-8")
        )
        self.people = [tuple(row) for kind in ("internal", "external") for row in self.stock["people"][kind]]
        self.now = FIRST_DAY
        self.threads = 0

    def mails(self, count: int) -> list[Mail]:
        made: list[Mail] = []
        for number in range(count):
            if not self._is(self.shape.same_second):
                self.now += timedelta(seconds=self.chance.randint(40, 9000))
            roots = [mail for mail in made[-60:] if "recurring" not in mail.traits]
            parent = self.chance.choice(roots) if roots and self._is(self.shape.replies) else None
            made.append(self._reply(number, parent) if parent else self._root(number))
            if made[-1].msg_id and made[:-1] and self._is(self.shape.reused_id):
                made[-1].msg_id = self.chance.choice(made[:-1]).msg_id or made[-1].msg_id
                made[-1].traits.append("reused-id")
        # A message that nobody holds leaves its replies with a reference to nothing.
        gone = {mail.number for mail in made if self._is(self.shape.absent_parents)}
        return [mail for mail in made if mail.number not in gone] + [
            self._root(count + place) for place in range(len(gone))
        ]

    def _is(self, share: float) -> bool:
        return self.chance.random() < share

    def _root(self, number: int) -> Mail:
        self.threads += 1
        language = self.chance.choice(("zh", "en", "ja"))
        common = self.stock["common"]
        traits = ["recurring"] if self._is(self.shape.recurring) else []
        subject = self.chance.choice(common["recurring"] if traits else self.stock[language]["subjects"])
        sender, *to = self.chance.sample(self.people, self.chance.randint(2, 4))
        return self._mail(number, None, language, sender, to, self._fill(subject), [], traits)

    def _reply(self, number: int, parent: Mail) -> Mail:
        sender = self.chance.choice(parent.to)
        to = [parent.sender, *(person for person in parent.to if person != sender)]
        language = parent.language if self._is(0.85) else self.chance.choice(("zh", "en", "ja"))
        subject = parent.subject
        if not subject.startswith(REPLY_PREFIX[language]):
            subject = self.chance.choice(REPLY_PREFIX[language]) + subject
        traits = ["no-references"] if self._is(self.shape.no_references) else []
        own = [parent.msg_id] if parent.msg_id else []
        references = [] if traits else parent.references + own
        return self._mail(number, parent, language, sender, to, subject, references, traits)

    def _mail(
        self,
        number: int,
        parent: Mail | None,
        language: str,
        sender: tuple[str, str],
        to: list[tuple[str, str]],
        subject: str,
        references: list[str],
        traits: list[str],
    ) -> Mail:
        shape = self.shape
        for trait, share in (("no-id", shape.no_id), ("undated", shape.undated), ("empty", shape.empty)):
            if self._is(share):
                traits.append(trait)
        domain = sender[1].partition("@")[2]
        mail = Mail(
            number=number,
            thread=parent.thread if parent else self.threads,
            parent=parent.number if parent else None,
            language=language,
            sender=sender,
            to=to,
            date=self.now.astimezone(timezone(timedelta(hours=self.chance.choice(OFFSETS)))),
            subject=subject,
            msg_id=None if "no-id" in traits else f"{number}.{self.chance.getrandbits(48):012x}@{domain}",
            references=references,
            text=self._body(language, sender),
            html=self._is(shape.html),
            attachment=self.chance.randbytes(900) if self._is(shape.attachments) else None,
            traits=traits,
        )
        if parent and self._is(shape.quotes):
            mail.text += self._quote(language, parent)
        return mail

    def _body(self, language: str, sender: tuple[str, str]) -> str:
        words = self.stock[language]
        said = [
            self._fill(text) for text in self.chance.sample(words["sentences"], self.chance.randint(1, 5))
        ]
        end = f"{self.chance.choice(words['closings'])}\n{sender[0] or sender[1]}\n"
        return f"{self.chance.choice(words['greetings'])}\n\n" + "\n".join(said) + f"\n\n{end}"

    def _fill(self, text: str) -> str:
        day = self.now + timedelta(days=self.chance.randint(1, 30))
        return text.format(
            project=self.chance.choice(self.stock["common"]["projects"]),
            amount=f"{self.chance.randint(1, 900) * 1000:,}",
            date=self.chance.choice((f"{day:%Y-%m-%d}", f"{day.month}月{day.day}日", f"{day:%d %B}")),
        )

    def _quote(self, language: str, parent: Mail) -> str:
        words = self.stock[language]
        name, email = parent.sender
        when = f"{parent.date:%Y-%m-%d %H:%M}"
        kind = self.chance.choice(("marked", "marked", "block", "forward"))
        if kind == "marked":
            head = words["attribution"].format(name=name or email, email=email, date=when)
            return f"\n{head}\n" + "".join(f"> {line}\n" for line in parent.text.splitlines()[:60])
        values = (f"{name} <{email}>", when, parent.to[0][1], parent.subject)
        rows = "\n".join(f"{key}: {value}" for key, value in zip(words["block"], values, strict=True))
        rule = words["forward"] if kind == "forward" else "_" * 32
        return f"\n{rule}\n{rows}\n\n{parent.text[:4000]}"


def render(mail: Mail, account: str, copy: int, chance: random.Random) -> bytes:
    """Return the bytes of a message as `account` received it; later copies came a longer way."""
    lines: list[str] = []
    arrived = mail.date.astimezone(UTC) + timedelta(seconds=20 + 5 * copy)
    for hop in range(copy + 1) if "undated" not in mail.traits else ():
        moment = arrived + timedelta(seconds=copy - hop)
        by = f"mx{hop}.{account}.example"
        lines.append(f"Received: from relay.example by {by} with ESMTPS;\n {format_datetime(moment)}")
    if mail.msg_id:
        lines.append(f"Message-ID: <{mail.msg_id}>")
    if "undated" not in mail.traits:
        lines.append(f"Date: {format_datetime(mail.date)}")
    lines.append(f"From: {formataddr(mail.sender)}")
    lines.append("To: " + ",\n ".join(formataddr(person) for person in mail.to))
    lines.append("Subject: " + Header(mail.subject, "utf-8", header_name="Subject").encode())
    if mail.references:
        lines.append(f"In-Reply-To: <{mail.references[-1]}>")
        lines.append("References: " + "\n ".join(f"<{one}>" for one in mail.references[-20:]))
    lines.append("MIME-Version: 1.0")
    text = mail.text + (LIST_FOOTER if copy and chance.random() < 0.1 else "")
    body = _entity(mail, text, base64_text=bool(copy) and chance.random() < 0.5)
    data = ("\n".join(lines) + "\n").encode() + body
    return data.replace(b"\n", b"\r\n") if mail.number % 3 == 0 else data


def _entity(mail: Mail, text: str, base64_text: bool) -> bytes:
    mark = f"{mail.number:06}"
    body = _text("plain", text, base64_text)
    if mail.html:
        inner = "".join(f"<div>{escape(line, quote=False) or '<br>'}</div>\n" for line in text.splitlines())
        html = _text("html", f"<html><body>\n{inner}</body></html>\n", base64_text)
        body = _multipart("alternative", f"alt{mark}", [body, html])
    if mail.attachment is not None:
        head = f'Content-Type: application/pdf; name="offer-{mark}.pdf"\nContent-Disposition: attachment;\n'
        head += f' filename="offer-{mark}.pdf"\nContent-Transfer-Encoding: base64\n\n'
        body = _multipart("mixed", f"mix{mark}", [body, head.encode() + base64.encodebytes(mail.attachment)])
    return body


def _text(subtype: str, text: str, base64_text: bool) -> bytes:
    head = f"Content-Type: text/{subtype}; charset=utf-8\nContent-Transfer-Encoding: "
    if base64_text:
        return head.encode() + b"base64\n\n" + base64.encodebytes(text.encode())
    return head.encode() + b"quoted-printable\n\n" + quopri.encodestring(text.encode())


def _multipart(subtype: str, boundary: str, parts: list[bytes]) -> bytes:
    head = f'Content-Type: multipart/{subtype}; boundary="{boundary}"\n\n'.encode()
    rows = [f"--{boundary}\n".encode() + part + b"\n" for part in parts]
    return head + b"".join(rows) + f"--{boundary}--\n".encode()


def main() -> None:
    """Write a corpus from the command line and print how many files it has."""
    parser = argparse.ArgumentParser(prog="python -m eval.generate", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    wish = parser.parse_args()
    rows = generate(wish.count, wish.seed, wish.out)
    print(f"{len(rows)} files of {wish.count} messages in {wish.out}")


if __name__ == "__main__":
    main()
