"""One thread, settled: its records, how each hangs on another, and what the thread is called."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

from blake3 import blake3

from models.base import Record
from models.thread import Link, Method, Node, SoftEdge

_TAIL = 8  # hex digits that tell messages under one id apart
_LIKE_A_TWIN = re.compile(r"#[0-9a-f]{8}$")  # an id that looks like a key of ours gets a tail of its own
_GROUPS: dict[str, tuple[Method, str]] = {
    "thread-index": ("thread_index", "same Outlook conversation"),
    "event": ("references", "same calendar event (UID)"),
    "series": ("references", "sent in one numbered series"),
    "provider": ("provider", "same conversation at the mail provider"),
    "manual": ("manual", "joined or split off by hand"),
}


class ThreadRecord(Record):
    """One message of the thread with all its copies; `best` is the copy that the text is taken from."""

    key: str
    best: Node
    copies: list[Node]
    date: str | None


class Conversation(Record):
    """A settled thread: records in order of (date, key), each with its link."""

    thread_id: str
    subject: str
    records: list[ThreadRecord]
    links: list[Link]


def settle(
    nodes: Sequence[Node],
    edges: Sequence[SoftEdge],
    dates: Mapping[str, str] | None = None,
    twins: Mapping[str, tuple[str, str]] | None = None,
) -> Conversation:
    """Return the conversation of a thread's nodes (at least one): a pure function of the set.

    `dates` gives the server's date of copies that carry none themselves, `twins` the first and the last twin key
    in the store under ids of the thread: where they differ, the id's first message stands alone under the plain
    id, and the others may be in other threads. Linear in what the nodes name.
    """
    records = sorted(_records(nodes, dates or {}, twins or {}), key=_order)
    by_key = {record.key: record for record in records}
    directory = _Directory(records, edges)
    links = [_link(record, directory) for record in records]
    _break_cycles(links, by_key)
    root = records[0]
    for link in links:
        ours = by_key[link.key].best.subject_key
        theirs = by_key[link.parent or root.key].best.subject_key
        link.subject_changed = bool(ours and theirs and ours != theirs)
    return Conversation(
        thread_id=thread_id_of(root.date, root.key), subject=root.best.subject, records=records, links=links
    )


def thread_id_of(date: str | None, root_key: str) -> str:
    """Return `thr-YYYY-MM-DD-<12 hex>` of the root (`thr-undated-<12 hex>` where it has no date at all)."""
    return f"thr-{date[:10] if date else 'undated'}-{blake3(root_key.encode()).hexdigest()[:12]}"


def _records(
    nodes: Sequence[Node], dates: Mapping[str, str], twins: Mapping[str, tuple[str, str]]
) -> list[ThreadRecord]:
    groups: dict[str, dict[str, list[Node]]] = {}
    for node in nodes:
        groups.setdefault(node.msg_id, {}).setdefault(node.identity, []).append(node)
    records = []
    for msg_id, identities in groups.items():
        found = []
        for identity, copies in identities.items():
            copies.sort(key=lambda node: (node.received_count, node.raw))
            known = [date for node in copies if (date := node.date or dates.get(node.raw))]
            date = min(known) if known else None
            found.append((date or "~", min(node.raw for node in copies), identity, date, copies))
        first, last = twins.get(msg_id, ("", ""))
        elsewhere = first != last and all(node.twin_key != first for row in found for node in row[4])
        found.sort(key=lambda row: (first != last and all(n.twin_key != first for n in row[4]), *row[:2]))
        heads = Counter(identity[:_TAIL] for _, _, identity, _, _ in found)
        for rank, (_, _, identity, date, copies) in enumerate(found):
            key = msg_id
            if rank or elsewhere or _LIKE_A_TWIN.search(msg_id):
                key = f"{msg_id}#{identity[:_TAIL] if heads[identity[:_TAIL]] == 1 else identity}"
            records.append(ThreadRecord(key=key, best=copies[0], copies=copies, date=date))
    return records


def _order(record: ThreadRecord) -> tuple[str, str]:
    return (record.date or "~", record.key)


class _Directory:
    """What the records of one thread own, name and share, for look-ups by one of them."""

    def __init__(self, records: Sequence[ThreadRecord], edges: Sequence[SoftEdge]) -> None:
        self.owners: dict[str, list[ThreadRecord]] = {}  # by id, in order
        self.fitting: dict[tuple[str, str], list[ThreadRecord]] = {}  # by id and subject, in order
        self.naming: dict[str, ThreadRecord] = {}  # the earliest that names an id
        self.above: dict[str, tuple[str, ThreadRecord]] = {}  # id → the id that it answers, and who says so
        self.grouped: dict[str, ThreadRecord] = {}  # the earliest of a group
        self.home: dict[str, ThreadRecord] = {}
        self.guesses: dict[str, SoftEdge] = {edge.child: edge for edge in edges}
        for record in records:
            self.owners.setdefault(record.best.msg_id, []).append(record)
            self.fitting.setdefault((record.best.msg_id, record.best.subject_key), []).append(record)
            for copy in record.copies:
                self.home[copy.raw] = record
                for ref in copy.refs:
                    self.naming.setdefault(ref, record)
                for group in copy.group_keys:
                    self.grouped.setdefault(group, record)
        for record in records:
            for copy in record.copies:
                self._note_ancestry(record, copy.refs)

    def _note_ancestry(self, record: ThreadRecord, refs: Sequence[str]) -> None:
        """Note for each id of a list of references which message of the thread stands before it."""
        present: str | None = None
        for ref in refs:
            if present is not None and ref != present:
                self.above.setdefault(ref, (present, record))
            if ref in self.owners:
                present = ref


def _link(record: ThreadRecord, directory: _Directory) -> Link:
    """Return how `record` hangs: by the nearest id that it names, else by what it shares, else by a guess."""
    named = list(dict.fromkeys(ref for copy in record.copies for ref in reversed(_by_nearness(copy))))
    for ref in named:
        if ref in directory.owners and ref != record.best.msg_id:
            replied = any(copy.parent_ref == ref for copy in record.copies)
            method: Method = "in_reply_to" if replied else "references"
            return Link(key=record.key, parent=_fitting(record, ref, directory).key, method=method)
    for ref in [*named, record.best.msg_id]:
        answered, witness = directory.above.get(ref, ("", record))
        if witness is not record and answered != record.best.msg_id:
            parent = _fitting(record, answered, directory)
            if _order(parent) < _order(record):
                reason = f"the references of <{witness.key}> say so"
                return Link(key=record.key, parent=parent.key, method="references", reason=reason)
    if named:
        ref = min(named, key=lambda ref: (_order(directory.naming[ref]), ref))
        sibling = directory.naming[ref]
        if sibling is not record:
            reason = f"both name <{ref}>, which is not here"
            return Link(key=record.key, parent=sibling.key, method="references", reason=reason)
    groups = sorted({group for copy in record.copies for group in copy.group_keys})
    for group in groups:
        other = directory.grouped[group]
        if other is not record:
            kind = group.partition(":")[0]
            method, reason = _GROUPS.get(kind, ("thread_index", "same conversation of a client"))
            return Link(key=record.key, parent=other.key, method=method, reason=reason)
    guess = _guess(record, directory)
    if guess is not None:
        return guess
    twin = directory.owners[record.best.msg_id][0]
    if twin is not record:
        reason = "same Message-ID, other content"
        return Link(key=record.key, parent=twin.key, method="references", reason=reason)
    return Link(key=record.key)


def _by_nearness(node: Node) -> list[str]:
    """Return the ids that a node names, oldest ancestor first, direct parent last."""
    if node.parent_ref is None:
        return node.refs
    return [ref for ref in node.refs if ref != node.parent_ref] + [node.parent_ref]


def _fitting(record: ThreadRecord, ref: str, directory: _Directory) -> ThreadRecord:
    """Return which of several messages under one id is meant: the latest before `record`, its subject first."""
    owners = directory.owners[ref]
    same = directory.fitting.get((ref, record.best.subject_key), [])
    for found in (same, owners):
        earlier = bisect_left(found, _order(record), key=_order)
        if earlier:
            return found[earlier - 1]
    return (same or owners)[0]


def _guess(record: ThreadRecord, directory: _Directory) -> Link | None:
    found = [directory.guesses[copy.raw] for copy in record.copies if copy.raw in directory.guesses]
    found = [edge for edge in found if edge.parent in directory.home]
    if not found:
        return None
    edge = max(found, key=lambda edge: (edge.score, edge.parent))
    parent = directory.home[edge.parent]
    return Link(key=record.key, parent=parent.key, method=edge.tier, score=edge.score, reason=edge.reason)


def _break_cycles(links: list[Link], records: Mapping[str, ThreadRecord]) -> None:
    """Cut each cycle of parents at its oldest member, which becomes a root of its own."""
    by_key = {link.key: link for link in links}
    positions = {link.key: position for position, link in enumerate(links)}
    done: set[str] = set()
    for start in list(links):
        path: list[str] = []
        on_path: set[str] = set()
        key: str | None = start.key
        while key is not None and key not in done and key not in on_path:
            path.append(key)
            on_path.add(key)
            key = by_key[key].parent
        if key is not None and key in on_path:
            oldest = min(path[path.index(key) :], key=lambda member: _order(records[member]))
            cut = by_key[oldest]
            reason = f"cut a circle of references ({cut.method})"
            links[positions[oldest]] = by_key[oldest] = Link(key=oldest, reason=reason)
        done.update(path)
