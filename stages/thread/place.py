"""Filing messages in the thread index, so that any order of arrival ends in the same threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from models.thread import Node, SoftEdge, bucket_key, hard_keys
from stages.thread.config import ThreadPolicy
from stages.thread.forest import Forest
from stages.thread.guess import Change, guess_again
from stages.thread.index import ThreadIndex


def place(nodes: Sequence[Node], index: ThreadIndex, policy: ThreadPolicy) -> list[int]:
    """File `nodes` (new ones, or known ones whose row may have changed); returns the threads that changed."""
    arriving = {node.raw: node for node in nodes}
    known = {node.raw: node for node in index.nodes(arriving)}
    fresh = [node for raw, node in sorted(arriving.items()) if known.get(raw) != node]
    before = [known[node.raw] for node in fresh if node.raw in known]
    owned = _own_ids([*before, *fresh])
    was, sought = index.twins(owned), index.last_seeking(_buckets([*before, *fresh]))
    homes = index.homes(sorted({key for node in fresh for key in hard_keys(node)}))
    if fresh:
        index.put(fresh)
    now = index.twins(owned)
    change = Change(before=before, fresh=fresh, filed=[*arriving.values()], was=was, now=now, sought=sought)
    lost_keys = [node.raw for node in before if set(hard_keys(node)) - set(hard_keys(arriving[node.raw]))]
    touched = _rearrange(change, homes, lost_keys, index, policy)
    touched |= set(index.threads(arriving).values())
    index.touch(touched)
    return sorted(touched)


def withdraw(raws: Iterable[str], index: ThreadIndex, policy: ThreadPolicy) -> list[int]:
    """Take messages out again (quarantined ones); returns the threads that changed."""
    gone = index.nodes(raws)
    if not gone:
        return []
    touched = set(index.threads(node.raw for node in gone).values())
    owned = _own_ids(gone)
    was, sought = index.twins(owned), index.last_seeking(_buckets(gone))
    index.drop(node.raw for node in gone)
    change = Change(before=gone, fresh=[], filed=[], was=was, now=index.twins(owned), sought=sought)
    touched |= _rearrange(change, {}, [], index, policy)
    touched |= _split(touched, index)
    index.touch(touched)
    return sorted(touched)


def _buckets(nodes: Iterable[Node]) -> list[str]:
    return sorted({key for node in nodes if (key := bucket_key(node))})


def _own_ids(nodes: Iterable[Node]) -> list[str]:
    return sorted({own for node in nodes for own in node.own_ids})


def _rearrange(
    change: Change, homes: Mapping[str, int], loose: Sequence[str], index: ThreadIndex, policy: ThreadPolicy
) -> set[int]:
    """Choose guesses again, join what is connected now, part what no longer is; returns the threads that changed.

    `homes` are the threads of what was stored before, by key; `loose` are messages that lost a key.
    """
    gained, lost = guess_again(change, index, policy)
    mended = index.nodes(index.holders(change.no_longer_reused()))
    touched = _join([*change.fresh, *mended], homes, gained, index)
    ends = {*loose, *(raw for edge in lost for raw in (edge.child, edge.parent))}
    ends.update(index.holders(change.newly_reused()))
    torn = set(index.threads(sorted(ends)).values())
    touched |= torn | _split(torn, index)
    renamed = index.holders(change.renamed_ids())  # the keys of their records change
    touched |= set(index.threads(sorted({*renamed, *(edge.child for edge in gained)})).values())
    return touched


def _join(
    fresh: Sequence[Node], homes: Mapping[str, int], gained: Sequence[SoftEdge], index: ThreadIndex
) -> set[int]:
    """Give `fresh` ones a thread and make one of the threads that they and the new guesses connect; returns the
    threads that changed. `homes` are the threads of what was stored before, by key."""
    ends = {raw for edge in gained for raw in (edge.child, edge.parent)}
    current = index.threads(sorted(ends | {node.raw for node in fresh}))
    reused = reused_ids(index, fresh)
    forest = Forest()
    for raw in sorted(ends | {node.raw for node in fresh}):
        forest.unite(raw, current.get(raw, raw))
    for node in fresh:
        for key in hard_keys(node):
            if key in reused:
                continue
            forest.unite(node.raw, ("key", key))
            if key in homes:
                forest.unite(node.raw, homes[key])
    for edge in gained:
        forest.unite(edge.child, edge.parent)
    changed: set[int] = set()
    moves: dict[str, int] = {}
    founders: list[list[str]] = []
    for group in forest.groups():
        joined = sorted(one for one in group if isinstance(one, int))
        homeless = [one for one in group if isinstance(one, str) and one not in current]
        if not joined:
            founders.append(homeless)
        elif homeless or len(joined) > 1:
            index.merge(joined[1:], joined[0])
            moves.update(dict.fromkeys(homeless, joined[0]))
            changed.update(joined)
    return changed | _found(founders, moves, index)


def reused_ids(index: ThreadIndex, nodes: Iterable[Node]) -> set[str]:
    """Return those of the ids that `nodes` own or name which unlike messages carry."""
    ids = {key for node in nodes for key in (*node.own_ids, *node.refs)}
    return {key for key, (first, last) in index.twins(sorted(ids)).items() if first != last}


def _found(groups: Sequence[Sequence[str]], moves: Mapping[str, int], index: ThreadIndex) -> set[int]:
    """Give each of `groups` a new thread, make `moves` beside; returns the new threads."""
    surrogates = index.new_threads(len(groups))
    found = {raw: home for group, home in zip(groups, surrogates, strict=True) for raw in group}
    index.assign({**moves, **found})
    return set(surrogates)


def _split(threads: Iterable[int], index: ThreadIndex) -> set[int]:
    """Walk `threads`, which may have lost a link, and give each connected group its own; returns those that
    changed. The group that holds the oldest member keeps the thread."""
    members = {node.raw: node for node in index.of_threads(sorted(threads))}
    reused = reused_ids(index, members.values())
    forest = Forest()
    for raw, node in members.items():
        for key in hard_keys(node):
            if key not in reused:
                forest.unite(raw, ("key", key))
    for edge in index.soft_edges(sorted(members)):
        if edge.child in members and edge.parent in members:
            forest.unite(edge.child, edge.parent)
    current = index.threads(sorted(members))
    groups = [[one for one in group if isinstance(one, str)] for group in forest.groups()]
    kept: set[int] = set()
    parted: list[list[str]] = []
    for group in sorted(groups, key=lambda raws: min(_age(members[raw]) for raw in raws)):
        home = current[group[0]]
        if home in kept:
            parted.append(group)
        kept.add(home)
    return {current[group[0]] for group in parted} | _found(parted, {}, index)


def _age(node: Node) -> tuple[str, str, str]:
    return (node.date or "~", node.msg_id, node.raw)
