"""Settle: from a thread's members to the files that shall be there. Pure per thread, written in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection

import stages
from flows.derive import Deriver
from models.base import digest, earliest, utc_key
from models.email import Email, Location, Version
from models.message import Entities
from models.report import CandidateFile
from models.thread import GUESSES, Link, Node, SoftEdge, ThreadFile, ThreadMember
from stages.entities.merge import Sighting, propose_merges
from stages.entities.thread import Member, relate_thread
from stages.normalize import EmailParts, compose_email, render_email, render_record
from stages.thread import Conversation, ThreadRecord, settle
from storage import quarantine
from storage.files import WantedFile, want, want_all
from storage.ledger import get_meta, set_meta
from storage.names import candidate_path, email_path, thread_path
from storage.records import RecordRow, SightingRow, all_sightings, replace_records
from storage.thread_index import (
    LedgerThreadIndex,
    Renaming,
    ThreadRow,
    keep_old_ids,
    leave_old_id,
    mark_settled,
    read_threads,
)
from storage.work import acquit, finish, generations

_PEOPLE = "people_settled"  # the ledger's meta: digest of the curated files that were used, or "stale"
_SAMPLE = 20  # people and subjects that a candidate file names


@dataclass
class _Snapshot:
    """What the ledger says of some threads at one moment."""

    revisions: dict[int, int]
    nodes: dict[int, list[Node]] = field(default_factory=dict)
    edges: list[SoftEdge] = field(default_factory=list)
    twins: dict[str, tuple[str, str]] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    locations: dict[str, list[Location]] = field(default_factory=dict)


@dataclass
class _Settled:
    """One thread, ready to be wanted."""

    conversation: Conversation
    emails: list[tuple[ThreadRecord, Link, Email]]
    entities: list[Entities]


def settle_threads(deriver: Deriver, threads: Iterable[int]) -> tuple[list[int], list[str]]:
    """Settle threads; returns those that are settled, and the paths whose wanted files changed.

    A thread that changed meanwhile, or that lost a member to quarantine here, stays unsettled.
    """
    snapshot = _read(deriver, sorted(threads))
    settled: dict[int, _Settled] = {}
    deriver.prefetch([node.raw for nodes in snapshot.nodes.values() for node in nodes])
    for surrogate, nodes in snapshot.nodes.items():
        done = _settle_one(deriver, nodes, snapshot)
        if done is not None:
            settled[surrogate] = done
    with deriver.workspace.ledger.write() as connection:
        return _write(connection, deriver, snapshot, settled)


def _read(deriver: Deriver, threads: Sequence[int]) -> _Snapshot:
    with deriver.workspace.ledger.read() as connection:
        index = LedgerThreadIndex(connection)
        rows = read_threads(connection, threads)
        snapshot = _Snapshot(revisions={surrogate: row.revision for surrogate, row in rows.items()})
        nodes = index.of_threads(threads)
        homes = index.threads(node.raw for node in nodes)
        for node in nodes:
            snapshot.nodes.setdefault(homes[node.raw], []).append(node)
        raws = [node.raw for node in nodes]
        snapshot.edges = index.soft_edges(raws)
        snapshot.twins = index.twins(sorted({node.msg_id for node in nodes}))
        snapshot.generations = generations(connection, raws)
        snapshot.locations = quarantine.locations_of(connection, raws)
    return snapshot


def _settle_one(deriver: Deriver, nodes: Sequence[Node], snapshot: _Snapshot) -> _Settled | None:
    dates = {}
    for node in nodes:
        known = earliest(place.internal_date for place in snapshot.locations.get(node.raw, []))
        if known is not None:
            dates[node.raw] = utc_key(known) or ""
    own = {node.raw for node in nodes}
    edges = [edge for edge in snapshot.edges if edge.child in own]
    conversation = settle(nodes, edges, dates, snapshot.twins)
    raws = [record.best.raw for record in conversation.records]
    decoded, dequoted = deriver.decoded(raws), deriver.dequoted(raws)
    found, intents = deriver.entities(raws), deriver.intents(raws)
    if any(raw not in intents or raw not in found for raw in raws):
        return None
    related = relate_thread(
        [
            Member(entities=found[record.best.raw], text=dequoted[record.best.raw].clean)
            for record in conversation.records
        ]
    )
    version = stages.extraction_version()
    emails = []
    for record, link, entities in zip(conversation.records, conversation.links, related, strict=True):
        raw = record.best.raw
        parts = EmailParts(
            decoded=decoded[raw],
            dequoted=dequoted[raw],
            entities=entities,
            intent=intents[raw],
            link=link,
            key=record.key,
            thread_id=conversation.thread_id,
            subject_normalized=record.best.subject,
            content_hash=record.best.content_hash,
            locations=_places(record, snapshot),
            copies=_versions(record),
            alone=len(conversation.records) == 1,
            extraction_version=version,
        )
        email = deriver.attempt("normalize", raw, partial(compose_email, parts, deriver.policies.normalize))
        if email is None:
            return None
        emails.append((record, link, email))
    return _Settled(conversation, emails, related)


def _places(record: ThreadRecord, snapshot: _Snapshot) -> list[Location]:
    return [place for copy in record.copies for place in snapshot.locations.get(copy.raw, [])]


def _versions(record: ThreadRecord) -> list[Version]:
    pairs = {(copy.content_hash, copy.received) for copy in record.copies}
    return [
        Version(content_hash=content, received=received)
        for content, received in sorted(pairs, key=lambda pair: (pair[1] or "", pair[0]))
    ]


def _write(
    connection: Connection, deriver: Deriver, snapshot: _Snapshot, settled: dict[int, _Settled]
) -> tuple[list[int], list[str]]:
    current = read_threads(connection, sorted(snapshot.revisions))
    valid = [
        surrogate
        for surrogate, revision in sorted(snapshot.revisions.items())
        if surrogate in current
        and current[surrogate].revision == revision
        and (surrogate in settled or surrogate not in snapshot.nodes)
    ]
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    files: dict[str, Sequence[WantedFile]] = {}
    raws: list[str] = []
    names: dict[int, Renaming] = {}
    for surrogate in valid:
        done, old = settled.get(surrogate), current[surrogate].public_id
        files[f"thread:{surrogate}"] = _files(done, now[:19] + "+00:00") if done else []
        if done:
            records = done.conversation.records
            raws += [copy.raw for record in records for copy in record.copies]
            names[surrogate] = Renaming(old, done.conversation.thread_id, [record.key for record in records])
        elif old:
            leave_old_id(connection, surrogate, old, now)
    keep_old_ids(connection, names, now)
    _store_records(connection, valid, settled)
    changed = want_all(connection, files)
    changed += quarantine.release(connection, raws)
    shown = {
        one: ThreadRow(snapshot.revisions[one], names[one].new if one in names else None) for one in valid
    }
    mark_settled(connection, shown)
    if valid:
        set_meta(connection, _PEOPLE, "stale")
    finish(
        connection,
        {raw: snapshot.generations[raw] for raw in raws if raw in snapshot.generations},
        deriver.signature,
    )
    acquit(connection, raws)
    return valid, changed


def _files(done: _Settled, now: str) -> list[WantedFile]:
    files = []
    members = []
    for record, link, email in done.emails:
        path = _path_of(record, email)
        files.append(WantedFile(path, *render_email(email, now)))
        members.append(
            ThreadMember(
                msg_id=record.key,
                date=record.date,
                sender=email.from_.email if email.from_ else "",
                subject=email.subject,
                path=path,
                parent=link.parent,
                method=link.method,
                score=link.score,
                reason=link.reason,
                guess=link.method in GUESSES,
            )
        )
    conversation = done.conversation
    dates = [record.date for record in conversation.records if record.date]
    people = {
        party.email
        for _, _, email in done.emails
        for party in [email.from_, *email.to, *email.cc]
        if party is not None and party.email
    }
    thread = ThreadFile(
        thread_id=conversation.thread_id,
        subject=conversation.subject,
        first_date=min(dates, default=None),
        last_date=max(dates, default=None),
        participants=sorted(people),
        members=members,
    )
    files.append(WantedFile(thread_path(conversation.thread_id), digest(thread), render_record(thread)))
    return files


def _store_records(connection: Connection, valid: Sequence[int], settled: dict[int, _Settled]) -> None:
    records: list[RecordRow] = []
    sightings: list[SightingRow] = []
    for surrogate in valid:
        done = settled.get(surrogate)
        if done is None:
            continue
        for (record, link, email), entities in zip(done.emails, done.entities, strict=True):
            records.append(
                RecordRow(
                    key=record.key,
                    thread=surrogate,
                    raw=record.best.raw,
                    path=_path_of(record, email),
                    method=link.method,
                    unclustered=email.unclustered,
                    copies=tuple(copy.raw for copy in record.copies),
                )
            )
            sightings += _sightings(surrogate, record, email, entities)
    replace_records(connection, valid, records, sightings)


def _path_of(record: ThreadRecord, email: Email) -> str:
    return email_path(utc_key(email.internal_date or email.sent_at), email.thread_id, record.key)


def _sightings(surrogate: int, record: ThreadRecord, email: Email, entities: Entities) -> list[SightingRow]:
    domains = {
        address.email: candidate.domain for candidate in entities.candidates for address in candidate.people
    }
    rows: dict[tuple[str, str], SightingRow] = {}
    for person in entities.people:
        if person.role == "mention" or not person.email:
            continue
        rows[(person.email, person.name)] = SightingRow(
            record=record.key,
            email=person.email,
            name=person.name,
            thread=surrogate,
            internal=person.internal,
            domain=domains.get(person.email),
            date=record.date,
            subject=email.subject_normalized,
        )
    return list(rows.values())


def settle_people(deriver: Deriver) -> list[str]:
    """Bring the merge proposals and the customer candidates up to date; returns the changed paths.

    Does nothing unless a thread was settled since the last time, in this run or in one that was cut short, or
    a curated file changed.
    """
    with deriver.workspace.ledger.write() as connection:
        curated = deriver.workspace.curated
        inputs = digest(curated.not_same, curated.aliases)
        if get_meta(connection, _PEOPLE) == inputs:
            return []
        set_meta(connection, _PEOPLE, inputs)
        by_person: dict[tuple[str, str], Sighting] = {}
        by_domain: dict[str, list[tuple[str, str, str, str, str]]] = {}
        for row in all_sightings(connection):
            person = by_person.setdefault(
                (row.email, row.name),
                Sighting(email=row.email, name=row.name, messages=[], internal=row.internal),
            )
            person.messages.append(row.record)
            if row.domain:
                who = f"{row.name} <{row.email}>" if row.name else row.email
                by_domain.setdefault(row.domain, []).append(
                    (row.date or "~", row.record, who, row.subject, row.email)
                )
        for person in by_person.values():
            person.messages.sort()
        proposals = propose_merges(
            [by_person[key] for key in sorted(by_person)], curated.not_same, curated.aliases
        )
        files: dict[str, Sequence[WantedFile]] = {"merges": []}
        if proposals:
            data = render_record(proposals)
            files["merges"] = [WantedFile("people/_to_merge.json", digest(proposals), data)]
        changed = want_all(connection, files)
        candidates = [_candidate(domain, sorted(seen)) for domain, seen in sorted(by_domain.items())]
        changed += want(
            connection,
            "candidates",
            [WantedFile(candidate_path(one.domain), digest(one), render_record(one)) for one in candidates],
        )
    return changed


def _candidate(domain: str, seen: Sequence[tuple[str, str, str, str, str]]) -> CandidateFile:
    first = seen[0][0]
    return CandidateFile(
        domain=domain,
        first_seen=None if first == "~" else first,
        messages=len({record for _, record, *_ in seen}),
        people=list(dict.fromkeys(who for _, _, who, _, _ in seen))[:_SAMPLE],
        subjects=list(dict.fromkeys(subject for _, _, _, subject, _ in seen if subject))[:_SAMPLE],
    )
