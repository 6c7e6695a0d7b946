"""One node of the MIME tree: where its bytes are, what its header says, what is below it."""

from __future__ import annotations

from collections.abc import Iterator

from stages.decode.headers import Headers
from stages.decode.params import filename_of, media_type, parameters
from stages.decode.transfer import encoding_of, undo_transfer
from stages.decode.words import header_text

NESTED = frozenset({"message/rfc822", "message/global", "message/news"})


class Part:
    """One node: a leaf with bytes, a multipart with children, or a nested message with one child."""

    __slots__ = (
        "_payload",
        "children",
        "depth",
        "disposition",
        "end",
        "filename",
        "headers",
        "mime",
        "original_filename",
        "params",
        "parent",
        "source",
        "start",
        "transfer",
    )

    def __init__(
        self, source: bytes, start: int, end: int, headers: Headers, parent: Part | None, default: str
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.headers = headers
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.children: list[Part] = []
        self.mime, self.params = media_type(_content_type(headers, source, start, end), default)
        self.transfer = encoding_of(headers.ascii("content-transfer-encoding"))
        raw = headers.get("content-disposition")
        kind, values = parameters(header_text(raw)) if raw else ("", {})
        self.disposition = kind.split()[0].lower() if kind.split() else None
        self.filename, self.original_filename = (
            filename_of(values, self.params) if (raw or self.params) else (None, None)
        )
        self._payload: bytes | None = None

    @property
    def is_message(self) -> bool:
        """Whether this is a nested message whose root is the one child."""
        return self.mime in NESTED and len(self.children) == 1

    @property
    def content_id(self) -> str | None:
        """Content-ID without angle brackets (RFC 2392), None if there is none."""
        value = self.headers.ascii("content-id").strip("<> ")
        return value or None

    def payload(self) -> bytes:
        """Return the bytes with the transfer encoding undone."""
        if self._payload is None:
            data = self.source[self.start : self.end]
            is_file = not self.mime.startswith(("text/", "multipart/", "message/"))
            self._payload = undo_transfer(data, self.transfer, is_file=is_file) if self.transfer else data
        return self._payload

    def walk(self) -> Iterator[Part]:
        """Yield this part and everything below it in document order."""
        stack = [self]
        while stack:
            part = stack.pop()
            yield part
            stack.extend(reversed(part.children))

    def leaves(self) -> Iterator[Part]:
        """Yield the leaves below this part in document order, inside nested messages too."""
        return (part for part in self.walk() if not part.children)


def _content_type(headers: Headers, source: bytes, start: int, end: int) -> bytes | None:
    """Return the Content-Type; of several the first whose boundary stands in the body, else the first."""
    values = headers.all("content-type")
    for value in values[:5] if len(values) > 1 else []:
        boundary = media_type(value, "")[1].get("boundary", "").encode("utf-8", "surrogateescape")
        if boundary and source.find(b"--" + boundary, start, end) >= 0:
            return value
    return headers.get("content-type")
