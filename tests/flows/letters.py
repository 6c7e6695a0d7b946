"""A small office correspondence, written by hand: the corpus of the end-to-end tests."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

from models.base import content_hash

ANN = "Ann Vale <ann@us.example>"
ROY = "Roy Hart <roy@us.example>"
MEI = "陈美 <mei@us.example>"
BO = "Bo Lind <bo@northwind.example>"
PIA = "Pia Norr <pia@northwind.example>"
KEN = "佐藤健 <ken@tokiwa.example>"


def letter(
    id: str | None,
    date: str | None,
    sender: str | None,
    to: str,
    subject: str,
    body: str,
    *,
    after: str | None = None,
    refs: str | None = None,
    more: Mapping[str, str] | None = None,
) -> bytes:
    """Return a plain text mail in UTF-8; None leaves a header out, `after` is the id of the parent."""
    headers = {
        "Message-ID": f"<{id}>" if id else None,
        "Date": date,
        "From": sender,
        "To": to,
        "Subject": subject,
        "In-Reply-To": f"<{after}>" if after else None,
        "References": " ".join(f"<{ref}>" for ref in (refs or after or "").split()) or None,
        "MIME-Version": "1.0",
        "Content-Type": 'text/plain; charset="utf-8"',
        "Content-Transfer-Encoding": "8bit",
        **(more or {}),
    }
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return ("\n".join(lines) + "\n\n" + body.strip("\n") + "\n").encode()


def with_attachments(letter: bytes, *files: tuple[str, bytes]) -> bytes:
    """Return `letter` as multipart/mixed with `files` behind its text."""
    head, _, body = letter.decode().partition("\n\n")
    kept = [line for line in head.splitlines() if not line.startswith(("Content-", "MIME-Version"))]
    kept += ["MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="=_cut"']
    parts = [f'--=_cut\nContent-Type: text/plain; charset="utf-8"\nContent-Transfer-Encoding: 8bit\n\n{body}']
    for name, data in files:
        parts.append(
            f'--=_cut\nContent-Type: application/octet-stream; name="{name}"\n'
            f'Content-Disposition: attachment; filename="{name}"\n'
            f"Content-Transfer-Encoding: base64\n\n{base64.b64encode(data).decode()}\n"
        )
    return ("\n".join(kept) + "\n\n" + "".join(parts) + "--=_cut--\n").encode()


OFFER_1 = letter(
    "offer-1@northwind.example",
    "Mon, 02 Mar 2026 09:10:00 +0100",
    BO,
    ANN,
    "Kestrel pilot",
    """
Hello Ann,

we would like to start the Kestrel pilot on 16 March 2026 with ten desks. Could you send
an offer? Our limit is EUR 12,500.

Best regards
Bo Lind
""",
)
OFFER_2 = letter(
    "offer-2@us.example",
    "Mon, 02 Mar 2026 14:02:00 +0100",
    ANN,
    BO,
    "Re: Kestrel pilot",
    """
Bo,

gladly. Ten desks are EUR 11,800; the offer is attached in the next mail.

Ann

On Mon, 2 Mar 2026 at 09:10, Bo Lind <bo@northwind.example> wrote:
> we would like to start the Kestrel pilot on 16 March 2026 with ten desks. Could you send
> an offer? Our limit is EUR 12,500.
""",
    after="offer-1@northwind.example",
    more={"Cc": ROY},
)
OFFER_3 = letter(
    "offer-3@northwind.example",
    "Tue, 03 Mar 2026 08:30:00 +0100",
    PIA,
    ANN,
    "Re: Kestrel pilot",
    """
Dear Ann,

we accept. Please send the contract by Friday, I sign for Bo this week.

Pia

