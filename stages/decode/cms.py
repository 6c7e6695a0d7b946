"""The content that an opaque S/MIME signature wraps (RFC 8551 §3.5.2): CMS SignedData in BER or DER.

Only the way to the content is read, nothing is verified. One forward pass, no recursion.
"""

from __future__ import annotations

MIMES = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_SIGNED_DATA = bytes.fromhex("06092a864886f70d010702")  # OID 1.2.840.113549.1.7.2 with tag and length
_SEQUENCE, _CONTEXT_0, _OCTETS, _OCTETS_IN_PIECES = 0x30, 0xA0, 0x04, 0x24


def signed_content(data: bytes) -> bytes | None:
    """Return the bytes that a SignedData structure carries; None if `data` is none or carries nothing."""
    try:
        at = _inside(data, 0, _SEQUENCE)
        if not data.startswith(_SIGNED_DATA, at):
            return None
        at = _inside(data, _inside(data, at + len(_SIGNED_DATA), _CONTEXT_0), _SEQUENCE)
        at = _after(data, _after(data, at))  # version, digestAlgorithms
        at = _after(data, _inside(data, at, _SEQUENCE))  # encapContentInfo: its type
        return _octets(data, _inside(data, at, _CONTEXT_0))
    except ValueError:
        return None


def _head(data: bytes, at: int) -> tuple[int, int, int | None]:
    """Return tag, start and stop of the value at `at`; stop is None for an indefinite length (X.690 §8.1.3)."""
    if at + 2 > len(data) or data[at] & 0x1F == 0x1F:
        raise ValueError("no value")
    tag, size, start = data[at], data[at + 1], at + 2
    if size == 0x80:
        return tag, start, None
    if size > 0x80:
        count = size & 0x7F
        if count > 4:
            raise ValueError("length of more than four bytes")
        size = int.from_bytes(data[start : start + count], "big")
        start += count
    return tag, start, min(start + size, len(data))


def _inside(data: bytes, at: int, wanted: int) -> int:
    """Return where the value at `at` begins, which must have the tag `wanted`."""
    tag, start, _ = _head(data, at)
    if tag != wanted:
        raise ValueError("another tag")
    return start


def _after(data: bytes, at: int) -> int:
    """Return the offset behind the value at `at`."""
    opened = 0
    while True:
        tag, start, stop = _head(data, at)
        at = start if stop is None else stop
        opened += 1 if stop is None else -1 if tag == 0 else 0
        if opened <= 0:
            return at


def _octets(data: bytes, at: int) -> bytes:
    """Return an octet string, also one in pieces."""
    tag, start, stop = _head(data, at)
    if tag == _OCTETS and stop is not None:
        return data[start:stop]
    if tag != _OCTETS_IN_PIECES:
        raise ValueError("no octet string")
    end = len(data) if stop is None else stop
    pieces: list[bytes] = []
    at = start
    while at < end:
        tag, start, stop = _head(data, at)
        if tag != _OCTETS or stop is None:
            break
        pieces.append(data[start:stop])
        at = stop
    return b"".join(pieces)
