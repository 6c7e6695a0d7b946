"""Small print at the end of a text: device lines, list footers, disclaimers, and what stands below a sign-off.

Works upwards, paragraph by paragraph; each cut moves the end of what is left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.message import SegmentKind
from stages.dequote.lines import Line
from stages.dequote.markers import is_rule_line
from stages.dequote.packs import Rule, RuleBook

_REACH = 40  # lines with words that footers and disclaimers may have together
_WRAPPED = 40  # a line that an opener may be wrapped from has at least so many characters
_CITED = re.compile(
    r"“[^”]{1,400}”|„[^“”]{1,400}[“”]|«[^»]{1,400}»|「[^」]{1,400}」|『[^』]{1,400}』|\"[^\"]{1,400}\""
)
_ATTACHED = re.compile(
    r"(?:<<.{1,90}>>|\[cid:.{1,90}\]|\((?:see attached|附件).{1,90}\)"
    r"|(?:[-*•]\s{0,3}|附件[:：]\s?)\S.{0,80}\.[A-Za-z]{3,4}|\S{1,80}\.(?:pdf|docx?|xlsx?|pptx?|zip|gif|png|jpe?g|csv|ics))"
    r"[\s;；]{0,3}$",
    re.IGNORECASE,
)


_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")


class Cut:
    """Lines `[start, end)` of the region with the kind and rule that were found for them."""

    __slots__ = ("end", "hard", "kind", "rule", "start")

    def __init__(self, start: int, end: int, kind: SegmentKind, rule: str, *, hard: bool = False) -> None:
        self.start = start
        self.end = end
        self.kind: SegmentKind = kind
        self.rule = rule
        self.hard = hard  # evidence that may leave the clean text empty


def trim(lines: Sequence[Line], end: int) -> int:
    """Return `end` moved up over blank lines."""
    while end > 0 and lines[end - 1].blank:
        end -= 1
    return end


def paragraph_start(lines: Sequence[Line], end: int) -> int:
    """Return the first line of the paragraph that ends before `end`."""
    start = end
    while start > 0 and not lines[start - 1].blank:
        start -= 1
    return start


def above_attachments(lines: Sequence[Line], end: int) -> int:
    """Return `end` moved up over names of attached files and drawn lines between them; they stay the sender's."""
    at = top = end
    for _ in range(24):
        at = trim(lines, at)
        text = lines[at - 1].text if at else ""
        if not text or len(text) > 110:
            break
        at -= 1
        if _ATTACHED.match(text):
            top = at
        elif not is_rule_line(text):
            break
    return trim(lines, top)


def above_postscript(book: RuleBook, lines: Sequence[Line], end: int) -> int | None:
    """Return the first line of a "P.S." within the last paragraphs, None if there is none."""
    at = end
    for _ in range(4):
        at = trim(lines, at)
        start = paragraph_start(lines, at)
        if at == 0 or at - start > 12:
            return None
        if start > 0 and book.line_rule("postscript", lines[start].text[:40]):
            return start
        at = start
    return None


def cut_small_print(book: RuleBook, lines: Sequence[Line], end: int, cuts: list[Cut], top: int = 0) -> int:
    """Cut device lines, list footers and disclaimers off the end, down to line `top`; return the new end."""
    for _ in range(8):
        found = _last_small_print(book, lines, end, top)
        if found is None:
            return end
        if found.start > top and is_rule_line(lines[found.start - 1].text):
            found.start -= 1
        else:
            above = trim(lines, found.start)
            if above > top and found.kind != "device_line" and is_rule_line(lines[above - 1].text):
                found.start = above - 1
        if found.kind == "list_footer":
            found.start = _advert_start(lines, found.start, top)
        cuts.append(found)
        end = trim(lines, found.start)
        while end > top and is_rule_line(lines[end - 1].text) and found.kind != "device_line":
            end = found.start = trim(lines, end - 1)  # a second drawn line
        end = max(end, top)
    return end


