"""RTF bodies as text, or as the HTML that Outlook wrapped into them (MS-OXRTFEX): one pass, no recursion."""

from __future__ import annotations

import re
from typing import NamedTuple

_MAX_BYTES = 4_000_000
_MAX_DEPTH = 50_000
_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?[0-9]{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z'])|([{}])|([^\\{}\r\n]+)|[\r\n]+|\\"
)
# Destinations whose text is no text of the document.
_SILENT = frozenset(
    b"fonttbl colortbl stylesheet info pict object themedata colorschememapping latentstyles datastore "
    b"listtable listoverridetable rsidtbl generator xmlnstbl mmathPr fldinst header footer headerl headerr "
    b"headerf footerl footerr footerf filetbl revtbl pntext bkmkstart bkmkend nonshppict shppict "
    b"userprops docvar formfield wgrffmtfilter".split()
)
_BREAKS = {
    b"par": "\n", b"line": "\n", b"sect": "\n", b"page": "\n", b"row": "\n", b"tab": "\t", b"cell": "\t",
    b"emdash": "—", b"endash": "–", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“", b"rdblquote": "”",
    b"bullet": "•", b"emspace": " ", b"enspace": " ", b"qmspace": " ",
}  # fmt: skip
_SYMBOLS = {b"~": "\xa0", b"_": "-", b"-": "", b"\n": "\n", b"\r": "\n"}
# \fcharset of a font, as far as it differs from the document's code page (RTF 1.9.1, font table)
_CHARSETS = {
    128: "cp932", 129: "cp949", 134: "gb18030", 136: "big5hkscs", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip


class RichText(NamedTuple):
    """What an RTF document says; `is_html` where it is the HTML that was wrapped into it."""

    text: str
    is_html: bool


class _Group:
    """State that a closing brace gives back."""

    __slots__ = ("codec", "silent", "skip", "suppressed")

    def __init__(self, codec: str, skip: int, *, silent: bool, suppressed: bool) -> None:
        self.codec = codec
        self.skip = skip  # fallback characters behind a Unicode one
        self.silent = silent  # a destination that is no text
        self.suppressed = suppressed  # the RTF form of what stands beside as HTML

    def inner(self) -> _Group:
        """Return the state that a group inside begins with."""
        return _Group(self.codec, self.skip, silent=self.silent, suppressed=self.suppressed)


def read_rtf(data: bytes) -> RichText:
    """Return the text of an RTF document; damage is stepped over, a document cut short ends where it ends."""
    data = data[:_MAX_BYTES]
    is_html = b"\\fromhtml" in data[:1000]
    fonts = _fonts(data)
    out: list[str] = []
    pending = bytearray()  # \'xx bytes of one run: a double-byte character takes two
    group = _Group("cp1252", 1, silent=False, suppressed=False)
    stack: list[_Group] = []
    star = False  # behind \*
    to_skip = 0  # fallback characters behind \u
    high = 0  # first half of a surrogate pair
    document = "cp1252"

    def flush() -> None:
        if pending:
            out.append(bytes(pending).decode(group.codec, "replace"))
            pending.clear()

    def shown() -> bool:
        if group.silent:
            return False
        return not group.suppressed if is_html else True

    for token in _TOKEN.finditer(data):
        word, number, byte, symbol, brace, text = token.groups()
        if byte is not None:
            if to_skip:
                to_skip -= 1
            elif shown():
                pending.append(int(byte, 16))
            continue
        if not (text is not None and _expects_trail(pending, group.codec)):
            flush()
        if brace == b"{":
            if len(stack) < _MAX_DEPTH:
                stack.append(group)
                group = group.inner()
            star, to_skip = False, 0
        elif brace == b"}":
            if stack:
                group = stack.pop()
            star, to_skip = False, 0
        elif word is not None:
            value = int(number) if number else None
            if word == b"u" and value is not None:
                code = value + 65536 if value < 0 else value
                to_skip = group.skip
                if 0xD800 <= code < 0xDC00:
                    high = code
                elif shown():
                    if 0xDC00 <= code < 0xE000:
                        code = 0x10000 + ((high - 0xD800) << 10) + code - 0xDC00 if high else 0xFFFD
                    out.append(chr(code) if code < 0x110000 else "\ufffd")
                    high = 0
            elif word == b"uc":
                group.skip = min(value if value is not None else 1, 10)
            elif word == b"ansicpg" and value is not None:
                document = group.codec = _codec(value) or document
            elif word == b"f" and value is not None:
                group.codec = fonts.get(value) or document
            elif word == b"bin" and value is not None:
                to_skip = 0
            elif word == b"htmlrtf":
                group.suppressed = value != 0
            elif word in {b"htmltag", b"mhtmltag"}:
                group.silent = not is_html or word == b"mhtmltag"
            elif word in _SILENT or star:
                group.silent = True
            elif word in _BREAKS and shown():
                out.append(_BREAKS[word] if not (is_html and word == b"par") else "\r\n")
            star = False
        elif symbol is not None:
            if symbol == b"*":
                star = True
            elif to_skip:
                to_skip -= 1
            elif shown():
                out.append(_SYMBOLS.get(symbol, symbol.decode("latin-1")))
        elif text is not None:
            if to_skip:
                text, to_skip = text[to_skip:], max(0, to_skip - len(text))
            if text and shown():
                if pending or not text.isascii():
                    pending.extend(text)
                    flush()
                else:
                    out.append(text.decode("ascii"))
    flush()
    return RichText("".join(out).replace("\r\n", "\n"), is_html)


def _expects_trail(pending: bytearray, codec: str) -> bool:
    """Return whether a run of bytes ends within a double-byte character."""
    if not pending or codec not in {"cp932", "cp949", "gb18030", "big5hkscs"}:
        return False
    try:
        bytes(pending).decode(codec)
    except UnicodeDecodeError as error:
        return error.end == len(pending)
    return False


def _codec(page: int) -> str | None:
    known = {932: "cp932", 936: "gb18030", 949: "cp949", 950: "big5hkscs", 65001: "utf-8", 10000: "mac-roman"}
    if page in known:
        return known[page]
    return f"cp{page}" if page in {437, 850, 852, 866, 874, *range(1250, 1259)} else None


def _fonts(data: bytes) -> dict[int, str]:
    """Return the codec of each font that names a charset of its own."""
    start = data.find(b"{\\fonttbl")
    if start < 0:
        return {}
    table = data[start : start + 60_000]
    return {
        int(found[1]): _CHARSETS[int(found[2])]
        for found in re.finditer(rb"\\f(\d{1,5})\b[^{}]{0,80}?\\fcharset(\d{1,3})", table)
        if int(found[2]) in _CHARSETS
    }


_PREBUF = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)


