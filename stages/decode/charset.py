"""Bytes to text: what the label says is checked against what the bytes are.

Order: byte order mark; 7-bit escapes (ISO-2022, HZ); strict UTF-8; the label, widened to the codec that
senders really use; a detector, which may overrule a label whose reading is implausible; last the label
with replacements. A label that was overruled is told to the caller.
"""

from __future__ import annotations

import codecs
import re
import tomllib
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

_SNIFF_BYTES = 32_768
_OVERRULE_BYTES = 16  # under this many high bytes a detector only guesses
_OVERRULE_CONFIDENCE = 0.2
_ESCAPE = re.compile(rb"\x1b(?:\$[()]?[@A-Z]|\([A-Z])")
_HZ = re.compile(rb"~\{[!-}]{2,400}~\}")
_LABEL = re.compile(r"[^a-z0-9_.+:-]+")


class Text(NamedTuple):
    """Decoded text, the codec it was read with, and the label's fault if it was overruled."""

    text: str
    codec: str
    fault: str | None = None


@lru_cache(maxsize=1)
def _pack() -> dict[str, Any]:
    return tomllib.loads(files("stages.decode").joinpath("packs/charsets.toml").read_text("utf-8"))


@lru_cache(maxsize=512)
def codec_of(label: str | None) -> str | None:
    """Return the Python codec for a charset label, None where the label names no usable one."""
    if not label or len(label) > 80 or "\0" in label:
        return None
    name = _LABEL.sub("", label.strip().strip("'\"").lower())
    pack = _pack()
    name = pack["widened"].get(name, name)
    if name in pack["none"]["labels"] or not name:
        return None
    for form in (name, name.removeprefix("x-"), name.replace("windows-", "cp").replace("cp-", "cp")):
        try:
            info = codecs.lookup(form)
        except (LookupError, ValueError):
            continue
        usable = (
            getattr(info, "_is_text_encoding", True)
            and info.name.replace("-", "_") not in pack["odd"]["codecs"]
        )
        return info.name if usable else None
    return None


def decode_bytes(data: bytes, label: str | None) -> str:
    """Return `data` as text by the chain of this module."""
    if b"\x1b" not in data and data.isascii() and not _is_seven_bit(label):
        return data.decode("ascii")
    return decode_text(data, label).text


def decode_text(data: bytes, label: str | None) -> Text:
    """Return `data` as text with the codec that was used and, if the label was overruled, why."""
    codec = codec_of(label)
    marked = _by_mark(data)
    if marked is not None:
        return marked
    if data.isascii():
        return _seven_bit(data, codec)
    if b"\x1b" in data or (codec or "").startswith("iso2022"):
        text = _iso2022(data, codec)
        if text is not None:
            return text
    if codec != "utf-8" and codec is not None and codec.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        return Text(_clean(data.decode(codec, "replace")), codec)
    try:
        text8 = data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        fault = None if codec in {None, "utf-8", "utf-8-sig"} else f"labelled {label}, is utf-8"
        return Text(text8, "utf-8", fault)
    return _legacy(data, codec, label)


def _legacy(data: bytes, codec: str | None, label: str | None) -> Text:
    labelled = _strict(data, codec) if codec not in {None, "utf-8", "ascii"} else None
    if labelled is not None and codec is not None and _plausible(labelled, codec):
        return Text(_clean(labelled), codec)
    broken = _mostly_utf8(data) if codec in {None, "utf-8"} else None
    if broken is not None:
        return Text(_clean(broken), "utf-8", "broken utf-8")
    found, confidence = _detect(data)
    high = len(data) - len(data.translate(None, _HIGH))
    if labelled is not None and codec is not None:
        sure = high >= _OVERRULE_BYTES and confidence >= _OVERRULE_CONFIDENCE
        if not sure or found is None or found == codec:
            return Text(_clean(labelled), codec)
    if found is not None:
        text = _strict(data, found)
        if text is not None:
            fault = None if label is None else f"labelled {label}, read as {found}"
            return Text(_clean(text), found, fault)
    if labelled is not None and codec is not None:
        return Text(_clean(labelled), codec)
    last = codec if codec not in {None, "utf-8", "ascii"} else found or "cp1252"
    assert last is not None
    return Text(_clean(data.decode(last, "replace")), last, f"not valid {label or last}")


_HIGH = bytes(range(128, 256))


def _mostly_utf8(data: bytes) -> str | None:
    """Return the UTF-8 reading if at most a tenth of the non-ASCII characters are broken."""
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = sum(1 for c in text if c > "\x7f") - bad
    return text if good > 9 * bad else None


def _by_mark(data: bytes) -> Text | None:
    """Return `data` by its byte order mark, None if it has none."""
    if data.startswith(b"\xef\xbb\xbf"):
        return Text(_clean(data[3:].decode("utf-8", "replace")), "utf-8")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) and len(data) >= 4:
        return Text(_clean(data.decode("utf-16", "replace")), "utf-16")
    return None


def _is_seven_bit(label: str | None) -> bool:
    codec = codec_of(label) if label else None
    return codec is not None and codec.startswith(("iso2022", "hz", "utf-7", "utf-16", "utf-32"))


