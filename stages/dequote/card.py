"""Signatures: the block below `-- `, and contact cards that no delimiter sets apart.

Nothing is cut for its place alone: a card needs the sender's name or contact lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stages.dequote.lines import Line
from stages.dequote.markers import is_rule_line
from stages.dequote.packs import Rule, RuleBook
from stages.dequote.sender import Sender
from stages.dequote.small_print import paragraph_start, trim

REACH = 16  # lines with words that a signature may have
_DELIMITER = re.compile(r"(?:--|—|——|――|–|-- ?‐)$")
_BULLET = re.compile(r"(?:[-*•·‣▪]|\d{1,2}[.)、])\s*\S")
_SENTENCE_END = (".", "。", "?", "？", "!", "！", ";", "；", "…")
_ICON = re.compile(r"^[^\w+(（<\[〒㈜\s|]{1,3}\s?")
_COMMENT = re.compile(r"-- \S")  # of a query language
_PATCH = re.compile(r"(?:@@ |\+\+\+ |--- \S|diff |Index: )")
_ABBREVIATION = re.compile(
    r"\b(?:[A-Z]{1,3}|Inc|Ltd|Corp|Co|St|Ave|Rd|Blvd|Ste|Jr|Sr|Str|Nr|Tel|Dept|Lda|Ltda|Mgr|Dir)\.$"
)
_CJK_NAME = re.compile(
    r"[\u4e00-\u9fff]{2,4}(?: [A-Z][a-z]{1,20}){0,2}$|[\uac00-\ud7a3]{2,4}$"
    r"|[\u4e00-\u9fff]{1,3}[ \u3000][\u4e00-\u9fff\u3040-\u309f]{1,4}$"
)
_FULL_NAME = re.compile(
    r"(?:[\"'“]?[^\W\d_][\w.'’-]{0,24}[\"'”]?[ ]){1,4}[^\W\d_][\w.'’-]{0,24}"
    r"(?:,? [A-Z][A-Za-z.]{1,5}){0,2}(?:\s?[(（][^()（）]{1,24}[)）])?$"
)


def find_delimiter(lines: Sequence[Line], end: int) -> int | None:
    """Return the line of `-- ` (RFC 3676 §4.3) with at most `REACH` lines of words below it."""
    below = bullets = 0
    for index in range(end - 1, max(end - 60, -1), -1):
        text = lines[index].text
        if not text:
            continue
        if len(text) <= 3 and _DELIMITER.match(text):
            if _is_divider(lines, index, end):
                return None
            return index if bullets * 2 <= below or below <= 2 else None
        if _PATCH.match(text):
            return None  # a patch below the delimiter is what the mail is about
        below += 1
        bullets += bool(_BULLET.match(text))
        if below > REACH:
            return None
    return None


def _is_divider(lines: Sequence[Line], at: int, end: int) -> bool:
    """Tell whether a line of dashes is the sender's own: another one above and whole sentences below, or
    comments of a query language on both sides."""
    above = [line.text for line in lines[max(at - REACH, 0) : at] if not line.blank]
    below = [line.text for line in lines[at + 1 : end] if not line.blank]
    if not below:
        return False
    if _COMMENT.match(below[0]):
        return any(_COMMENT.match(text) for text in above)
    return all(text.endswith(_SENTENCE_END) for text in below) and any(map(_DELIMITER.match, above))


def find_card(book: RuleBook, lines: Sequence[Line], end: int, sender: Sender) -> int | None:
    """Return where a block begins that the sender's own name, address or company name heads.

    Below the name only card lines may stand; a second line is enough, for the From header vouches for it.
    """
    words = contacts = 0
    best: int | None = None
    for index in range(end - 1, max(end - 40, -1), -1):
        text = lines[index].text
        if not text:
            continue
        contact = contact_of(book, lines[index]) is not None
        if sender.holds_name(text):
            if words or contact or sender.is_company(text):
                best = index
            if not sender.is_foreign(text) and (words or contact) and "@" not in text:
                break  # the head of the card; an address line stands further down in it
        elif sender.is_company(text) and is_card_line(text):
            above = lines[index - 1].text if index else ""
            if is_short_name(above) and sender.may_sign(above) and not is_led(lines, index - 1):
                best = index - 1
                break
        elif not (contact or is_card_line(text) or is_rule_line(text)):
            break
        if contact and sender.is_foreign(text):
            return None
        contacts += contact
        words += 1
        if words > REACH:
            break
    if best is None:
        return None
    while best > 0 and lines[best - 1].text and _may_head(book, lines[best - 1]):
        best -= 1
    return best


def is_led(lines: Sequence[Line], at: int) -> bool:
    """Tell whether prose stands right above line `at`, or the paragraph above announces it with a colon."""
    if at > 0 and not lines[at - 1].blank:
        return True
    above = trim(lines, at)
    return above > 0 and lines[above - 1].text.endswith((":", "："))


def _may_head(book: RuleBook, line: Line) -> bool:
    """Tell whether a line right above the name belongs to the card: a drawn line, a frame, a company."""
    text = line.text
    return (
        is_rule_line(text)
        or not any(char.isalnum() for char in text)
        or (is_card_line(text) and contact_of(book, line) is not None)
    )


def find_block(book: RuleBook, lines: Sequence[Line], end: int, sender: Sender) -> int | None:
    """Return where a contact block without delimiter and without the sender's name begins.

    Walks up while lines look like a card. Needs two kinds of contact lines, or one in a drawn box or below a
    name that can be the sender's, in paragraphs of their own; a block that the text announces with a colon,
    or that follows another card, is content.
    """
    kinds: set[str] = set()
    boxes = words = labelled = 0
    best: int | None = None
    for index in range(end - 1, max(end - 40, -1), -1):
        text = lines[index].text
        if not text:
            if best is not None and boxes % 2 == 0:
                break
            continue
        words += 1
        contact = contact_of(book, lines[index])
        if words > REACH or (contact and sender.is_foreign(text)):
            return None
        if contact:
            labelled += contact.id.endswith(".labels")
            kinds.add(contact.id)
        elif is_rule_line(text):
            boxes += 1
        elif not is_card_line(text):
            break
        if len(kinds) >= 2 or labelled >= 2 or (kinds and boxes):
            best = index
        elif kinds and _heads_card(book, lines, index, sender):
            best = index
            break
        if boxes == 2 and is_rule_line(text):
            break
    if best is None or (not boxes and best > 0 and not lines[best - 1].blank):
        return None
    above = trim(lines, best)
    if above and lines[above - 1].text.endswith((":", "：")):
        return None
    if sender.is_known and _FULL_NAME.match(lines[best].text) and not sender.may_sign(lines[best].text):
        return None
    return _with_name_above(book, lines, best, sender)


def _with_name_above(book: RuleBook, lines: Sequence[Line], best: int, sender: Sender) -> int:
    """Return the start of a short paragraph of name and title right above the contact lines, else `best`."""
    stop = trim(lines, best)
    start = paragraph_start(lines, stop)
    if stop == 0 or stop < best - 2 or stop - start > 3 or _FULL_NAME.match(lines[best].text):
        return best
    name = lines[start].text
    if not all(is_card_line(line.text) for line in lines[start:stop]) or is_led(lines, start):
        return best
    if not sender.is_named(name) and not (_FULL_NAME.match(name) and sender.may_sign(name)):
        return best
    return start


def _heads_card(book: RuleBook, lines: Sequence[Line], at: int, sender: Sender) -> bool:
    """Tell whether a line is a name in a paragraph of its own that no card stands right above."""
    text = lines[at].text
    if at and not lines[at - 1].blank:
        return False
    if not (_FULL_NAME.match(text) or (is_short_name(text) and (text[0].isupper() or _CJK_NAME.match(text)))):
        return False
    if not sender.may_sign(text):
        return False
    above = trim(lines, at)
    return not any(contact_of(book, line) for line in lines[paragraph_start(lines, above) : above])


def contact_of(book: RuleBook, line: Line) -> Rule | None:
    """Return the contact rule of a line that is short enough for a card."""
    if line.contact is None:
        text = line.text
        rule = book.line_rule("contact", _ICON.sub("", text)) if 0 < len(text) <= 160 else None
        if rule and (
            (rule.id.endswith(".title") and not is_card_line(text)) or book.line_rule("postscript", text)
        ):
            rule = None
        line.contact = rule or False
    return line.contact or None


def contact_rule(book: RuleBook, lines: Sequence[Line]) -> str:
    for line in lines:
        rule = contact_of(book, line)
        if rule:
            return rule.id
    return "any:signature.block"


def is_card_line(text: str) -> bool:
    """Tell whether a line could stand on a business card: short, no sentence, no bullet, no question."""
    if len(text) > 60 or text.endswith((":", "：", ",", "，")):
        return False
    if text.endswith(_SENTENCE_END) and not _ABBREVIATION.search(text):
        return False
    if _BULLET.match(text):
        return False
    if text[0] < "\u2e80":
        return len(text.split()) <= 7 and not text[0].islower()
    return len(text) <= 24 and "，" not in text and "、" not in text and "。" not in text


def is_short_name(text: str) -> bool:
    """Tell whether a line can be a bare name: up to four words or eight CJK characters, no sentence."""
    text = text.strip(" -–—~*_\u3000()（）")
    if not text or len(text) > 36 or text[-1] in "?？!！。:：;；," or any(char.isdigit() for char in text):
        return False
    if text.isascii() or text[0].isascii():
        return len(text.split()) <= 4
    return len(text) <= 30 if " " in text and text[0].isalpha() and ord(text[0]) < 0x2E80 else len(text) <= 10
