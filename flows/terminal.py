"""What goes to a terminal: text out of a mail is shown, and never steers what shows it."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

from models.errors import Transient

_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # escape sequences begin with one of these, U+009B among them
    r"\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"  # these turn the order of characters
)


def harmless(text: str) -> str:
    """Return `text` with what would steer a terminal written as an escape; line ends and tabs are kept.

    Inside a JSON document the escapes are those of JSON, so that it says the same as before.
    """
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def say(text: str, out: TextIO | None = None) -> None:
    """Print `text` on standard output (or `out`), harmless. Raises Transient where it cannot be written."""
    stream = out or sys.stdout
    try:
        print(harmless(text), file=stream, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # what is left in it is not tried again
        raise Transient(
            f"the output cannot be written: {error.strerror}", remedy="free space, then run again"
        ) from error