def _seven_bit(data: bytes, codec: str | None) -> Text:
    if b"\x1b" in data:
        text = _iso2022(data, codec)
        if text is not None:
            return text
    if codec == "hz" or (codec == "gb18030" and _HZ.search(data)):
        text_hz = _strict(data, "hz")
        if text_hz is not None:
            return Text(text_hz, "hz")
    if codec is not None and codec.startswith(("utf-7", "utf-16", "utf-32")):
        # a bad run of UTF-7 costs that run only; of the others it makes the whole text meaningless
        text_label = data.decode(codec, "replace") if codec == "utf-7" else _strict(data, codec)
        if text_label is not None:
            return Text(_clean(text_label), codec)
    return Text(data.decode("ascii"), "ascii")


def _iso2022(data: bytes, codec: str | None) -> Text | None:
    """Return the ISO-2022 reading, None if no codec reads it without loss."""
    if not _ESCAPE.search(data) and not (codec or "").startswith("iso2022"):
        return None
    first = codec if codec is not None and codec.startswith("iso2022") else "iso2022_jp"
    for name in dict.fromkeys((first, "iso2022_jp", "iso2022_kr", "iso2022_jp_ext", "iso2022_jp_2004")):
        text = _strict(data, name)
        if text is not None:
            return Text(text, name)
    text = _jis_as_cp932(data)
    return None if text is None else Text(text, "iso2022_jp")


def _jis_as_cp932(data: bytes) -> str | None:
    """Return ISO-2022-JP that holds the vendor rows (①, ㈱), read by way of cp932; None if that fails too."""
    out: list[bytes] = []
    double = kana = False
    for piece in re.split(rb"(\x1b\$[@B]|\x1b\$\([A-Z]|\x1b\([A-Z])", data):
        if piece.startswith(b"\x1b"):
            double, kana = piece.startswith(b"\x1b$"), piece == b"\x1b(I"
        elif double:
            pairs = piece if len(piece) % 2 == 0 else piece[:-1]
            out.extend(_shifted(pairs[i], pairs[i + 1]) for i in range(0, len(pairs), 2))
        else:
            out.append(bytes(byte | 0x80 for byte in piece) if kana else piece)
    return _strict(b"".join(out), "cp932")


def _shifted(row: int, cell: int) -> bytes:
    """Return the Shift_JIS bytes of a JIS X 0208 row and cell."""
    lead = (row - 0x21) // 2 + 0x81
    if lead > 0x9F:
        lead += 0x40
    trail = cell + 0x7E if row % 2 == 0 else cell + (0x1F if cell < 0x60 else 0x20)
    return bytes((lead & 0xFF, trail & 0xFF))


def _strict(data: bytes, codec: str | None) -> str | None:
    if codec is None:
        return None
    try:
        return data.decode(codec)
    except (UnicodeError, LookupError, ValueError):
        return None


def _clean(text: str) -> str:
    """Return `text` without lone surrogates (UTF-7 and UTF-16 can smuggle them in)."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


# Repertoires of the everyday characters of a codec: a wrong reading falls outside quickly.
_EVERYDAY = {"gb18030": "gb2312", "gbk": "gb2312", "gb2312": "gb2312", "cp949": "euc_kr", "euc_kr": "euc_kr"}


def _plausible(text: str, codec: str) -> bool:
    """Return whether a reading that did not fail also looks like language, so that no detector is needed."""
    wide = [c for c in text[:20_000] if c > "\x7f"]
    if not wide:
        return True
    everyday = _EVERYDAY.get(codec)
    if everyday is not None:
        kept = len("".join(wide).encode(everyday, "ignore")) // 2
        return kept >= 0.97 * len(wide)
    if codec in {"big5hkscs", "big5", "cp950"}:
        encoded = "".join(wide).encode("big5", "ignore")
        usual = sum(1 for lead in encoded[::2] if 0xA1 <= lead <= 0xC6)
        return usual >= 0.9 * len(wide)
    if codec in {"cp932", "shift_jis", "euc_jp"}:
        kana = sum(1 for c in wide if "\u3000" <= c <= "\u30ff")
        half = sum(1 for c in wide if "\uff61" <= c <= "\uff9f")
        return kana >= 0.2 * len(wide) and half < 0.2 * len(wide)
    if codec in {"cp1252", "iso8859-15", "iso8859-1", "cp1254", "cp1250", "iso8859-2"}:
        letters = sum(1 for c in text[:20_000] if c.isalpha())
        strange = sum(1 for c in wide if unicodedata.category(c) in {"Cc", "Lo", "No", "Sc", "Sk", "So"})
        return len(wide) <= 0.25 * max(1, letters) and strange <= 0.2 * len(wide)
    return False


def _detect(data: bytes) -> tuple[str | None, float]:
    """Return the detector's codec (widened) and its confidence, from the part that holds high bytes."""
    import chardet

    sample = data
    if len(data) > _SNIFF_BYTES:
        start = next((i for i, byte in enumerate(data) if byte > 127), 0)
        start = data.rfind(b"\n", 0, start) + 1
        sample = data[start : start + _SNIFF_BYTES]
    found = chardet.detect(sample)
    return codec_of(found["encoding"]), float(found["confidence"] or 0.0)
