"""HTML to text: hidden parts dropped, lines as a reader sees them, quote edges kept as marks."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from models.message import QuoteMark

# Edges ride through the conversion as private-use characters of plane 15; a mail's own are removed first.
_FIRST_EDGE = 0xF0000
_EDGES = re.compile("[\U000f0000-\U000f0fff]")
_MAX_MARKS = 64
_MAX_STEPS = 400  # nodes that are looked at for the first or last text of one element
_MIGHT_HIDE = (
    "display:", "display :", "mso-hide", "visibility:", " hidden",
    "opacity:0", "opacity: 0", "max-height:0", "max-height: 0", "font-size:0", "font-size: 0",
)  # fmt: skip
_NOSCRIPT = re.compile(r"<(/?)noscript\b", re.IGNORECASE)  # mail programs run no scripts: readers see it
# `<![if …]>` and `<![endif]>` alone; the `<![endif]-->` that ends a comment must stay, or all below it is comment.
_OPTION = re.compile(r"<(/?)(?:option|select)\b", re.IGNORECASE)  # a closed list has words too
_WHITE = re.compile(
    r"(?<![-a-z])color\s{0,3}:\s{0,3}(?:#fff(?:fff)?\b|white\b|rgba?\(255,\s?255,\s?255)", re.IGNORECASE
)
_PAINTED = re.compile(
    r"background(?:-color|-image)?\s{0,3}:(?!\s{0,3}(?:#fff(?:fff)?\b|white\b|none|transparent))", re.I
)
_WHITE_NAMES = frozenset({"#ffffff", "#fff", "white", "ffffff"})
_WHITE_NODES = ", ".join(
    [f'font[color="{name}" i]' for name in ("#ffffff", "#fff", "white", "ffffff")]
    + [
        f'[style*="color:{space}{value}" i]'
        for space in ("", " ")
        for value in ("#fff", "white", "rgb(255", "rgba(255")
    ]
)
_CONDITIONAL = re.compile(r"<!\[(?:if|endif)[^>]{0,200}(?<!--)>", re.IGNORECASE)
_BLANKS = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
_META = re.compile(
    rb"<meta[^>]{1,300}?charset\s{0,5}=\s{0,5}[\"']?\s{0,5}([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE
)


class Rendered(NamedTuple):
    """Text of an HTML body, its quote edges as spans of that text, and a sample of hidden text."""

    text: str
    marks: list[QuoteMark]
    hidden: str


@lru_cache(maxsize=1)
def _hooks() -> list[dict[str, Any]]:
    pack = tomllib.loads(files("stages.decode").joinpath("packs/quote_hooks.toml").read_text("utf-8"))
    hooks: list[dict[str, Any]] = pack["hook"]
    return hooks


@lru_cache(maxsize=1)
def _hidden_selectors() -> list[str]:
    pack = tomllib.loads(files("stages.decode").joinpath("packs/hidden.toml").read_text("utf-8"))
    selectors: list[str] = pack["selectors"]
    return selectors


def meta_charset(data: bytes) -> str | None:
    """Return the charset that an HTML body names for itself in its first 4 kB, None if none."""
    found = _META.search(data, 0, 4096)
    return found[1].decode("ascii") if found else None


def render(html: str) -> Rendered:
    """Return the text of `html` as a reader sees it (NFC, LF), with quote edges mapped onto it."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    source = html.replace("\0", "")
    if not source.isascii():
        source = _EDGES.sub("", source)
    if "<option" in source or "<OPTION" in source:
        source = _OPTION.sub(r"<\1div", source)
    if "<![" in source:
        source = _CONDITIONAL.sub("", source)
    if "noscript" in source or "NOSCRIPT" in source:
        source = _NOSCRIPT.sub(r"<\1div", source)
    tree = HTMLTree.parse(source)
    if tree.body is None:
        return Rendered("", [], "")
    skip: list[str] = []
    hidden = ""
    lowered = source.lower()
    if any(word in lowered for word in _MIGHT_HIDE):
        skip = _hidden_selectors()
        hidden = _sample(tree.body.query_selector_all(", ".join(skip)))
    if not hidden and ("#fff" in lowered or "white" in lowered or "rgb(255" in lowered):
        hidden = _white_sample(tree)
    hooks = _mark_edges(tree, lowered)
    text = extract_plain_text(tree, preserve_formatting=True, main_content=False, skip_elements=skip or None)
    text = tidy(text.replace("\xa0", " "))
    if not hooks:
        return Rendered(_EDGES.sub("", text) if not text.isascii() else text, [], hidden)
    plain, marks = _lift_edges(text, hooks)
    return Rendered(plain, marks, hidden)


