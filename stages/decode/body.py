"""Which parts are the body: alternatives resolved, mixed bodies joined in order, the rest set aside."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import lru_cache
from importlib.resources import files

from models.message import QuoteMark, Repair
from stages.decode.charset import Text, decode_text
from stages.decode.cms import MIMES as SMIME
from stages.decode.containers import TNEF
from stages.decode.flowed import unflow
from stages.decode.html import meta_charset, render
from stages.decode.part import Part
from stages.decode.rtf import read_rtf
from stages.decode.uufiles import split_files

_READABLE = frozenset(
    {"text/plain", "text/html", "text/enriched", "text/markdown", "text/x-markdown", "text/x-amp-html"}
)
_MACHINE = frozenset(
    {
        "message/delivery-status",
        "message/global-delivery-status",
        "message/disposition-notification",
        "message/feedback-report",
        "text/rfc822-headers",
        "message/global-headers",
    }
)
RICH = frozenset({"text/rtf", "application/rtf", "text/richtext-rtf", "application/x-rtf"})
_STUB_CHARS = 600
_TAG = re.compile(r"<[^<>]{0,500}>")
_ARMOR_SIGNED = re.compile(
    r"^-----BEGIN PGP SIGNED MESSAGE-----[ \t]*\n(?:[A-Za-z-]{1,40}: [^\n]{0,200}\n){0,10}\n?", re.M
)
_ARMOR_SIGNATURE = re.compile(r"^-----BEGIN PGP SIGNATURE-----", re.M)
_ARMOR_SIGNATURE_END = "-----END PGP SIGNATURE-----"
_ARMOR_MESSAGE = "-----BEGIN PGP MESSAGE-----"
_ARMOR_MESSAGE_END = "-----END PGP MESSAGE-----"


class Selection:
    """The parts of one message sorted by use; `body` holds readable leaves in order."""

    def __init__(self) -> None:
        self.body: list[Part] = []
        self.attached: list[tuple[Part, bool]] = []  # part, shown inside the body
        self.calendars: list[Part] = []
        self.machine: list[Part] = []
        self.nested: list[Part] = []
        self.html: Part | None = None  # the HTML form of the body where there is one
        self.signed = False
        self.encrypted = False
        self.lifted = 0  # uuencoded files taken out of the text


class Body:
    """The body as text, with what was noticed on the way."""

    def __init__(self) -> None:
        self.text = ""
        self.marks: list[QuoteMark] = []
        self.repairs: list[Repair] = []
        self.hidden = ""
        self.charset: str | None = None
        self.signed = False
        self.encrypted = False


def select_parts(root: Part) -> Selection:
    """Return the parts under `root` by use. Nested messages are not opened here."""
    selection = Selection()
    _select(root, selection, inside_related=False)
    if not selection.body:
        _take_rich_text(selection)
    return selection


def _take_rich_text(selection: Selection) -> None:
    """Make an RTF part that is not meant as a file the body of a message without another."""
    for number, (part, _) in enumerate(selection.attached):
        if part.mime in RICH and part.filename is None and part.disposition != "attachment":
            selection.body.append(part)
            del selection.attached[number]
            return


def _select(part: Part, into: Selection, *, inside_related: bool) -> None:
    if part.is_message:
        into.nested.append(part)
        into.attached.append((part, False))
    elif not part.children:
        _select_leaf(part, into, inside_related=inside_related)
    elif part.mime == "multipart/alternative":
        _select_alternative(part, into)
    elif part.mime == "multipart/encrypted":
        into.encrypted = True
        into.attached.extend((leaf, False) for leaf in part.leaves())
    elif part.mime == "multipart/related":
        _select_related(part, into)
    elif part.mime == TNEF:
        _select_tnef(part, into)
    else:
        into.signed |= part.mime == "multipart/signed" or part.mime in SMIME
        for child in part.children:
            _select(child, into, inside_related=inside_related)


def _select_leaf(part: Part, into: Selection, *, inside_related: bool) -> None:
    if part.mime in {"text/calendar", "application/ics"}:
        into.calendars.append(part)
        if part.filename or part.disposition == "attachment":
            into.attached.append((part, False))
    elif part.mime in _MACHINE:
        into.machine.append(part)
        if part.filename or part.disposition == "attachment":
            into.attached.append((part, False))
    elif _is_body(part, into):
        words, files = split_files(part) if part.mime == "text/plain" else ([part], [])
        into.body.extend(words)
        into.attached.extend((file, False) for file in files)
        into.lifted += len(files)
    else:
        if part.mime in SMIME:
            kind = part.params.get("smime-type", "").lower()
            into.signed |= kind == "signed-data"
            into.encrypted |= kind != "signed-data"
        shown = part.mime.startswith("image/") and part.disposition != "attachment" and (
            part.content_id is not None or inside_related or part.disposition == "inline"
        )  # fmt: skip
        into.attached.append((part, shown))


def _is_body(part: Part, into: Selection) -> bool:
    if part.mime not in _READABLE or part.disposition == "attachment":
        return False
    return part.filename is None or (not into.body and part.parent is None)


def _select_alternative(part: Part, into: Selection) -> None:
    """Take one reading: plain text unless it is empty or a stub, else HTML; keep what is no reading."""
    options: list[Selection] = []
    for child in part.children:
        option = Selection()
        _select(child, option, inside_related=False)
        options.append(option)
        into.calendars.extend(option.calendars)
        into.attached.extend(option.attached)
        into.machine.extend(option.machine)
        into.nested.extend(option.nested)
        into.signed |= option.signed
        into.encrypted |= option.encrypted
        into.lifted += option.lifted
    plain = next((o for o in options if o.body and all(_is_plain(leaf) for leaf in o.body)), None)
    rich = next((o for o in reversed(options) if o.body and o is not plain and not _is_amp(o)), None)
    chosen = plain or rich
    if plain is not None and rich is not None and _is_stub(plain, rich):
        chosen = rich
    if chosen is None:
        return
    into.body.extend(chosen.body)
    html = [leaf for o in options if not _is_amp(o) for leaf in o.body if leaf.mime == "text/html"]
    if html and into.html is None:
        into.html = html[0]


def _select_tnef(part: Part, into: Selection) -> None:
    """Take the files of an opened winmail.dat, and its body where the message has no text of its own."""
    has_text = any(read_leaf(leaf).text.strip() for leaf in into.body)
    for child in part.children:
        if child.mime in _READABLE and child.filename is None and child.disposition is None:
            if not has_text:
                into.body.append(child)
        else:
            _select(child, into, inside_related=False)


def _select_related(part: Part, into: Selection) -> None:
    start = part.params.get("start", "").strip("<> ")
    root = next((c for c in part.children if start and c.content_id == start), part.children[0])
    _select(root, into, inside_related=False)
    for child in part.children:
        if child is root:
            continue
        if child.mime == "text/html" and not child.children and not into.body and child.disposition is None:
            into.body.append(child)  # a related part whose first child is no text
        elif child.children or child.mime == "text/calendar":
            _select(child, into, inside_related=True)
        else:
            shown = child.disposition != "attachment" and (
                child.mime.startswith("image/") or child.content_id is not None
            )
            into.attached.append((child, shown))


def _is_plain(leaf: Part) -> bool:
    return leaf.mime not in {"text/html", "text/x-amp-html"}


def _is_amp(option: Selection) -> bool:
    return any(leaf.mime == "text/x-amp-html" for leaf in option.body)


@lru_cache(maxsize=1)
def _stubs() -> re.Pattern[str]:
    pack = tomllib.loads(files("stages.decode").joinpath("packs/stubs.toml").read_text("utf-8"))
    return re.compile("|".join(f"(?:{stub['pattern']})" for stub in pack["stub"]))


def is_stub_text(text: str) -> bool:
    """Return whether a plain alternative says nothing, or only that the mail must be read elsewhere."""
    folded = " ".join(text.split()).casefold()
    if not folded:
        return True
    return len(folded) <= _STUB_CHARS and _stubs().search(folded) is not None


def _is_stub(plain: Selection, rich: Selection) -> bool:
    size = sum(leaf.end - leaf.start for leaf in plain.body)
    if size > 4 * _STUB_CHARS:
        return False
    text = "".join(read_leaf(leaf).text for leaf in plain.body)
    if not is_stub_text(text):
        return False
    if not text.strip():
        return True
    return sum(len(_TAG.sub("", read_leaf(leaf).text)) for leaf in rich.body) > 2 * len(text)


def read_leaf(part: Part) -> Text:
    """Return the text of a leaf by its charset label (for HTML without one, that of its meta element)."""
    data = part.payload()
    label = part.params.get("charset")
    if not label and part.mime == "text/html":
        label = meta_charset(data)
    return decode_text(data, label)


def read_body(selection: Selection, max_html_chars: int) -> Body:
    """Return the text of the selected parts, joined in order with a blank line between them."""
    body = Body()
    if selection.lifted:
        body.repairs.append(Repair(kind="uuencoded_files", detail=f"{selection.lifted} in the text"))
    texts: list[str] = []
    length = 0
    for part in selection.body:
        read = _read_rich(part) if part.mime in RICH else read_leaf(part)
        body.charset = body.charset or read.codec
        if read.fault is not None:
            body.repairs.append(Repair(kind="charset", detail=read.fault))
        if part.mime == "text/html" or read.codec == "rtf, html":
            text, marks = _read_html(read.text, max_html_chars, body)
        else:
            text, marks = _read_plain(part, read.text, body), []
        if not text.strip():
            continue
        if texts:
            length += 2
        body.marks.extend(QuoteMark(hook=m.hook, start=m.start + length, end=m.end + length) for m in marks)
        texts.append(text)
        length += len(text)
    body.text = "\n\n".join(texts)
    return body


def _read_html(html: str, max_chars: int, body: Body) -> tuple[str, list[QuoteMark]]:
    if len(html) > max_chars:
        html = html[:max_chars]
        body.repairs.append(
            Repair(kind="html_cut", detail=f"only the first {max_chars} characters were read")
        )
    rendered = render(html)
    body.hidden = body.hidden or rendered.hidden
    return rendered.text, rendered.marks


def _read_rich(part: Part) -> Text:
    """Return the words of an RTF part, as HTML where it wraps some."""
    rich = read_rtf(part.payload())
    return Text(rich.text, "rtf, html" if rich.is_html else "rtf")


def _read_plain(part: Part, text: str, body: Body) -> str:
    text = normal_text(text)
    if "\0" in text:
        text = text.replace("\0", "")
        body.repairs.append(Repair(kind="nul_bytes", detail="dropped from the body"))
    if part.params.get("format", "").lower() == "flowed":
        text = unflow(text, delsp=part.params.get("delsp", "").lower() == "yes")
    elif part.mime == "text/enriched":
        text = _TAG.sub("", text)
    if "-----BEGIN PGP" in text:
        text = _without_armor(text, body)
    return text.strip("\n")


def normal_text(text: str) -> str:
    """Return `text` in NFC with LF line ends and no byte order mark."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.lstrip("\ufeff"))


def _without_armor(text: str, body: Body) -> str:
    """Return the words of a clear-signed message, and nothing of an encrypted block (RFC 9580 §6)."""
    signed = _ARMOR_SIGNED.search(text)
    if signed is not None:
        end = _ARMOR_SIGNATURE.search(text, signed.end())
        if end is not None:
            body.signed = True
            inner = text[signed.end() : end.start()]
            after = text.find(_ARMOR_SIGNATURE_END, end.end())
            rest = "" if after < 0 else text[after + len(_ARMOR_SIGNATURE_END) :]
            inner = "\n".join(line.removeprefix("- ") for line in inner.split("\n"))
            text = text[: signed.start()] + inner + rest
    start = text.find(_ARMOR_MESSAGE)
    if start >= 0 and (start == 0 or text[start - 1] == "\n"):
        body.encrypted = True
        stop = text.find(_ARMOR_MESSAGE_END, start)
        text = text[:start] + ("" if stop < 0 else text[stop + len(_ARMOR_MESSAGE_END) :])
    return text
