"""The end of what the sender wrote: sign-off, signature, device line, disclaimer, list footer.

Works backwards over one region of the sender's lines. A sign-off needs its formula, or a bare name below.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stages.dequote.card import (
    REACH,
    contact_of,
    contact_rule,
    find_block,
    find_card,
    find_delimiter,
    is_card_line,
    is_short_name,
)
from stages.dequote.lines import Line
from stages.dequote.markers import is_rule_line
from stages.dequote.packs import Rule, RuleBook, phrase_key
from stages.dequote.sender import Sender
from stages.dequote.small_print import Cut, above_attachments, above_postscript, cut_small_print, trim

_DASH_NAME = re.compile(
    r"(?:[-–—~]{1,2}\s?|/(?=[A-Z]))"
    r"(?:[^\W\d_a-z][\w.'’]{0,24}(?:\s[^\W\d_][\w.'’]{0,24}){0,3}|[a-z][\w.'’]{0,14})$"
)
_LONE_NAME = re.compile(r"(?:[-–—~]{1,2}\s?)?[A-Z][\w.'’-]{1,20}(?: [A-Z][\w.'’-]{0,20}){0,2}$")
_FRAME = re.compile(r"[|｜\s]{1,20}$")  # cells of a signature card that was a table
_FORMULA_NAME = re.compile(r"\s*[,，、;；!！:：\-–—]\s*|[\s\u3000]{2,}")


def find_tail(book: RuleBook, lines: Sequence[Line], sender: Sender) -> list[Cut]:
    """Return the cuts at the end of `lines` (one region of the sender's), in the order of the text."""
    cuts: list[Cut] = []
    end = above_attachments(lines, trim(lines, len(lines)))
    end = cut_small_print(book, lines, end, cuts)
    for _ in range(3):
        delimiter = find_delimiter(lines, end)
        if delimiter is None:
            break
        _cut_delimited(book, lines, delimiter, end, cuts)
        end = cut_small_print(book, lines, trim(lines, delimiter), cuts)
    end = above_attachments(lines, end)
    postscript = above_postscript(book, lines, end)
    if postscript is not None:
        below: list[Cut] = []
        _cut_closing(book, lines[postscript:end], end - postscript, sender, below)
        for cut in below:
            cut.start, cut.end = cut.start + postscript, cut.end + postscript
        cuts += [cut for cut in below if cut.start > postscript]
        end = trim(lines, postscript)
    end = trim(lines, _cut_closing(book, lines, end, sender, cuts))
    card = find_card(book, lines, end, sender) if cuts and sender.is_known else None
    if card is not None:  # clients that add a card of their own below the typed one
        cuts.append(Cut(card, end, "signature", contact_rule(book, lines[card:end])))
    cuts.sort(key=lambda cut: cut.start)
    while cuts and cuts[0].start > 0 and _FRAME.match(lines[cuts[0].start - 1].text):
        cuts[0].start -= 1
    return cuts


def _cut_delimited(book: RuleBook, lines: Sequence[Line], delimiter: int, end: int, cuts: list[Cut]) -> None:
    """Cut what stands below `-- `: the signature, or a list footer that a server set apart in the same way."""
    rest = trim(lines, cut_small_print(book, lines, end, cuts, delimiter + 1))
    last = cuts[-1] if cuts else None
    if rest <= delimiter + 1 and last is not None and last.kind in ("list_footer", "disclaimer"):
        last.start = delimiter
    else:
        cuts.append(Cut(delimiter, rest, "signature", "any:signature.delimiter", hard=True))


def _cut_closing(book: RuleBook, lines: Sequence[Line], end: int, sender: Sender, cuts: list[Cut]) -> int:
    """Cut the sign-off and the signature that no delimiter sets apart; return the new end."""
    signoff = _find_signoff(book, lines, end, sender)
    if signoff is not None:
        start, rule = signoff
        split = _after_name(book, lines, start, end, sender)
        if split < end:
            cuts.append(Cut(split, end, "signature", contact_rule(book, lines[split:end])))
        cuts.append(Cut(start, split, "signoff", rule))
        return cut_small_print(book, lines, trim(lines, start), cuts)
    block = find_card(book, lines, end, sender)
    if block is None:
        block = find_block(book, lines, end, sender)
    if block is not None:
        cuts.append(Cut(block, end, "signature", contact_rule(book, lines[block:end])))
        end = trim(lines, block)
        signoff = _find_signoff(book, lines, end, sender)
    if signoff is not None:
        cuts.append(Cut(signoff[0], end, "signoff", signoff[1]))
        return trim(lines, signoff[0])
    name = _find_bare_name(book, lines, end, sender)
    if name is not None:
        cuts.append(Cut(name, end, "signoff", "any:signoff.name"))
        return trim(lines, name)
    return end


# --- sign-off ----------------------------------------------------------------------------------------


def _find_signoff(book: RuleBook, lines: Sequence[Line], end: int, sender: Sender) -> tuple[int, str] | None:
    """Return the first line of the closing formula and its rule.

    What stands below must look like a card: name, title, contact lines. A thanks (`weak` rule) counts only
    as a paragraph of its own or with a name below it.
    """
    words = 0
    found: tuple[int, str] | None = None
    prose = slogan = contacts = 0
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
        if text.endswith((":", "：")):
            break  # a list that stands below the closing is content
        if contact_of(book, lines[index]):
            contacts += 1
        elif not (is_card_line(text) or is_rule_line(text) or sender.is_named(text) or is_short_name(text)):
            if index == end - 1 and len(text) <= 60:
                slogan = 1  # may close a card; contact lines above must bear it out
                continue
            prose += 1
            if prose > min(contacts, 3):
                break
    return found if not slogan or contacts else None


def _formula(book: RuleBook, text: str, sender: Sender) -> Rule | None:
    """Return the sign-off rule of a line: the formula alone, or the formula and a name after it."""
    if len(text) > 90:
        return None
    rule = book.line_rule("signoff", text)
    if rule is not None:
        return rule
    both = text.split(" / ") if " / " in text else []
    if len(both) == 2 and all(book.phrases["signoff"].get(phrase_key(part)) for part in both):
        return book.phrases["signoff"].get(phrase_key(both[0]))
    parts = _FORMULA_NAME.split(text, maxsplit=1)
    if len(parts) == 2 and parts[1] and (is_short_name(parts[1]) or sender.is_named(parts[1])):
        return book.phrases["signoff"].get(phrase_key(parts[0]))
    return None


def _stands_alone(lines: Sequence[Line], index: int, end: int) -> bool:
    """Tell whether a thanks is a paragraph of its own or has a bare name right below it."""
    if index == 0 or lines[index - 1].blank:
        return True
    return index + 1 < end and not lines[index + 1].blank and is_short_name(lines[index + 1].text)


def _after_name(book: RuleBook, lines: Sequence[Line], start: int, end: int, sender: Sender) -> int:
    """Return where the sign-off that begins at `start` ends: after its formula lines and a bare name."""
    index = start
    stop = end
    while index < end and (lines[index].blank or _formula(book, lines[index].text, sender) is not None):
        index += 1
        stop = index
    if (
        index < end
        and not contact_of(book, lines[index])
        and (is_short_name(lines[index].text) or sender.is_named(lines[index].text))
    ):
        stop = index + 1
    while stop < end and lines[stop].blank:
        stop += 1
    return stop


def _find_bare_name(book: RuleBook, lines: Sequence[Line], end: int, sender: Sender) -> int | None:
    """Return the last line if it is only the sender's name, their initial, or a name after a dash.

    Where no From header tells the name, one to three capitalised words alone below a sentence are one. A short
    line with a comma right above it ("Ha det,") is a formula that no pack knows.
    """
    if end < 1:
        return None
    text = lines[end - 1].text
    alone = end == 1 or lines[end - 2].blank
    above = trim(lines, end - 1)
    comma = above > 0 and _is_comma_formula(lines, above - 1)
    lone = bool(_LONE_NAME.match(text)) and not sender.is_known and not _is_common(book, text)
    lone = lone and not (text.isupper() and len(text) > 3)
    if sender.is_name(text.strip(" -–—~*.\u3000")) or (alone and sender.is_initial(text)) or (lone and comma):
        return above - 1 if comma else end - 1
    if alone and end >= 2 and len(text) <= 40:
        if _DASH_NAME.match(text):
            return end - 1
        if lone and above > 0 and _is_prose(lines[above - 1].text):
            return end - 1
    return None


def _is_comma_formula(lines: Sequence[Line], at: int) -> bool:
    text = lines[at].text
    return (
        text.endswith((",", "，", "、"))
        and len(text) <= 30
        and len(text.split()) <= 4
        and (at == 0 or lines[at - 1].blank)
    )


def _is_prose(text: str) -> bool:
    return text.endswith((".", "!", "?", ")", "。", "！", "？")) or len(text.split()) >= 6


def _is_common(book: RuleBook, text: str) -> bool:
    """Tell whether a short line is a word that people close with and that is no name ("Thanks", "Done")."""
    return text.casefold().strip(" .-–—~") in book.no_names or _formula_rule(book, text) is not None


def _formula_rule(book: RuleBook, text: str) -> Rule | None:
    return book.phrases["signoff"].get(phrase_key(text))
