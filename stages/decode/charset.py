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

from stages.decode.readings import DOUBLE, LABELLED, WEAK, readings, weigh

_SNIFF_BYTES = 32_768
_LONG = 200  # from this many high bytes on, a label that reads plausibly is believed
_MARGIN = 3.0  # by which another reading must be better than the label's
_NATURAL = -8.5  # weight for each high byte, under which a reading is no text
_VALID_UTF8 = 6.0  # what being valid UTF-8 weighs
_CHANCE_BYTES = 200  # longer text is not valid UTF-8 by chance
_SURE = 0.3  # of the detector
_ESCAPE = re.compile(rb"\x1b(?:\$[()]?[@A-Z]|\([A-Z])")
_HZ = re.compile(rb"~\{(?:[!-w][!-~]){1,500}~\}")
_SURROGATE_PAIR = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")
_FORBIDDEN = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]|[\xc0\xc1][\x80-\xbf]|\xf4[\x90-\xbf][\x80-\xbf]{2}")
# High bytes side by side or beside a letter; a fixed space and a degree sign are the same in all Latin sets.
_HIGH_LETTER = re.compile(
    rb"[\x80-\x9f\xa1-\xff][\x80-\xff]|\xa0[\x80-\x9f\xa1-\xff]|[A-Za-z][\xa1-\xaf\xb1-\xff]|[\xa1-\xaf\xb1-\xff][A-Za-z]"
)
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
    if b"\x1b" not in data and b"~{" not in data and data.isascii() and not _is_seven_bit(label):
        return data.decode("ascii")
    return decode_text(data, label).text


def decode_text(data: bytes, label: str | None) -> Text:
    """Return `data` as text with the codec that was used and, if the label was overruled, why."""
    codec = codec_of(label)
    marked = _by_mark(data)
    if marked is not None:
        return marked
    if data.isascii():
        if b"\0" in data and (codec is None or not codec.startswith(("utf-16", "utf-32"))):
            sixteen = _by_nulls(data)
            if sixteen is not None:
                return sixteen
        return _seven_bit(data, codec)
    if b"\x1b" in data:
        text = _iso2022(data, codec)
        if text is not None:
            return text
    if codec is not None and codec.startswith("iso2022"):
        codec = "cp949" if codec == "iso2022_kr" else "cp932"
    if codec != "utf-8" and codec is not None and codec.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        return Text(_clean(data.decode(codec, "replace")), codec)
    try:
        text8 = data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        by_chance = _not_utf8(data, text8, codec)
        if by_chance is not None and codec is not None:
            return Text(by_chance, codec)
        fault = None if codec in {None, "utf-8", "utf-8-sig"} else f"labelled {label}, is utf-8"
        return Text(text8, "utf-8", fault)
    return _legacy(data, codec, label)


def _legacy(data: bytes, codec: str | None, label: str | None) -> Text:
    """Return 8-bit text that is not UTF-8: by its label, unless another reading is clearly the better one."""
    if len(data) - len(data.translate(None, _CONTROLS)) > len(data) // 20 + 2:
        sixteen = _by_nulls(data)
        if sixteen is not None:
            return sixteen
        return Text(_clean(data.decode("utf-8", "replace")), "utf-8", "holds bytes that are no text")
    named = None if codec in {"utf-8", "ascii"} else codec
    labelled = _strict(data, named)
    high = len(data) - len(data.translate(None, _HIGH))
    if labelled is not None and named is not None and high >= _LONG and _plausible(labelled, named):
        return Text(_clean(labelled), named)
    if named is None or named in DOUBLE:
        broken = _mostly_utf8(data, sure=named is not None)
        if broken is not None:
            return Text(_clean(broken), "utf-8", "broken utf-8")
    signs = _lone_signs(data, named)
    if signs is not None:
        return Text(
            _clean(signs),
            named or "cp1252",
            None if named or not label else f"labelled {label}, read as cp1252",
        )
    ranked = readings(data, named, WEAK if named == "cp1252" else LABELLED)
    own = next((reading.weight for reading in ranked if reading.codec == named), None)
    natural = bool(ranked) and ranked[0].natural >= _NATURAL
    for best in ranked[:3] if natural else []:
        if best.codec == named or (own is not None and best.weight < own + _MARGIN + 0.1 * high):
            break
        if own is None and labelled is not None and best.weight < ranked[0].weight:
            break
        text = _strict(data, best.codec)
        if text is not None:
            fault = None if label is None else f"labelled {label}, read as {best.codec}"
            return Text(_clean(text), best.codec, fault)
    if labelled is not None and named is not None:
        return Text(_clean(labelled), named)
    return _unlabelled(data, named, label)


