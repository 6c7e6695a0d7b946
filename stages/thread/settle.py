"""One thread, settled: its records, how each hangs on another, and what the thread is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blake3 import blake3

from models.base import Record
from models.thread import Link, Method, Node, SoftEdge


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
    nodes: Sequence[Node], edges: Sequence[SoftEdge], dates: Mapping[str, str] | None = None
) -> Conversation:
    """Return the conversation of a thread's nodes (at least one): a pure function of the set.

    `dates` gives the server's date of copies that carry none themselves.
    """
    records = sorted(_records(nodes, dates or {}), key=_order)
    by_key = {record.key: record for record in records}
    links = [_link(record, records, edges) for record in records]
    _break_cycles(links, by_key)
    root = records[0]
    for link in links:
        parent = by_key.get(link.parent or root.key)
        ours, theirs = by_key[link.key].best.subject_key, parent.best.subject_key if parent else ""
        link.subject_changed = bool(ours and theirs and ours != theirs)
    return Conversation(
        thread_id=thread_id_of(root.date, root.key), subject=root.best.subject, records=records, links=links
    )


def thread_id_of(date: str | None, root_key: str) -> str:
    """Return `thr-YYYY-MM-DD-<12 hex>` of the root (`thr-undated-<12 hex>` where it has no date at all)."""
    return f"thr-{date[:10] if date else 'undated'}-{blake3(root_key.encode()).hexdigest()[:12]}"


def _records(nodes: Sequence[Node], dates: Mapping[str, str]) -> list[ThreadRecord]:
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
        for rank, (_, _, identity, date, copies) in enumerate(sorted(found, key=lambda row: row[:2])):
            key = msg_id if rank == 0 else f"{msg_id}#{identity[:8]}"
            records.append(ThreadRecord(key=key, best=copies[0], copies=copies, date=date))
    return records


def _order(record: ThreadRecord) -> tuple[str, str]:
    return (record.date or "~", record.key)


def _link(record: ThreadRecord, records: Sequence[ThreadRecord], edges: Sequence[SoftEdge]) -> Link:
    """Return how `record` hangs: by the nearest id that it names, else by what it shares, else by a guess."""
    owners: dict[str, list[ThreadRecord]] = {}
    for other in records:
        if other.best.msg_id != record.best.msg_id:
            owners.setdefault(other.best.msg_id, []).append(other)
    named = list(dict.fromkeys(ref for copy in record.copies for ref in reversed(_by_nearness(copy))))
    for ref in named:
        if ref in owners:
            method: Method = "in_reply_to" if len(record.best.refs) <= 1 else "references"
            return Link(key=record.key, parent=_fitting(record, owners[ref]).key, method=method)
    earlier = [other for other in records if _order(other) < _order(record)]
    for other in earlier:
        shared = set(named) & {ref for copy in other.copies for ref in [copy.msg_id, *copy.refs]}
        if shared:
            reason = f"both name <{min(shared)}>, which is not here"
            return Link(key=record.key, parent=other.key, method="references", reason=reason)
    for other in earlier:
        if record.best.group_key and record.best.group_key == other.best.group_key:
            return Link(
                key=record.key, parent=other.key, method="thread_index", reason="same Outlook conversation"
            )
    guess = _guess(record, records, edges)
    if guess is not None:
        return guess
    twin = next((other for other in earlier if other.best.msg_id == record.best.msg_id), None)
    if twin is not None:
        reason = "same Message-ID, other content"
        return Link(key=record.key, parent=twin.key, method="references", reason=reason)
    return Link(key=record.key)


def _by_nearness(node: Node) -> list[str]:
    """Return the ids that a node names, oldest ancestor first, direct parent last."""
    if node.parent_ref is None:
        return node.refs
    return [ref for ref in node.refs if ref != node.parent_ref] + [node.parent_ref]


def _fitting(record: ThreadRecord, owners: Sequence[ThreadRecord]) -> ThreadRecord:
    """Return which of several messages under one id is meant: same subject first, then the latest before."""
    before = [owner for owner in owners if _order(owner) < _order(record)] or list(owners)
    return max(before, key=lambda owner: (owner.best.subject_key == record.best.subject_key, _order(owner)))


def _guess(record: ThreadRecord, records: Sequence[ThreadRecord], edges: Sequence[SoftEdge]) -> Link | None:
    home = {copy.raw: other for other in records for copy in other.copies}
    own = {copy.raw for copy in record.copies}
    found = [edge for edge in edges if edge.child in own and edge.parent in home]
    if not found:
        return None
    edge = max(found, key=lambda edge: (edge.score, edge.parent))
    return Link(
        key=record.key, parent=home[edge.parent].key, method=edge.tier, score=edge.score, reason=edge.reason
    )


def _break_cycles(links: Sequence[Link], records: Mapping[str, ThreadRecord]) -> None:
    """Cut each cycle of parents at its oldest member, which becomes a root of its own."""
    by_key = {link.key: link for link in links}
    done: set[str] = set()
    for start in links:
        path: list[str] = []
        on_path: set[str] = set()
        key: str | None = start.key
        while key is not None and key not in done and key not in on_path:
            path.append(key)
            on_path.add(key)
            key = by_key[key].parent
        if key is not None and key in on_path:
            oldest = min(path[path.index(key) :], key=lambda member: _order(records[member]))
            link = by_key[oldest]
            link.parent, link.method, link.reason = (
                None,
                "root",
                f"cut a circle of references ({link.method})",
            )
        done.update(path)