def _advert_start(lines: Sequence[Line], start: int, top: int) -> int:
    """Return where the advertisement right above a list footer begins: a drawn line, a few lines, a link."""
    linked = False
    at = trim(lines, start)
    for index in range(at - 1, max(at - 9, top - 1), -1):
        text = lines[index].text
        if is_rule_line(text):
            return index if linked and len(text) >= 10 else start
        if lines[index].blank:
            return start
        linked = linked or "http" in text or "www." in text
    return start


def _last_small_print(book: RuleBook, lines: Sequence[Line], end: int, top: int) -> Cut | None:
    if end <= top:
        return None
    last = lines[end - 1]
    device = book.line_rule("device_line", last.text[:200])
    if device:
        return Cut(end - 1, end, "device_line", device.id, hard=True)
    seen = 0
    start = end
    best: Cut | None = None
    for _ in range(8):  # paragraphs, from the last upwards
        stop = trim(lines, start)
        if stop <= top:
            break
        start = max(paragraph_start(lines, stop), top)
        seen += stop - start
        if seen > _REACH:
            break
        found = small_print_start(book, lines, start, stop)
        if found is not None:
            best = Cut(found[0], end, found[1], found[2].id, hard=True)
            continue
        if best is not None or not all(_is_link(line.text) for line in lines[start:stop]):
            break
    return best


def small_print_start(
    book: RuleBook, lines: Sequence[Line], start: int, stop: int
) -> tuple[int, SegmentKind, Rule] | None:
    """Return where a disclaimer or list footer opens in one paragraph, also where a line break cuts its opener."""
    for index in range(start, stop):
        text = lines[index].text[:400]
        wide = text
        if len(text) >= _WRAPPED and index + 1 < stop and (index == start or _opens(lines[index - 1].text)):
            wide = " ".join(line.text[:160] for line in lines[index : index + 3])[:400]
        rule = book.line_rule("list_footer", text)
        if rule:
            if index > start and is_rule_line(lines[index - 1].text):
                index -= 1
            return index, "list_footer", rule
        rule = book.line_rule("disclaimer", wide)
        if rule and not _is_cited(rule, lines, index, wide):
            return index, "disclaimer", rule
    return None


def _is_cited(rule: Rule, lines: Sequence[Line], at: int, text: str) -> bool:
    """Tell whether the words of a disclaimer stand in quotation marks that the sender talks about."""
    outside = _CITED.sub("", text).strip(" .,;。，；")
    if len(outside) == len(text.strip(" .,;。，；")) or rule.matches(outside):
        return False
    return bool(outside) or (at > 0 and lines[at - 1].text.endswith((":", "：")))


def sentence_start(book: RuleBook, text: str) -> int | None:
    """Return where in one line, behind the sender's own sentences, a disclaimer begins; None if it does not."""
    opening = _SENTENCE.search(text[:4000]) if len(text) >= 24 else None
    if opening is None or book.line_rule("disclaimer", text[: opening.start()]):
        return None
    for number, match in enumerate(_SENTENCE.finditer(text[:4000])):
        if number > 40 or match.end() >= len(text):
            return None
        following = text[match.end() : match.end() + 300]
        stop = _SENTENCE.search(following)
        sentence = following[: stop.start()] if stop and stop.start() else following
        rule = book.line_rule("disclaimer", sentence)
        if rule and not _is_cited(rule, [], 0, sentence):
            return match.end()
    return None


def _opens(above: str) -> bool:
    """Tell whether a sentence can begin below the line `above`."""
    return is_rule_line(above) or above.endswith((".", "!", "*", "。", ">"))


def _is_link(text: str) -> bool:
    """Tell whether a line can stand below the opener of small print without saying so: a link, a rule."""
    return is_rule_line(text) or "http" in text[:200] or "www." in text[:200] or "@" in text[:100]