def tidy(text: str) -> str:
    """Return converted text in NFC with LF, no space at line ends, no more than one blank line in a row."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = "\n".join(line if line == "-- " else line.rstrip(" \t") for line in text.split("\n"))
    return _BLANKS.sub("\n\n", text).strip("\n")


def _sample(nodes: Any) -> str:
    for node in _first(nodes, 5):
        if node.tag in {"style", "script", "title", "meta", "link"}:
            continue
        text = " ".join(node.text[:400].split())
        if sum(1 for c in text if c.isalnum()) >= 12:
            return str(text[:160])
    return ""


def _white_sample(tree: Any) -> str:
    """Return a piece of white text that nothing around it gives another ground; it stays in the text."""
    for node in _first(tree.body.query_selector_all(_WHITE_NODES), 20):
        style = node.getattr("style") or ""
        if not _WHITE.search(style) and (node.getattr("color") or "").lower() not in _WHITE_NAMES:
            continue
        if _has_ground(node):
            continue
        text = " ".join(node.text[:400].split())
        if sum(1 for c in text if c.isalnum()) >= 12:
            return str(text[:160])
    return ""


def _has_ground(node: Any) -> bool:
    """Return whether an element or one that it stands in has a ground of another colour than white."""
    for _ in range(_MAX_STEPS):
        if node is None or node.tag in {"html", "#document"}:
            return False
        ground = (node.getattr("bgcolor") or "").lower()
        if (ground and ground not in _WHITE_NAMES) or node.getattr("background"):
            return True
        if _PAINTED.search(node.getattr("style") or ""):
            return True
        node = node.parent
    return True


def _first(nodes: Any, count: int) -> list[Any]:
    """Return the first nodes of a collection; indexing and iterating build all of its nodes at every step."""
    return [nodes.item(index) for index in range(min(count, len(nodes)))]


def _mark_edges(tree: Any, lowered: str) -> list[str]:
    """Put a pair of edge characters around the text of every quote element; return the hook of each pair."""
    hooks: list[str] = []
    for hook in _hooks():
        if not any(word in lowered for word in hook["words"]):
            continue
        for node in _first(tree.body.query_selector_all(hook["selector"]), 2 * _MAX_MARKS):
            if len(hooks) >= _MAX_MARKS:
                return hooks
            first = _text_below(node, last=False)
            if first is None and hook["extent"] == "rest":
                first = _text_after(node)
            if first is None:
                continue
            last = _text_below(node, last=True) if hook["extent"] == "element" else None
            edge = _FIRST_EDGE + 2 * len(hooks)
            value = first.value
            lead = len(value) - len(value.lstrip())
            first.value = value[:lead] + chr(edge) + value[lead:]
            if last is not None:
                value = last.value
                end = len(value.rstrip())
                last.value = value[:end] + chr(edge + 1) + value[end:]
            hooks.append(hook["name"])
    return hooks


def _text_below(node: Any, *, last: bool) -> Any | None:
    """Return the first or last text node with something in it below `node`, looking at a bounded number."""
    stack = [node]
    for _ in range(_MAX_STEPS):
        if not stack:
            return None
        here = stack.pop()
        if here.tag == "#text":
            if here.value and here.value.strip():
                return here
            continue
        if here.tag in {"style", "script", "#comment", "head", "title"}:
            continue
        child = here.first_child if last else here.last_child
        for _ in range(_MAX_STEPS):
            if child is None:
                break
            stack.append(child)
            child = child.next if last else child.prev
    return None


def _text_after(node: Any) -> Any | None:
    """Return the first text behind an empty mark element."""
    for _ in range(_MAX_STEPS):
        sibling = node.next
        while sibling is None:
            node = node.parent
            if node is None or node.tag in {"body", "html", "#document"}:
                return None
            sibling = node.next
        found = _text_below(sibling, last=False)
        if found is not None:
            return found
        node = sibling
    return None


def _lift_edges(text: str, hooks: list[str]) -> tuple[str, list[QuoteMark]]:
    """Return `text` without edge characters and the spans that they bounded."""
    places: dict[int, int] = {}
    out: list[str] = []
    last = 0
    for before, edge in enumerate(_EDGES.finditer(text)):
        places.setdefault(ord(edge[0]) - _FIRST_EDGE, edge.start() - before)
        out.append(text[last : edge.start()])
        last = edge.end()
    out.append(text[last:])
    plain = "".join(out)
    marks = []
    for number, hook in enumerate(hooks):
        start = places.get(2 * number)
        if start is None:
            continue
        end = places.get(2 * number + 1, len(plain))
        if end > start:
            marks.append(QuoteMark(hook=hook, start=start, end=end))
    marks.sort(key=lambda mark: (mark.start, -mark.end, mark.hook))
    return plain, marks


def sanitise(html: str) -> str:
    """Return `html` with scripts, handlers, forms and remote references taken out."""
    import nh3

    tags = set(nh3.ALLOWED_TAGS) - {"img"}
    return nh3.clean(html, tags=tags, link_rel="noopener noreferrer nofollow")
