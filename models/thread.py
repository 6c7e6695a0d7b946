"""What the thread stage keeps of a message, and what it says of a conversation."""

from __future__ import annotations

from typing import Literal

from models.base import Record, digest

Method = Literal[
    "root",
    "references",
    "in_reply_to",
    "thread_index",
    "provider",
    "subject",
    "quote",
    "similarity",
    "manual",
]
GUESSES = frozenset({"subject", "quote", "similarity"})


class Node(Record):
    """The thread index's row of one raw message: a pure function of the message alone.

    `date` is a sortable UTC time (None: no evidence); `identity` is equal for copies of one message that
    differ only in transport; `refs` is what it points to, oldest first, the direct parent last; `parent_ref`
    the one that In-Reply-To names; `group_keys` what a client, server or calendar shares within one
    conversation; `twin_key` what copies of one message share, however many others carry their id. `nameless` is
    a message without a Message-ID. `list_key` names the list that the message went through; `forward` says that
    it passes another one on, `begins_subject` that no mark stands before its subject, `former` is the key of the
    subject that it had before. `tokens` is a small sorted sample of the clean text's words for tie-breaks, `said`
    and `quoted` are digests of lines and sentences that the sender wrote and quoted.
    """

    raw: str
    msg_id: str
    identity: str
    content_hash: str
    date: str | None = None
    received: str | None = None
    received_count: int = 0
    own_ids: list[str] = []
    nameless: bool = False
    twin_key: str = ""
    refs: list[str] = []
    parent_ref: str | None = None
    group_keys: list[str] = []
    subject: str = ""
    subject_key: str = ""
    people: list[str] = []
    sender: str = ""
    list_key: str | None = None
    reply_sign: bool = False
    begins_subject: bool = True
    former: str = ""
    forward: bool = False
    joins_by_subject: bool = True
    tokens: list[str] = []
    said: list[int] = []
    quoted: list[int] = []


def hard_keys(node: Node) -> list[str]:
    """Return what joins a message to others for certain: its own ids, the ids it names, its groups.

    An id that unlike messages carry joins nothing (`ThreadIndex.reused`); what it joined, `twin_key` does.
    """
    twin = [node.twin_key] if node.twin_key else []
    return list(dict.fromkeys([*node.own_ids, *node.refs, *node.group_keys, *twin]))


def bucket_key(node: Node) -> str:
    """Return the key of the mail among which a guess by subject looks; "" where the message takes no part."""
    if not node.joins_by_subject or node.date is None:
        return ""
    return node.subject_key or "(none)"


def is_seeking(node: Node) -> bool:
    """Return whether `node` is a reply that a guess by its subject may place, if none of what it names is here."""
    return node.reply_sign and is_loose(node)


def is_loose(node: Node) -> bool:
    """Return whether a guess of any kind may place `node`: a reply, or a mail that repeats what another said."""
    return not node.group_keys and bucket_key(node) != ""


_SAID = 8  # digests of one message that other subjects are searched by
_REPEATED = 12  # of the text of a mail that shows no sign of a reply, but may hold an old one unmarked


def piece_of(kind: str, *values: str) -> int:
    """Return the digest (48 bits) of something that stands beside the lines of messages: a subject, an id."""
    return int(digest(kind, *values)[:12], 16)


def said_index(node: Node) -> list[int]:
    """Return the digests under which a reply finds `node` from any subject: the smallest of what it says, its
    subject where it begins one, its id with its subject."""
    if node.date is None:
        return []
    found = [*node.said[:_SAID], piece_of("id", node.msg_id, node.subject_key)]
    if node.subject_key and node.begins_subject:
        found.append(piece_of("subject", node.subject_key))
    return sorted(set(found))


def node_number(raw: str) -> int:
    """Return the short number (56 bits) of a node: it breaks ties where lines are looked up."""
    return int(raw[-14:], 16)


def quoted_index(node: Node) -> list[int]:
    """Return the digests that a late author of theirs finds `node` by: what it quotes or repeats, the subject that
    it had; where it names ids, the last one with its subject, in case that unlike messages carry the id."""
    if not is_loose(node):
        return []
    if node.refs:
        return [named_piece(node)]
    found = node.quoted if node.reply_sign else node.said[:_REPEATED]
    return sorted({*found, piece_of("subject", node.former)}) if node.former else found


def named_piece(node: Node) -> int:
    """Return the digest of the id that `node` answers, with its subject."""
    return piece_of("id", node.parent_ref or node.refs[-1], node.subject_key)


class SoftEdge(Record):
    """A guess that `child` continues `parent` (raw hashes): replaceable, chosen from the stored set alone."""

    child: str
    parent: str
    tier: Method
    score: float
    reason: str = ""


class Link(Record):
    """How one member hangs in its thread; `parent` is a record key (msg_id), None for a root."""

    key: str
    parent: str | None = None
    method: Method = "root"
    score: float = 1.0
    reason: str = ""
    subject_changed: bool = False


class ThreadMember(Record):
    """One row of `threads/<thread_id>.json`."""

    msg_id: str
    date: str | None
    sender: str
    subject: str
    path: str
    parent: str | None
    method: Method
    score: float
    reason: str
    guess: bool


class ThreadFile(Record):
    """`threads/<thread_id>.json`: members in order, how each hangs, participants, first and last date."""

    thread_id: str
    subject: str
    first_date: str | None
    last_date: str | None
    participants: list[str]
    members: list[ThreadMember]
