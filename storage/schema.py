"""Tables of the ledger (SQLAlchemy Core; SQLite and PostgreSQL). The ledger is the truth."""

from __future__ import annotations

from typing import Any

from blake3 import blake3
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

SCHEMA_VERSION = "1"
metadata = MetaData()
_KEY_BYTES = 400


class Key(TypeDecorator[str]):
    """Text out of a mail (an id, a subject, a name) that stands in an index.

    PostgreSQL indexes at most 2,704 bytes a row, a mail's header has no bound: what is over 400 bytes is kept
    as its start and a hash, and looked up so too.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        """Return what is stored and compared for `value`."""
        return None if value is None else stored_key(value)


def stored_key(value: str) -> str:
    """Return what stands in a `Key` column for `value`; what stands there stands there for itself."""
    if len(value) * 4 <= _KEY_BYTES:
        return value
    data = value.encode("utf-8", "surrogatepass")
    if len(data) <= _KEY_BYTES:
        return value
    start = data[: _KEY_BYTES - 33].decode("utf-8", "ignore")
    return f"{start}~{blake3(data).hexdigest()[:32]}"


meta = Table("meta", metadata, Column("key", String, primary_key=True), Column("value", Text, nullable=False))

counter = Table(
    "counter", metadata, Column("name", String, primary_key=True), Column("n", Integer, nullable=False)
)

run = Table(
    "run",
    metadata,
    Column("id", String, primary_key=True),
    Column("started_at", String, nullable=False),
    Column("finished_at", String),
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("settings", Text, nullable=False),  # JSON, so that a worker elsewhere can open the same run
    Column("report", Text),
)

location = Table(
    "location",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("account", String, nullable=False),
    Column("folder", String, nullable=False),
    Column("uid", String, nullable=False),
    Column("raw", String, nullable=False),
    Column("stamp", String, nullable=False),
    Column("locator", String, nullable=False),
    Column("internal_date", String),
    Column("gone", Boolean, nullable=False, default=False),  # no longer in its container (a compacted mbox)
    UniqueConstraint("account", "folder", "uid"),
    Index("location_raw", "raw"),
)

cursor = Table(
    "cursor",
    metadata,
    Column("account", String, primary_key=True),
    Column("folder", String, primary_key=True),
    Column("value", Text, nullable=False),
)

work = Table(  # one row for each raw message: what is still to do
    "work",
    metadata,
    Column("raw", String, primary_key=True),
    Column("status", String, nullable=False),  # pending, done, held, refresh (held, its file to be renewed)
    Column("generation", Integer, nullable=False),  # counts requests, so that a late "done" hides no new one
    Column("signature", String),  # versions and policies that the finished work was done with
    Index("work_status", "status"),
)

inflight = Table(
    "inflight",
    metadata,
    Column("run_id", String, primary_key=True),
    Column("batch_id", String, primary_key=True),
    Column("stage", String, primary_key=True),
    Column("keys", Text, nullable=False),
)

suspect = Table(  # messages that were in flight when a run died: retried one by one
    "suspect", metadata, Column("raw", String, primary_key=True)
)

quarantine = Table(
    "quarantine",
    metadata,
    Column("raw", String, primary_key=True),
    Column("stage", String, nullable=False),
    Column("signature", String, nullable=False),  # of the failing stage: a change retries by itself
    Column("kind", String, nullable=False),
    Column("detail", Text, nullable=False),
    Column("remedy", Text),
    Column("traceback", Text),
    Column("first_seen", String, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("dismissed", Boolean, nullable=False),
)

node = Table(
    "node",
    metadata,
    Column("raw", String, primary_key=True),
    Column("msg_id", Key, nullable=False),
    Column("subject_key", Key, nullable=False),  # of its bucket; empty where the mail never joins by subject
    Column("date", String),
    Column("waiting", Boolean, nullable=False),  # a reply that may seek a parent by a guess
    Column("thread", Integer),
    Column("record", Key),  # key of the record that this copy belongs to, set by settle
    Column("body", LargeBinary, nullable=False),  # the packed Node
    Index("node_bucket", "subject_key", "date", "waiting", "raw"),
    Index(
        "node_waiting",
        "subject_key",
        "date",
        sqlite_where=text("waiting = 1"),
        postgresql_where=text("waiting"),
    ),
    Index("node_thread", "thread"),
    Index("node_msg_id", "msg_id"),
)

node_id = Table(  # every hard key: the ids that a node owns or names, its group
    "node_id",
    metadata,
    Column("id", Key, primary_key=True),
    Column("raw", String, primary_key=True),
    Index("node_id_raw", "raw"),
)

node_twin = Table(  # what tells messages under one id apart, and the short number of each node
    "node_twin",
    metadata,
    Column("raw", String, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("msg_id", Key, nullable=False),
    Column("twin", String, nullable=False),
    Index("node_twin_number", "number"),
    Index("node_twin_msg_id", "msg_id", "twin"),
)

line = Table(  # digests of what messages say (quoted: of what replies without ids quote), in order of date
    "line",
    metadata,
    Column("piece", BigInteger, primary_key=True, autoincrement=False),
    Column("quoted", Boolean, primary_key=True),
    Column("date", BigInteger, primary_key=True),  # digits of the sortable UTC time
    Column("number", BigInteger, primary_key=True),  # of the node
    sqlite_with_rowid=False,
)

soft_edge = Table(
    "soft_edge",
    metadata,
    Column("child", String, primary_key=True),
    Column("parent", String, nullable=False),
    Column("tier", String, nullable=False),
    Column("score", Float, nullable=False),
    Column("reason", Text, nullable=False),
    Index("soft_edge_parent", "parent"),
)

thread = Table(
    "thread",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),  # the immutable surrogate
    Column("revision", Integer, nullable=False),
    Column("settled", Integer, nullable=False),  # revision that the wanted files show
    Column("public_id", String),
    Column("created_by", String),
    Index("thread_public", "public_id"),
)

redirect = Table(
    "redirect",
    metadata,
    Column("old", String, primary_key=True),
    Column("new", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("at", String, nullable=False),
)

record = Table(  # one row for each Email
    "record",
    metadata,
    Column("key", Key, primary_key=True),  # msg_id of the Email
    Column("thread", Integer, nullable=False),
    Column("raw", String, nullable=False),  # the copy that the text was taken from
    Column("path", String, nullable=False),
    Column("location", Integer),  # the location that counts as the message, the others are duplicates
    Column("method", String, nullable=False),
    Column("unclustered", Boolean, nullable=False),
    Index("record_thread", "thread"),
    Index("record_raw", "raw"),
)

sighting = Table(  # header people of records, for merge proposals and customer candidates
    "sighting",
    metadata,
    Column("record", Key, primary_key=True),
    Column("email", Key, primary_key=True),
    Column("name", Key, primary_key=True),
    Column("thread", Integer, nullable=False),
    Column("internal", Boolean, nullable=False),
    Column("domain", Key),  # set where the domain is a customer candidate
    Column("date", String),
    Column("subject", String, nullable=False),
    Index("sighting_thread", "thread"),
    Index("sighting_domain", "domain"),
)

wanted = Table(  # what the files shall be
    "wanted",
    metadata,
    Column("path", String, primary_key=True),
    Column("owner", String, nullable=False),  # thread surrogate, raw hash of a quarantined mail, or a name
    Column("digest", String, nullable=False),  # ignores extracted_at
    Column("change", Integer, nullable=False),  # counter at the last change
    Column("content", LargeBinary, nullable=False),  # the bytes of the file, compressed
    Index("wanted_owner", "owner"),
)

published = Table(  # what the files are; digest "" while a path is being touched
    "published",
    metadata,
    Column("path", String, primary_key=True),
    Column("digest", String, nullable=False),
    Column("size", Integer, nullable=False),
)

lease = Table(
    "lease",
    metadata,
    Column("account", String, primary_key=True),
    Column("token", Integer, nullable=False),  # fencing token, grows with each holder
    Column("run_id", String),
    Column("host", String),
    Column("pid", Integer),
    Column("heartbeat", Float, nullable=False),
)
