"""One peer on one job, as a program of its own: run by the interpreter that has the peer installed.

    peer_programs.py decode NAME MAILDIR     parse every mail, take its texts; prints one JSON object
    peer_programs.py dequote NAME ROWS       cut every text of a JSON Lines file; prints one JSON object per row

Imports nothing of the project. `floor` is the standard library alone: what reading mail costs at the least.
"""

import io
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def floor() -> Callable[[bytes], int]:
    """The standard library with its lenient policy: walk every part, decode every text."""
    import email
    import email.policy

    def parse(raw: bytes) -> int:
        size = 0
        for part in email.message_from_bytes(raw, policy=email.policy.compat32).walk():
            if part.get_content_maintype() == "text":
                payload = part.get_payload(decode=True)
                data = payload if isinstance(payload, bytes) else b""
                try:
                    size += len(data.decode(part.get_content_charset() or "utf-8", "replace"))
                except LookupError:
                    size += len(data.decode("utf-8", "replace"))
        return size

    return parse


def mail_parser() -> Callable[[bytes], int]:
    """mail-parser: the whole object, its texts and attachments."""
    import mailparser

    def parse(raw: bytes) -> int:
        mail = mailparser.parse_from_bytes(raw)
        return sum(map(len, mail.text_plain)) + sum(map(len, mail.text_html)) + len(mail.attachments)

    return parse


def fast_mail_parser() -> Callable[[bytes], int]:
    """fast-mail-parser: texts and attachments, in Rust."""
    import fast_mail_parser as peer

    def parse(raw: bytes) -> int:
        mail = peer.parse_email(raw)
        return sum(map(len, mail.text_plain)) + sum(map(len, mail.text_html)) + len(mail.attachments)

    return parse


def unstructured() -> Callable[[bytes], int]:
    """unstructured's partition_email; the model that it would download is replaced by a rule for sentences."""
    import spacy

    def blank(*_: object, **__: object) -> Any:
        language = spacy.blank("en")
        language.add_pipe("sentencizer")
        return language

    spacy.load = blank
    from unstructured.partition.email import partition_email

    return lambda raw: sum(len(str(one)) for one in partition_email(file=io.BytesIO(raw)))


def docling() -> Callable[[bytes], int]:
    """docling's mail back end alone: one mail to one document."""
    from docling.backend.email_backend import EmailDocumentBackend
    from docling.datamodel.base_models import InputFormat
    from docling.datamodel.document import InputDocument

    def parse(raw: bytes) -> int:
        document = InputDocument(
            path_or_stream=io.BytesIO(raw),
            format=InputFormat.EMAIL,
            backend=EmailDocumentBackend,
            filename="mail.eml",
        )
        return len(document._backend.convert().export_to_text())

    return parse


def mail_parser_reply() -> Callable[[str], str]:
    """mail-parser-reply with every language it knows."""
    from mailparser_reply import EmailReplyParser
    from mailparser_reply.constants import MAIL_LANGUAGES

    parser = EmailReplyParser(languages=sorted(MAIL_LANGUAGES))
    return lambda text: parser.read(text).latest_reply or ""


def email_reply_parser() -> Callable[[str], str]:
    """email-reply-parser: the classic one."""
    from email_reply_parser import EmailReplyParser

    parse: Callable[[str], str] = EmailReplyParser.parse_reply
    return parse


def quotequail() -> Callable[[str], str]:
    """quotequail: the text above (or below) what it unwraps, else what it would show."""
    import quotequail as peer

    def cut(text: str) -> str:
        found = peer.unwrap(text)
        if found:
            return "\n".join(filter(None, (found.get("text_top"), found.get("text_bottom"))))
        return "\n".join(part for shown, part in peer.quote(text) if shown)

    return cut


def talon() -> Callable[[str], str]:
    """talon's quotations from plain text."""
    from talon import quotations

    cut: Callable[[str], str] = quotations.extract_from_plain
    return cut


DECODE: dict[str, Callable[[], Callable[[bytes], int]]] = {
    "floor": floor,
    "mail-parser": mail_parser,
    "fast-mail-parser": fast_mail_parser,
    "docling": docling,
    "unstructured": unstructured,
}
DEQUOTE: dict[str, Callable[[], Callable[[str], str]]] = {
    "mail-parser-reply": mail_parser_reply,
    "email-reply-parser": email_reply_parser,
    "quotequail": quotequail,
    "talon": talon,
}


def run_decode(name: str, maildir: str, limit: int) -> None:
    """Parse the mails and print counts and seconds (CPU and wall, imports left out)."""
    parse = DECODE[name]()
    paths = sorted(Path(maildir).glob("cur/*"))[:limit]
    parse(paths[0].read_bytes())
    failed: dict[str, int] = {}
    cpu, wall, size = time.process_time(), time.perf_counter(), 0
    for path in paths:
        try:
            size += parse(path.read_bytes())
        except Exception as error:  # noqa: BLE001 - what a peer raises is a figure
            failed[type(error).__name__] = failed.get(type(error).__name__, 0) + 1
    seconds = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    print(json.dumps({"mails": len(paths), **seconds, "characters": size, "failed": failed}))


def run_dequote(name: str, rows: str) -> None:
    """Print the clean text of each row, with milliseconds of CPU."""
    cut = DEQUOTE[name]()
    with open(rows, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            began = time.process_time()
            try:
                answer = {"clean": cut(row["text"])}
            except Exception as error:  # noqa: BLE001 - what a peer raises is a figure
                answer = {"clean": "", "failed": type(error).__name__}
            ms = (time.process_time() - began) * 1000
            print(json.dumps({"id": row["id"], "ms": ms, **answer}))


if __name__ == "__main__":
    os.environ["UNSTRUCTURED_DISABLE_NOTICE"] = os.environ["DO_NOT_TRACK"] = "1"
    os.environ["SCARF_NO_ANALYTICS"] = "true"
    if sys.argv[1] == "decode":
        run_decode(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        run_dequote(sys.argv[2], sys.argv[3])