On Mon, 2 Mar 2026 at 14:02, Ann Vale <ann@us.example> wrote:
> gladly. Ten desks are EUR 11,800; the offer is attached in the next mail.
""",
    after="offer-2@us.example",
    refs="offer-1@northwind.example offer-2@us.example",
    more={"Cc": BO},
)
OFFER_4 = letter(
    "offer-4@us.example",
    "Wed, 04 Mar 2026 10:00:00 +0100",
    ROY,
    PIA,
    "Re: Kestrel pilot",
    "Dear Pia,\n\nthe contract is on its way. Start is 16 March 2026.\n\nRoy",
    after="offer-3@northwind.example",
    refs="offer-1@northwind.example offer-2@us.example offer-3@northwind.example",
    more={"Cc": f"{ANN}, {BO}"},
)
BILL_1 = letter(
    "bill-1@us.example",
    "Thu, 05 Mar 2026 09:00:00 +0800",
    MEI,
    KEN,
    "三月账单",
    "佐藤先生，您好：\n\n附上三月账单，金额人民币 8,600 元，请于 3 月 20 日前付款。\n\n陈美",
)
BILL_2 = letter(
    "bill-2@tokiwa.example",
    "Fri, 06 Mar 2026 10:20:00 +0900",
    KEN,
    MEI,
    "回复：三月账单",
    "陈美，您好：\n\n账单已收到，下周付款。\n\n佐藤健",
)
BILL_3 = letter(
    "bill-3@us.example",
    "Mon, 09 Mar 2026 16:40:00 +0800",
    MEI,
    KEN,
    "Re: 三月账单",
    "佐藤先生：\n\n请问款项什么时候能到账？已经催了两次。\n\n陈美",
    after="bill-2@tokiwa.example",
)
TALK = letter(
    "talk-1@tokiwa.example",
    "Tue, 10 Mar 2026 11:00:00 +0900",
    KEN,
    ANN,
    "打ち合わせのお願い",
    "アン様\n\nお世話になっております。3月18日に打ち合わせをお願いできますでしょうか。\n\n佐藤健",
)
PLAN = with_attachments(
    letter(
        "plan-1@us.example",
        "Wed, 11 Mar 2026 09:00:00 +0100",
        ANN,
        ROY,
        "Floor plan",
        "Roy,\n\nthe plan for the Kestrel desks is attached.\n\nAnn",
    ),
    ("plan.txt", b"ten desks, two rows\n"),
    ("sketch.bin", bytes(range(200))),
)
LUNCH = letter(
    "lunch-1@us.example",
    "Thu, 12 Mar 2026 11:30:00 +0100",
    "Roy Hart <roy.hart@mailbox.example>",
    ANN,
    "Lunch?",
    "Noodles at twelve? I write from my own account.\n\nRoy",
)
NEWS = letter(
    "news-7@paperweek.example",
    "Fri, 13 Mar 2026 06:00:00 +0000",
    "Paper Week <news@paperweek.example>",
    ANN,
    "Paper Week 7: board prices",
    "Board prices rose by two percent.\n\nUnsubscribe: https://paperweek.example/u",
    more={
        "List-Unsubscribe": "<https://paperweek.example/u>",
        "List-Id": "Paper Week <news.paperweek.example>",
    },
)
NOTE = letter(None, "Sat, 14 Mar 2026 10:00:00 +0100", ROY, ANN, "Key", "The spare key is in the drawer.")

OFFICE: dict[str, bytes] = {
    "inbox/01-offer.eml": OFFER_1,
    "sent/02-offer.eml": OFFER_2,
    "inbox/03-offer.eml": OFFER_3,
    "inbox/04-offer.eml": OFFER_4,
    "sent/05-bill.eml": BILL_1,
    "inbox/06-bill.eml": BILL_2,
    "sent/07-bill.eml": BILL_3,
    "inbox/08-talk.eml": TALK,
    "sent/09-plan.eml": PLAN,
    "inbox/10-lunch.eml": LUNCH,
    "inbox/11-news.eml": NEWS,
    "inbox/12-note.eml": NOTE,
    "archive/03-offer-again.eml": OFFER_3,
}
"""Thirteen files, twelve messages, seven threads (one with a guessed link), one mail in two folders."""


def post(folder: Path, letters: Mapping[str, bytes]) -> Path:
    """Put letters into `folder` (sub-folders too) and return it."""
    for name, data in letters.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def hash_of(letter: bytes) -> str:
    """Return the raw hash under which the product knows `letter`."""
    return content_hash(letter)
