"""What the thread stage keeps of a message, and what it says of a conversation."""

from __future__ import annotations

from typing import Literal

from models.base import Record

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
    the one that In-Reply-To names; `group_key` what a client or server shares within one conversation.
    `tokens` is a small sorted sample of the clean text's words for tie-breaks.
    """

    raw: str
    msg_id: str
    identity: str
    content_hash: str
    date: str | None = None
    received: str | None = None
    received_count: int = 0
    own_ids: list[str] = []
    refs: list[str] = []
    parent_ref: str | None = None
    group_key: str | None = None
    subject: str = ""
    subject_key: str = ""
    people: list[str] = []
    sender: str = ""
    reply_sign: bool = False
    joins_by_subject: bool = True
    tokens: list[str] = []


def hard_keys(node: Node) -> list[str]:
    """Return what joins a message to others for certain: its own ids, the ids it names, its group."""
    group = [node.group_key] if node.group_key else []
    return list(dict.fromkeys([*node.own_ids, *node.refs, *group]))


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
