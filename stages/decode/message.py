"""From bytes to the Decoded record: the order in which the pieces of this stage are put together."""

from __future__ import annotations

import re

from models.base import content_hash
from models.errors import BadInput, ResourceLimit
from models.message import Address, Attachment, Category, Decoded, DeliveryReport, Flag, Nested, Repair
from stages.decode import ids
from stages.decode.addresses import first_address, parse_addresses
from stages.decode.body import Body, Selection, read_body, read_leaf, select_parts
from stages.decode.category import judge
from stages.decode.config import DecodePolicy
from stages.decode.dates import resolve_dates
from stages.decode.headers import Headers, read_headers
from stages.decode.html import sanitise
from stages.decode.invites import read_events
from stages.decode.language import identify
from stages.decode.part import Part
from stages.decode.reports import read_report
from stages.decode.sniff import sniff
from stages.decode.source import open_message
from stages.decode.tree import parse_tree
from stages.decode.words import decoded_text

_VIA = re.compile(r"\bvia\b|经由|經由|経由", re.IGNORECASE)


def decode_message(raw: bytes, policy: DecodePolicy) -> Decoded:
    """Return the decoded record of `raw`; errors as in `stages.decode.decode`."""
    data, repairs = open_message(raw, policy)
    root, mended = parse_tree(data, policy)
    repairs += mended
    headers = root.headers
    hint = charset_hint(root)
    selection = select_parts(root)
    _limit(selection, policy)
    body = read_body(selection, policy.max_html_chars)
    _limit(selection, policy)
    repairs += body.repairs
    dates = resolve_dates(headers)
    repairs += dates.repairs
    events = read_events(selection.calendars, repairs) if selection.calendars else []
    report = read_report(selection.machine, root)
    sender = first_address(headers.get("from"), hint)
    subject = decoded_text(headers.get("subject"), hint)
    reply_to = parse_addresses(headers.all("reply-to"), hint)
    verdict = judge(
        headers,
        sender=sender.email if sender else "",
        subject=subject,
        body=body.text,
        report=report,
        has_events=bool(events),
    )
    tongue = identify(body.text, body.charset)
    own_hash = content_hash(raw)
    message_id = ids.message_id(headers)
    encrypted = selection.encrypted or body.encrypted
    return Decoded(
        raw=own_hash,
        msg_id=message_id or own_hash,
        message_id=message_id,
        subject=subject,
        from_=sender,
        sender=first_address(headers.get("sender"), hint),
        reply_to=reply_to,
        to=parse_addresses(headers.all("to"), hint),
        cc=parse_addresses(headers.all("cc"), hint),
        sent_at=dates.sent_at,
        received_at=dates.received_at,
        received_count=dates.received_count,
        date_method=dates.method,
        in_reply_to=ids.replied_id(headers),
        references=ids.reference_ids(headers),
        thread_index=headers.ascii("thread-index").replace(" ", "") or None,
        thread_topic=decoded_text(headers.get("thread-topic"), hint) or None,
        list_id=ids.bare_list_id(headers),
        original_from=_original_from(headers, sender, reply_to, hint),
        body_text=body.text,
        body_html=_html_of(selection, policy),
        quote_marks=body.marks,
        language=tongue.language,
        languages=tongue.languages,
        language_method=tongue.method,
        replaced_share=replaced_share(body.text),
        attachments=describe_attachments(selection),
        calendar=events,
        nested=[describe_nested(part, policy) for part in selection.nested],
        category=verdict.category,
        category_reasons=verdict.reasons,
        skip_reason=_skip_reason(verdict.category, report, encrypted=encrypted),
        auto_reply=verdict.auto_reply,
        report=report,
        signed=selection.signed or body.signed,
        encrypted=encrypted,
        ambiguities=dates.ambiguities,
        flags=[Flag(kind="hidden_text", evidence=body.hidden)] if body.hidden else [],
        repairs=_each_once(repairs),
    )


