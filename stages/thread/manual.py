"""What somebody joined and split by hand: entries of `threads/_manual.json`, applied to the rows of messages."""

from __future__ import annotations

from collections.abc import Sequence

from models.base import digest
from models.curated import ManualThread
from models.thread import Node

_MARK = "manual:"
_TAIL = 8  # hex digits of the identity in the key of one of several messages under an id


def is_manual(group_key: str) -> bool:
    """Return whether a group was made by hand."""
    return group_key.startswith(_MARK)


def apply_manual(node: Node, entries: Sequence[ManualThread]) -> None:
    """Change the row of a message as `entries`, in order, say: a function of the row and the entries alone.

    Joined messages share a group. Split ones share one that replaces all that joined them to others before;
    they guess nothing, and of the ids that they name those of the split count. What answers a message that was
    split off goes with it: of the ids that it names, those before the split one no longer count.
    """
    for entry in entries:
        names = entry.join or entry.split
        mine = _is_named(node, names)
        if entry.join:
            if mine:
                node.group_keys = [*node.group_keys, _MARK + digest("join", sorted(names))]
            continue
        ids = set(names)
        if mine:
            node.group_keys = [_MARK + digest("split", sorted(names))]
            node.refs = [ref for ref in node.refs if ref in ids]
        else:
            first = next((place for place, ref in enumerate(node.refs) if ref in ids), None)
            if first is None:
                continue
            node.refs = node.refs[first:]
            node.group_keys = [key for key in node.group_keys if is_manual(key)]
        if node.parent_ref not in node.refs:
            node.parent_ref = None
    node.group_keys = sorted(set(node.group_keys))


def _is_named(node: Node, names: Sequence[str]) -> bool:
    return node.msg_id in names or f"{node.msg_id}#{node.identity[:_TAIL]}" in names
