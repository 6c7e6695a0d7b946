"""The index row of one message: what other messages need to know of it."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from itertools import pairwise

from models.base import content_hash, digest, pack, shift_key, utc_key
from models.message import Address, Decoded, Dequoted
from models.subjects import Subject, former_key, read_subject, subject_key
from models.thread import Node
from stages.thread.config import ThreadPolicy
from stages.thread.lines import said_and_quoted
from stages.thread.manual import apply_manual

_WORD = re.compile(r"[^\W\d_]{2,20}")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_TRANSPORT = frozenset({"list_footer", "banner", "disclaimer"})
_QUOTES = frozenset({"attribution", "quote", "forward_header", "forward_body"})
_DRAWN = dict.fromkeys(map(ord, "-_=*~"))  # lines that a list draws above its footer, delimiters
_MAX_CHAIN = 40  # ids that one chain of answers plausibly names
_MAX_TOKENS = 64
_MAX_GROUPS = 4
_OLDEST = "1980"
_PART = re.compile(r"\d{1,4}/\d{1,4}[\]】]")
_SENDING = re.compile(r"(\d{14}\.\d{1,9})-\d{1,5}-(\S{3,100})$")  # git send-email: time.process-part-address


def make_node(message: Decoded, dequoted: Dequoted, policy: ThreadPolicy) -> Node:
    """Return the index row of a message: a function of the message and of what was joined or split by hand."""
    subject = read_subject(message.subject)
    key, former = subject_key(message.subject), former_key(message.subject)
    author = message.original_from or message.from_
    parties = [author, message.from_, message.sender, *message.to, *message.cc, *message.reply_to]
    people = {party.email for party in parties if party and party.email}
    addresses = {email.casefold() for email in people}
    refs, parent = _named(message, addresses)
    answered = any(segment.kind in _QUOTES for segment in dequoted.segments)
    said, quoted = said_and_quoted(dequoted)
    identity = identity_of(message, dequoted)
    node = Node(
        raw=message.raw,
        msg_id=message.msg_id,
        identity=identity,
        content_hash=content_hash_of(message),
        date=effective_date(message.sent_at, message.received_at),
        received=message.received_at,
        received_count=message.received_count,
        own_ids=[message.msg_id],
        nameless=message.message_id is None,
        twin_key=_twin_key(message, author, identity),
        refs=refs,
        parent_ref=parent,
        group_keys=_group_keys(message),
        subject=subject.text,
        subject_key=key,
        people=sorted(people),
        sender=author.email if author else "",
        list_key=message.list_id.casefold() if message.list_id else subject.list_tag,
        reply_sign=subject.continues or answered or former is not None,
        begins_subject=not subject.continues,
        former=former or "",
        forward=_passes_on(subject, dequoted),
        joins_by_subject=message.category in ("conversation", "calendar") and not message.auto_reply,
        tokens=_sample(dequoted.clean),
        said=said,
        quoted=quoted,
    )
    apply_manual(node, policy.manual)
    return node


def _named(message: Decoded, addresses: set[str]) -> tuple[list[str], str | None]:
    """Return the ids that a message continues, oldest first, and the one that In-Reply-To names.

    A list longer than a chain of answers plausibly is (a digest, a broken client) would weld strangers: only
    its direct parent counts then, and so it is for mail that no person wrote as an answer.
    """
    named = dict.fromkeys(ref for ref in message.references if _is_foreign_id(ref, message, addresses))
    refs = list(named)
    parent = message.in_reply_to
    if parent is not None and not _is_foreign_id(parent, message, addresses):
        parent = None
    if len(refs) > _MAX_CHAIN:
        refs = [parent or refs[-1]]
    if parent is not None and parent not in refs:
        refs.append(parent)
    return refs, parent


def _passes_on(subject: Subject, dequoted: Dequoted) -> bool:
    """Return whether a message is a forward: by the outermost mark of its subject, else by its text."""
    if subject.marks:
        return subject.marks[0] == "forward"
    return dequoted.is_forward


def _twin_key(message: Decoded, author: Address | None, identity: str) -> str:
    """Return what copies of one message share, however altered, and others under its id do not: author and Date.

    It sorts by date. Without a Date it is the identity: equal identities give equal keys in any case.
    """
    sent = utc_key(message.sent_at)
    if sent is None:
        return f"twin:~ {identity}"
    return f"twin:{sent} {digest(message.msg_id, author.email.casefold() if author else '')}"


def _is_foreign_id(found: str, message: Decoded, addresses: set[str]) -> bool:
    """Return whether `found` names another message: neither this one, nor somebody's mail address."""
    return bool(found) and found != message.msg_id and found.casefold() not in addresses


def effective_date(sent: str | None, received: str | None) -> str | None:
    """Return the time that orders a message, as a sortable UTC time: Date, unless it is absurd.

    A Date before 1980 or more than a day after the earliest Received is a broken clock; Received counts then.
    """
    sent_key, received_key = utc_key(sent), utc_key(received)
    if sent_key is None or received_key is None:
        return sent_key or received_key
    if sent_key < _OLDEST or sent_key > shift_key(received_key, 24):
        return received_key
    return sent_key


def identity_of(message: Decoded, dequoted: Dequoted) -> str:
    """Return the digest that copies of one message share: From, Date and text.

    What lists and gateways add to the text does not count, nor do white space, drawn lines and a sender that
    a list put in place of the author.
    """
    if any(segment.kind in _TRANSPORT for segment in dequoted.segments):
        text = "".join(dequoted.text[s.start : s.end] for s in dequoted.segments if s.kind not in _TRANSPORT)
    else:
        text = message.body_text
    author = message.original_from or message.from_
    return digest(
        author.email.casefold() if author else "",
        utc_key(message.sent_at),
        "".join(text.split()).translate(_DRAWN),
    )


def content_hash_of(message: Decoded) -> str:
    """Return the hash of what makes two copies equal: From, Date, Subject, body text, attachments (CONTRACTS §1)."""
    sender = message.from_.email if message.from_ else ""
    attached = [attachment.hash for attachment in message.attachments]
    parts = (sender, utc_key(message.sent_at), message.subject, message.body_text, attached)
    return content_hash(pack(parts))


def _group_keys(message: Decoded) -> list[str]:
    """Return what a client shares within one conversation: Outlook's with its topic, an event's UID."""
    found = [
        f"event:{event.uid}" for event in message.calendar if event.uid and message.category == "calendar"
    ]
    if conversation := _outlook_conversation(message):
        found.append(conversation)
    if _PART.search(message.subject) and (run := _SENDING.match(message.message_id or "")):
        found.append(f"series:{run[1]}:{run[2]}")
    return sorted(set(found))[:_MAX_GROUPS]


def _outlook_conversation(message: Decoded) -> str | None:
    """Return the Outlook conversation with its topic: the 22 bytes of Thread-Index that begin one
    (MS-OXOMSG §2.2.1.3); replies add to them."""
    if not message.thread_index or not message.thread_topic:
        return None
    try:
        start = base64.b64decode("".join(message.thread_index.split())[:32] + "===", validate=False)[:22]
    except (binascii.Error, ValueError):
        return None
    if len(start) < 22:
        return None
    return f"thread-index:{start.hex()}:{subject_key(message.thread_topic)}"


def _sample(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text[:500]).casefold()
    words = set(_WORD.findall(folded))
    characters = _CJK.findall(folded)
    words.update(a + b for a, b in pairwise(characters))
    return sorted(words)[:_MAX_TOKENS]