def _unlabelled(data: bytes, named: str | None, label: str | None) -> Text:
    """Return text that neither its label nor the usual codecs read: what the detector says, or a reading
    with replacements where it says nothing or the bytes are no text at all."""
    found, confidence = _detect(data)
    text = _strict(data, found)
    if text is not None and found is not None and confidence >= _SURE:
        return Text(_clean(text), found, None if label is None else f"labelled {label}, read as {found}")
    last = named or "utf-8"
    return Text(_clean(data.decode(last, "replace")), last, f"not valid {label or last}")


def _not_utf8(data: bytes, text8: str, codec: str | None) -> str | None:
    """Return the label's reading of a few two-byte characters that are valid UTF-8 by chance only."""
    if codec not in DOUBLE or len(data) > _CHANCE_BYTES or max(text8) >= "\u0800":
        return None
    labelled = _strict(data, codec)
    if labelled is None or codec is None:
        return None
    return labelled if weigh(labelled, codec) + LABELLED > weigh(text8, "utf-8") + _VALID_UTF8 else None


_HIGH = bytes(range(128, 256))
_CONTROLS = bytes((*range(9), 11, *range(14, 27), *range(28, 32), 127))


def _mostly_utf8(data: bytes, *, sure: bool) -> str | None:
    """Return the UTF-8 reading if few characters are broken: a tenth, or, to be `sure` against a label,
    half as many as there are whole ones of three bytes (which no other text has by chance)."""
    text = _SURROGATE_PAIR.sub(_paired, data).decode("utf-8", "replace")
    if not sure:
        mended = _FORBIDDEN.sub(b"\xef\xbf\xbd", _SURROGATE_PAIR.sub(_paired, data))
        loose = _strict(mended, "utf-8")
        if loose is not None and 2 * sum(1 for c in loose if c > "\x7f" and c != "\ufffd") >= loose.count(
            "\ufffd"
        ):
            return (
                loose  # nothing is wrong but surrogates, overlong and too large forms beside good characters
            )
    bad = text.count("\ufffd")
    if sure:
        whole = sum(1 for c in text if c >= "\u0800") - bad
        return text if whole >= 2 and whole >= 2 * bad else None
    good = sum(1 for c in text if c > "\x7f") - bad
    return text if good > 9 * bad else None


def _paired(pair: re.Match[bytes]) -> bytes:
    """Return the character that two surrogates in UTF-8 stand for (CESU-8, as some databases write it)."""
    return (
        pair[0].decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16").encode()
    )


def _lone_signs(data: bytes, named: str | None) -> str | None:
    """Return the Western reading of a text whose high bytes stand alone and are signs in it (£, °, a fixed
    space): words of another script would show letters side by side."""
    if named not in {None, "cp1252", "iso8859-1", "iso8859-15"} or _HIGH_LETTER.search(data):
        return None
    text = _strict(data, named or "cp1252")
    return None if text is None or any(c.isalpha() for c in text if c > "\x7f") else text


def _by_mark(data: bytes) -> Text | None:
    """Return `data` by its byte order mark, None if it has none."""
    if data.startswith(b"\xef\xbb\xbf"):
        return Text(_clean(data[3:].decode("utf-8", "replace")), "utf-8")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) and len(data) >= 4:
        return Text(_clean(data.decode("utf-16", "replace")), "utf-16")
    return None


def _by_nulls(data: bytes) -> Text | None:
    """Return UTF-16 without a mark, which has a NUL for each letter of Latin scripts; None if it is none."""
    for codec, nulls in (("utf-16-le", data[1::2]), ("utf-16-be", data[0::2])):
        if nulls.count(0) * 10 >= 3 * len(nulls) and data.count(0) - nulls.count(0) < len(nulls) // 50 + 1:
            text = _strict(data[: len(data) // 2 * 2], codec)
            if text is not None:
                return Text(_clean(text), codec)
    return None


def _is_seven_bit(label: str | None) -> bool:
    codec = codec_of(label) if label else None
    return codec is not None and codec.startswith(("iso2022", "hz", "utf-7", "utf-16", "utf-32"))


def _seven_bit(data: bytes, codec: str | None) -> Text:
    if b"\x1b" in data:
        text = _iso2022(data, codec)
        if text is not None:
            return text
    if codec == "hz" or b"~{" in data:
        text_hz = _strict(data, "hz")
        if text_hz is not None and (codec == "hz" or (_HZ.search(data) and _plausible(text_hz, "gb18030"))):
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
