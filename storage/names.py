"""File names that are safe on every file system, as pure functions of ids."""

from __future__ import annotations

import re
import string

from blake3 import blake3

_SAFE = frozenset((string.ascii_letters + string.digits + "._@+=-").encode())
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "clock$", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))]
)
_MAX_BYTES = 120
_PLAIN = re.compile(
    rf"(?!\.)[a-z0-9._@+=-]{{1,{_MAX_BYTES}}}(?<!\.)"
)  # what most ids are: named by themselves


def safe_name(text: str) -> str:
    """Return a file name stem for `text`: percent-encoded outside `[A-Za-z0-9._@+=-]`.

    A hash tail (`~` and 12 hex digits) is added where the plain name could meet another one on some file
    system: upper case, a Windows device name, a dot at either end, or more than 120 bytes. Two texts never
    share a name: `~` is never left unencoded, and the tail is made from the whole text.
    """
    if _PLAIN.fullmatch(text) and text.partition(".")[0] not in _RESERVED:
        return text
    raw = text.encode("utf-8", "surrogatepass")
    encoded = "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in raw)
    plain = encoded
    if encoded.startswith("."):
        encoded = "%2E" + encoded[1:]
    if encoded.endswith("."):
        encoded = encoded[:-1] + "%2E"
    if encoded.split(".")[0].lower() in _RESERVED:  # Windows takes `con.anything` for the device too
        encoded = f"%{ord(encoded[0]):02X}{encoded[1:]}"
    risky = (
        encoded != plain or not encoded or any(char.isupper() for char in text) or len(encoded) > _MAX_BYTES
    )
    if not risky:
        return encoded
    return f"{encoded[:_MAX_BYTES]}~{blake3(raw).hexdigest()[:12]}"


def month_of(utc: str | None) -> str:
    """Return the `YYYY-MM` folder of a sortable UTC time, `undated` for None."""
    return utc[:7] if utc else "undated"


def email_path(utc: str | None, thread_id: str, msg_id: str) -> str:
    """Return the path of an Email relative to the state root."""
    return f"extracted/{month_of(utc)}/{thread_id}/{safe_name(msg_id)}.json"


def thread_path(thread_id: str) -> str:
    """Return the path of a thread's file relative to the state root."""
    return f"threads/{thread_id}.json"


def failed_path(raw: str) -> str:
    """Return the path of the quarantine file of a raw hash (`blake3:<hex>`)."""
    return f"extracted/_failed/{raw.removeprefix('blake3:')}.json"


def candidate_path(domain: str) -> str:
    """Return the path of the file that proposes a domain as a customer's."""
    return f"customers/UNCLASSIFIED-{safe_name(domain)}.json"