def _limit(selection: Selection, policy: DecodePolicy) -> None:
    if len(selection.attached) > policy.max_attachments:
        raise ResourceLimit(
            f"{len(selection.attached)} attachments, the limit is {policy.max_attachments}",
            stage="decode",
            remedy="raise email.max_attachments and retry it from quarantine",
        )


def header_dates(raw: bytes, policy: DecodePolicy) -> tuple[str | None, str | None]:
    """Return Date and earliest Received of `raw`, without its body (see `stages.decode.read_dates`)."""
    try:
        data, _ = open_message(raw, policy)
    except BadInput:
        return None, None
    headers, _, _ = read_headers(data, 0, len(data), policy.max_header_chars, lenient=True)
    dates = resolve_dates(headers)
    return dates.sent_at, dates.received_at


def charset_hint(root: Part) -> str | None:
    """Return the charset label of the first labelled leaf: what 8-bit headers are most likely written in."""
    return next((leaf.params["charset"] for leaf in root.leaves() if leaf.params.get("charset")), None)


def replaced_share(text: str) -> float:
    """Return the share of the non-ASCII characters that are replacements (U+FFFD)."""
    bad = text.count("\ufffd")
    if not bad:
        return 0.0
    return round(bad / sum(1 for c in text if c > "\x7f"), 4)


def describe_attachments(selection: Selection) -> list[Attachment]:
    """Return what is not the body, in document order."""
    return [_describe(part, shown) for part, shown in selection.attached]


def _describe(part: Part, shown: bool) -> Attachment:
    data = part.payload()
    return Attachment(
        filename=part.filename,
        mime=part.mime,
        size=len(data),
        hash=content_hash(data),
        disposition=part.disposition,
        content_id=part.content_id,
        inline=shown,
        sniffed=sniff(data),
        original_filename=part.original_filename,
    )


def describe_nested(part: Part, policy: DecodePolicy) -> Nested:
    """Return a message inside the message; messages inside it are listed among its attachments."""
    root = part.children[0]
    hint = charset_hint(root)
    selection = select_parts(root)
    body: Body = read_body(selection, policy.max_html_chars)
    return Nested(
        msg_id=ids.message_id(root.headers),
        subject=decoded_text(root.headers.get("subject"), hint),
        from_=first_address(root.headers.get("from"), hint),
        body_text=body.text,
        attachments=describe_attachments(selection),
    )


def _html_of(selection: Selection, policy: DecodePolicy) -> str | None:
    if not policy.body_html:
        return None
    part = selection.html or next((leaf for leaf in selection.body if leaf.mime == "text/html"), None)
    return None if part is None else sanitise(read_leaf(part).text[: policy.max_html_chars])


def _original_from(
    headers: Headers, sender: Address | None, reply_to: list[Address], hint: str | None
) -> Address | None:
    """Return who wrote a message that a list re-sent under its own address."""
    original = first_address(headers.get("x-original-from"), hint)
    if original is not None and original.email:
        return None if sender is not None and sender.email == original.email else original
    if sender is None or not _VIA.search(sender.name) or len(reply_to) != 1:
        return None
    if "list-id" not in headers and "list-post" not in headers:
        return None
    other = reply_to[0]
    if other.email == sender.email:
        return None
    name = other.name or _VIA.split(sender.name)[0].strip(" '\"")
    return Address(name=name, email=other.email)


def _skip_reason(category: Category, report: DeliveryReport | None, *, encrypted: bool) -> str | None:
    if report is not None:
        return {"dsn": "delivery_report", "mdn": "read_receipt", "arf": "abuse_report"}.get(
            report.kind, "report"
        )
    if category in {"newsletter", "auto_reply", "bounce", "notification"}:
        return category
    return "encrypted" if encrypted else None


def _each_once(repairs: list[Repair]) -> list[Repair]:
    seen: dict[tuple[str, str], Repair] = {}
    for repair in repairs:
        seen.setdefault((repair.kind, repair.detail), repair)
    return list(seen.values())