def decompress(data: bytes) -> bytes:
    """Return the RTF of a compressed RTF stream (MS-OXRTFCP); what is damaged ends it, b"" for no stream."""
    if len(data) < 16:
        return b""
    size = min(int.from_bytes(data[4:8], "little"), _MAX_BYTES)
    kind = data[8:12]
    if kind == b"MELA":
        return data[16 : 16 + size]
    if kind != b"LZFu":
        return b""
    window = bytearray(4096)
    window[: len(_PREBUF)] = _PREBUF
    write = len(_PREBUF)
    out = bytearray()
    at = 16
    while at < len(data) and len(out) < size:
        control = data[at]
        at += 1
        for bit in range(8):
            if at >= len(data) or len(out) >= size:
                break
            if not control >> bit & 1:
                out.append(data[at])
                window[write] = data[at]
                write = (write + 1) & 4095
                at += 1
                continue
            if at + 1 >= len(data):
                return bytes(out)
            offset = data[at] << 4 | data[at + 1] >> 4
            length = (data[at + 1] & 15) + 2
            at += 2
            if offset == write:
                return bytes(out)
            for _ in range(length):
                byte = window[offset]
                out.append(byte)
                window[write] = byte
                write = (write + 1) & 4095
                offset = (offset + 1) & 4095
    return bytes(out)
