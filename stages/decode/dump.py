"""Every leaf of a message, for the probe's `parts` and for comparing with other parsers."""

from __future__ import annotations

from base64 import b64encode

from models.base import content_hash
from stages.decode import PartDump
from stages.decode.body import normal_text, read_leaf
from stages.decode.config import DecodePolicy
from stages.decode.part import Part
from stages.decode.source import open_message
from stages.decode.tree import parse_tree


def dump_parts(raw: bytes, policy: DecodePolicy) -> list[PartDump]:
    """Return the leaves of `raw` in document order; errors as in `stages.decode.decode`."""
    data, _ = open_message(raw, policy)
    root, _ = parse_tree(data, policy)
    return [_dump(leaf) for leaf in root.leaves()]


def _dump(leaf: Part) -> PartDump:
    data = leaf.payload()
    dump = PartDump(mime=leaf.mime, filename=leaf.filename, size=len(data), hash=content_hash(data))
    if leaf.mime.startswith("text/"):
        read = read_leaf(leaf)
        dump.charset = read.codec
        dump.text = normal_text(read.text)
    else:
        dump.charset = leaf.params.get("charset")
        dump.b64 = b64encode(data).decode("ascii")
    return dump
