"""The end of what the sender wrote: sign-off, signature, device line, disclaimer, list footer.

Works backwards over one region of the sender's lines. Nothing is cut for its place alone: a sign-off needs
its formula, a signature the `-- ` delimiter, contact lines, or the sender's own name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.message import SegmentKind
from stages.dequote.lines import Line
from stages.dequote.markers import is_rule_line
from stages.dequote.packs import Rule, RuleBook, phrase_key
from stages.dequote.sender import Sender

REACH = 16  # lines with words that a signature may have
_FOOTER_REACH = 40  # lines with words that footers and disclaimers may have together
_DELIMITER = re.compile(r"(?:--|—|——|――|–|-- ?‐)$")
_BULLET = re.compile(r"(?:[-*•·‣▪]|\d{1,2}[.)、])\s*\S")
_SENTENCE_END = (".", "。", "?", "？", "!", "！", ";", "；", "…")
_DASH_NAME = re.compile(
    r"(?:[-–—~]{1,2}\s?|/(?=[A-Z]))[^\W\d_][\w.'’]{0,24}(?:\s[^\W\d_][\w.'’]{0,24}){0,3}$"
)
_ICON = re.compile(r"^[^\w+(（<\[〒㈜\s|]{1,3}\s?")
_PATCH = re.compile(r"(?:@@ |\+\+\+ |--- \S|diff |Index: )")
_FRAME = re.compile(r"[|｜\s]{1,20}$")  # cells of a signature card that was a table
_FORMULA_NAME = re.compile(r"\s*[,，、;；!！:：\-–—]\s*|[\s\u3000]{2,}")


class Cut:
    """Lines `[start, end)` of the region with the kind and rule that were found for them."""

    __slots__ = ("end", "hard", "kind", "rule", "start")

    def __init__(self, start: int, end: int, kind: SegmentKind, rule: str, *, hard: bool = False) -> None:
        self.start = start
        self.end = end
        self.kind: SegmentKind = kind
        self.rule = rule
        self.hard = hard  # evidence that may leave the clean text empty


def find_tail(book: RuleBook, lines: Sequence[Line], sender: Sender) -> list[Cut]:
    """Return the cuts at the end of `lines` (one region of the sender's), in the order of the text."""
    cuts: list[Cut] = []
    end = _trim(lines, len(lines))
    end = _cut_small_print(book, lines, end, cuts)
    delimiter = _find_delimiter(lines, end)
    if delimiter is not None:
        cuts.append(Cut(delimiter, end, "signature", "any:signature.delimiter", hard=True))
        end = _trim(lines, delimiter)
        end = _cut_small_print(book, lines, end, cuts)
    signoff = _find_signoff(book, lines, end, sender)
    if signoff is not None:
        start, rule = signoff
        split = _after_name(book, lines, start, end, sender)
        if split < end:
            cuts.append(Cut(split, end, "signature", _contact_rule(book, lines[split:end])))
        cuts.append(Cut(start, split, "signoff", rule))
        end = _trim(lines, start)
        end = _cut_small_print(book, lines, end, cuts)
    else:
        block = _find_card(book, lines, end, sender)
        if block is None:
            block = _find_block(book, lines, end, sender)
        if block is not None:
            cuts.append(Cut(block, end, "signature", _contact_rule(book, lines[block:end])))
            end = _trim(lines, block)
            signoff = _find_signoff(book, lines, end, sender)
        if signoff is not None:
            cuts.append(Cut(signoff[0], end, "signoff", signoff[1]))
        else:
            name = _find_bare_name(lines, end, sender)
            if name is not None:
                cuts.append(Cut(name, end, "signoff", "any:signoff.name"))
    cuts.sort(key=lambda cut: cut.start)
    while cuts and cuts[0].start > 0 and _FRAME.match(lines[cuts[0].start - 1].text):
        cuts[0].start -= 1
    return cuts


def _trim(lines: Sequence[Line], end: int) -> int:
    """Return `end` moved up over blank lines."""
    while end > 0 and lines[end - 1].blank:
        end -= 1
    return end


def _paragraph_start(lines: Sequence[Line], end: int) -> int:
    start = end
    while start > 0 and not lines[start - 1].blank:
        start -= 1
    return start


# --- small print -------------------------------------------------------------------------------------


def _cut_small_print(book: RuleBook, lines: Sequence[Line], end: int, cuts: list[Cut]) -> int:
    """Cut device lines, list footers and disclaimers off the end; return the new end."""
    for _ in range(8):
        found = _last_small_print(book, lines, end)
        if found is None:
            return end
        if found.start > 0 and is_rule_line(lines[found.start - 1].text):
            found.start -= 1
        else:
            above = _trim(lines, found.start)
            if above and found.kind != "device_line" and is_rule_line(lines[above - 1].text):
                found.start = above - 1
        cuts.append(found)
        end = _trim(lines, found.start)
    return end


def _last_small_print(book: RuleBook, lines: Sequence[Line], end: int) -> Cut | None:
    if end == 0:
        return None
    last = lines[end - 1]
    device = book.line_rule("device_line", last.text[:200])
    if device:
        return Cut(end - 1, end, "device_line", device.id, hard=True)
    seen = 0
    start = end
    best: Cut | None = None
    for _ in range(8):  # paragraphs, from the last upwards
        stop = _trim(lines, start)
        if stop == 0:
            break
        start = _paragraph_start(lines, stop)
        seen += stop - start
        if seen > _FOOTER_REACH:
            break
        found = _small_print_start(book, lines, start, stop)
        if found is not None:
            best = Cut(found[0], end, found[1], found[2].id, hard=True)
            continue
        if best is not None or not all(_is_link(line.text) for line in lines[start:stop]):
            break
    return best


def _small_print_start(
    book: RuleBook, lines: Sequence[Line], start: int, stop: int
) -> tuple[int, SegmentKind, Rule] | None:
    """Return where a disclaimer or list footer opens in one paragraph."""
    for index in range(start, stop):
        text = lines[index].text[:400]
        rule = book.line_rule("list_footer", text)
        if rule:
            if index > start and is_rule_line(lines[index - 1].text):
                index -= 1
            return index, "list_footer", rule
        rule = book.line_rule("disclaimer", text)
        if rule:
            return index, "disclaimer", rule
    return None


def _is_link(text: str) -> bool:
    """Tell whether a line can stand below the opener of small print without saying so: a link, a rule."""
    return is_rule_line(text) or "http" in text[:200] or "www." in text[:200] or "@" in text[:100]


# --- signature ---------------------------------------------------------------------------------------


def _find_delimiter(lines: Sequence[Line], end: int) -> int | None:
    """Return the line of `-- ` (RFC 3676 §4.3) with at most `REACH` lines of words below it."""
    below = bullets = 0
    for index in range(end - 1, max(end - 60, -1), -1):
        text = lines[index].text
        if not text:
            continue
        if len(text) <= 3 and _DELIMITER.match(text):
            return index if bullets * 2 <= below or below <= 2 else None
        if _PATCH.match(text):
            return None  # a patch below the delimiter is what the mail is about
        below += 1
        bullets += bool(_BULLET.match(text))
        if below > REACH:
            return None
    return None


def _find_card(book: RuleBook, lines: Sequence[Line], end: int, sender: Sender) -> int | None:
    """Return where a block begins that the sender's own name, address or company name heads.

    Below the name only card lines may stand; a second line is enough, for the From header vouches for it.
    """
    words = contacts = 0
    best: int | None = None
    for index in range(end - 1, max(end - 40, -1), -1):
        text = lines[index].text
        if not text:
            continue
        contact = _contact(book, lines[index]) is not None
        if sender.holds_name(text):
            if words or contact or sender.is_company(text):
                best = index
            if not sender.is_foreign(text) and (words or contact):
                break
        elif sender.is_company(text) and _is_card_line(text):
            above = lines[index - 1].text if index else ""
            if _is_short_name(above) and sender.may_sign(above) and not _is_led(lines, index - 1):
                best = index - 1
                break
        elif not (contact or _is_card_line(text) or is_rule_line(text)):
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


def _is_led(lines: Sequence[Line], at: int) -> bool:
    """Tell whether prose stands right above line `at`, or the paragraph above announces it with a colon."""
    if at > 0 and not lines[at - 1].blank:
        return True
    above = _trim(lines, at)
    return above > 0 and lines[above - 1].text.endswith((":", "："))


def _may_head(book: RuleBook, line: Line) -> bool:
    """Tell whether a line right above the name belongs to the card: a drawn line, a frame, a company."""
    text = line.text
    return (
        is_rule_line(text)
        or not any(char.isalnum() for char in text)
        or (_is_card_line(text) and _contact(book, line) is not None)
    )


def _find_block(book: RuleBook, lines: Sequence[Line], end: int, sender: Sender) -> int | None:
    """Return where a contact block without delimiter and without the sender's name begins.

    Walks up while lines look like a card. Needs two kinds of contact lines, or one in a drawn box, in
    paragraphs of their own; a block that the text announces with a colon is content.
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
        contact = _contact(book, lines[index])
        if words > REACH or (contact and sender.is_foreign(text)):
            return None
        if contact:
            labelled += contact.id.endswith(".labels")
            kinds.add(contact.id)
        elif is_rule_line(text):
            boxes += 1
        elif not _is_card_line(text):
            break
        if len(kinds) >= 2 or labelled >= 2 or (kinds and boxes):
            best = index
        if boxes == 2 and is_rule_line(text):
            break
    if best is None or (not boxes and best > 0 and not lines[best - 1].blank):
        return None
    above = _trim(lines, best)
    if above and lines[above - 1].text.endswith((":", "：")):
        return None
    return best


def _contact(book: RuleBook, line: Line) -> Rule | None:
    """Return the contact rule of a line that is short enough for a card."""
    if line.contact is None:
        text = line.text
        rule = book.line_rule("contact", _ICON.sub("", text)) if 0 < len(text) <= 160 else None
        line.contact = rule or False
    return line.contact or None


def _contact_rule(book: RuleBook, lines: Sequence[Line]) -> str:
    for line in lines:
        rule = _contact(book, line)
        if rule:
            return rule.id
    return "any:signature.block"


def _is_card_line(text: str) -> bool:
    """Tell whether a line could stand on a business card: short, no sentence, no bullet, no question."""
    if len(text) > 60 or text.endswith(_SENTENCE_END) or text.endswith((":", "：", ",", "，")):
        return False
    if _BULLET.match(text):
        return False
    if text.isascii() or text[0].isascii():
        return len(text.split()) <= 7 and not text[0].islower()
    return len(text) <= 24 and "，" not in text and "、" not in text and "。" not in text


# --- sign-off ----------------------------------------------------------------------------------------


def _find_signoff(book: RuleBook, lines: Sequence[Line], end: int, sender: Sender) -> tuple[int, str] | None:
    """Return the first line of the closing formula and its rule.

    What stands below must look like a card: name, title, contact lines. A thanks (`weak` rule) counts only
    as a paragraph of its own or with a name below it.
    """
    words = 0
    found: tuple[int, str] | None = None
    prose = 0
    contacts = 0
    for index in range(end - 1, max(end - 40, -1), -1):
        text = lines[index].text
        if not text:
            continue
        words += 1
        if words > REACH:
            break
        rule = _formula(book, text, sender)
        if rule is not None:
            if rule.weak and not _stands_alone(lines, index, end) and found is None:
                break
            if rule.weak and found is not None and not (index == 0 or lines[index - 1].blank):
                break
            found = (index, rule.id)
            continue
        if found is not None:
            break
        if _contact(book, lines[index]):
            contacts += 1
        elif not (_is_card_line(text) or is_rule_line(text) or sender.is_named(text) or _is_short_name(text)):
            prose += 1
            if prose > min(contacts, 3):
                break
    return found


def _formula(book: RuleBook, text: str, sender: Sender) -> Rule | None:
    """Return the sign-off rule of a line: the formula alone, or the formula and a name after it."""
    if len(text) > 90:
        return None
    rule = book.line_rule("signoff", text)
    if rule is not None:
        return rule
    parts = _FORMULA_NAME.split(text, maxsplit=1)
    if len(parts) == 2 and parts[1] and (_is_short_name(parts[1]) or sender.is_named(parts[1])):
        return book.phrases["signoff"].get(phrase_key(parts[0]))
    return None


def _stands_alone(lines: Sequence[Line], index: int, end: int) -> bool:
    """Tell whether a thanks is a paragraph of its own or has a bare name right below it."""
    if index == 0 or lines[index - 1].blank:
        return True
    return index + 1 < end and not lines[index + 1].blank and _is_short_name(lines[index + 1].text)


def _is_short_name(text: str) -> bool:
    """Tell whether a line can be a bare name: up to four words or eight CJK characters, no sentence."""
    text = text.strip(" -–—~*_\u3000()（）")
    if not text or len(text) > 36 or text[-1] in "?？!！。:：;；," or any(char.isdigit() for char in text):
        return False
    if text.isascii() or text[0].isascii():
        return len(text.split()) <= 4
    return len(text) <= 30 if " " in text and text[0].isalpha() and ord(text[0]) < 0x2E80 else len(text) <= 10


def _after_name(book: RuleBook, lines: Sequence[Line], start: int, end: int, sender: Sender) -> int:
    """Return where the sign-off that begins at `start` ends: after its formula lines and a bare name."""
    index = start
    stop = end
    while index < end and (lines[index].blank or _formula(book, lines[index].text, sender) is not None):
        index += 1
        stop = index
    if (
        index < end
        and not _contact(book, lines[index])
        and (_is_short_name(lines[index].text) or sender.is_named(lines[index].text))
    ):
        stop = index + 1
    while stop < end and lines[stop].blank:
        stop += 1
    return stop


def _find_bare_name(lines: Sequence[Line], end: int, sender: Sender) -> int | None:
    """Return the last line if it is only the sender's name, their initial, or a name after a dash.

    A short line with a comma right above it ("Ha det,") is a formula that no pack knows.
    """
    if end < 1:
        return None
    text = lines[end - 1].text
    alone = end == 1 or lines[end - 2].blank
    if sender.is_name(text.strip(" -–—~*.\u3000")) or (alone and sender.is_initial(text)):
        above = lines[end - 2].text if end >= 2 else ""
        if above.endswith((",", "，", "、")) and len(above.split()) <= 4 and len(above) <= 30:
            return end - 2 if end == 2 or lines[end - 3].blank else end - 1
        return end - 1
    if end >= 2 and alone and len(text) <= 40 and _DASH_NAME.match(text):
        return end - 1
    return None
