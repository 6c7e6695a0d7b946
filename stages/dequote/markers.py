"""Where earlier mail begins: separators, header blocks found by their labels, attribution lines.

Every search looks at one line first with a test that costs next to nothing, and only then at a window of
a few lines; so the whole pass is linear in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from stages.dequote.lines import TAIL, Label, Line, next_written
from stages.dequote.packs import Rule, RuleBook, label_key, phrase_key

_LABEL = re.compile(r"[*_|\s\[•]{0,6}([^:：|\t<>@]{1,34})(?:[:：]|\s\|)[*_\s]{0,4}")
_INNER_LABEL = re.compile(r"(?<=[\s>;])([^\W\d_]{2,14}):(?=\s)")
_RULE_LINE = re.compile(r"(?:[-_=*~+#/\\─━—–═＝－＿·.]\s?){5,}$")
_DASHED = re.compile(r"[-—–─=_*~]{2,}\s{0,3}(\S[^\n]{0,70}?)\s{0,3}[-—–─=_*~]{2,}")
_ADDRESS = re.compile(r"[\w.+\-=]{1,64}@[\w\-]{1,63}\.[\w.\-]{2,63}")
_TIME = re.compile(
    r"(?<!\d)\d{1,2}\s?[:.h時时点٫：]\s?\d{2}(?!\d)|\d\s?(?:[ap]\.?m\b|Uhr|時)|[٠-٩]{1,2}:[٠-٩]{2}"
)
_DAY = re.compile(
    r"(?<!\d)(?:19|20)\d\d(?!\d)|(?<!\d)\d{1,4}\s?[/.\-]\s?\d{1,2}\s?[/.\-]\s?\d{2,4}(?!\d)"
    r"|\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]|[٠-٩]{4}"
)
_FULL_DAY = re.compile(
    r"(?<!\d)(?:19|20)\d\d(?!\d)|\d{1,4}\s?[/.\-]\s?\d{1,2}\s?[/.\-]\s?\d{2,4}(?!\d)|[٠-٩]{4}"
)
_LOG_LINE = re.compile(r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d")
_STAMP_CHAR = re.compile(r"[@\d]")  # no address, date or time without one
_DATED_ADDRESS = re.compile(r"\d[^<>\n]{6,160}<[^<>\s@]{1,64}@[^<>\s]{3,120}>\s?[:：]$")
_SENTENCE_END = (".", "?", "!", ":", "：", "»", "”")  # no name and no date ends so
_LONGEST_ATTRIBUTION = 420
_CORE = ("from", "sent", "to", "cc", "subject")


class Marker:
    """The lines `[start, end)` that introduce earlier mail; `forward` if their words say "passed on"."""

    __slots__ = ("author", "bare", "end", "forward", "reader", "rule", "start")

    def __init__(
        self,
        start: int,
        end: int,
        rule: str,
        *,
        forward: bool = False,
        bare: bool = True,
        author: str = "",
        reader: str = "",
    ) -> None:
        self.start = start
        self.end = end
        self.rule = rule
        self.forward = forward
        self.author = author  # who wrote the earlier mail, as the header says
        self.reader = reader  # to whom: most often the sender of this one
        self.bare = bare  # strong enough to stand for unmarked text below it


def is_rule_line(text: str) -> bool:
    """Tell whether `text` is only a drawn line of five or more strokes."""
    return len(text) >= 5 and len(text) <= 200 and not text[0].isalnum() and bool(_RULE_LINE.match(text))


def has_stamp(book: RuleBook, text: str) -> bool:
    """Tell whether `text` names an address, a date or a time of day."""
    return bool(
        _ADDRESS.search(text) or _DAY.search(text) or _TIME.search(text)
        or (any(char.isdigit() for char in text) and book.stamp_word.search(text))
    )  # fmt: skip


def _has_strong_stamp(text: str) -> bool:
    return bool(("@" in text and _ADDRESS.search(text)) or (_DAY.search(text) and _TIME.search(text)))


def label_of(book: RuleBook, line: Line) -> Label | None:
    """Return the header label that `line` starts with, None if it starts with none."""
    found = line.label
    if isinstance(found, str):
        found = line.label = _read_label(book, line)
    return found


def _read_label(book: RuleBook, line: Line) -> Label | None:
    head = line.text[:60]
    if ":" not in head and "：" not in head and "|" not in head:
        return None
    match = _LABEL.match(head)
    if not match:
        return None
    key = label_key(match.group(1))
    if len(key) > book.label_length:
        return None
    found = book.labels.get(key)
    if not found:
        return None
    return Label(found[0][0], [rule for _, rule in found], line.text[match.end() : 1000].strip(" *|\t"))


def find_header(book: RuleBook, lines: Sequence[Line], at: int, *, led: bool = False) -> Marker | None:
    """Return the header block that starts at line `at`.

    A block holds at least three different labels, one of them the sender's, in any mix of languages, and
    an address or a date as evidence; two labels are enough where a separator or an HTML divider led to it
    (`led`). Recipient lists may be wrapped over many lines.
    """
    first = label_of(book, lines[at])
    if first is None or (at and _LOG_LINE.match(lines[at - 1].text)):
        return None
    depth = lines[at].depth
    if first.role == "from" and ":" in first.value and _is_block(_inner_values(book, first), led=led):
        return Marker(at, at + 1, first.rules[0])
    second = next_written(lines, at + 1, 2)
    if second is None or second.depth != depth:
        return None
    after = label_of(book, second)
    if (after is None and not _continues(first, second)) or (
        after is not None and after.role == first.role == "from"
    ):
        return None
    values: dict[str, str] = {}
    rules: list[str] = []
    previous, blanks, end = first, 0, at
    for index in range(at, min(len(lines), at + 60)):
        line = lines[index]
        if line.blank:
            blanks += 1
            if blanks > 1:
                break
            continue
        if line.depth != depth:
            break
        label = label_of(book, line)
        if label is not None:
            if label.role in values and label.role != "other" and (blanks or label.role == "from"):
                break
            values.setdefault(label.role, label.value)
            rules += label.rules
            previous = label
        elif blanks or not _continues(previous, line):
            break
        else:
            value = f"{values.get(previous.role, '')} {line.text[:200]}"[:2000]
            values[previous.role] = value
            previous = Label(previous.role, previous.rules, value)
        end, blanks = index + 1, 0
    if not led and "@" not in "".join(values.values()) and _is_below_words(book, lines, at):
        return None  # minutes, a plan
    if not _is_block(values, led=led):
        above = label_of(book, lines[at - 1]) if at else None
        is_notes = "to" in values and "subject" in values and "from" not in values
        is_notes = is_notes and (above is None or above.role == "other")
        start = _notes_start(lines, at) if is_notes else None
        return None if start is None else Marker(start, end, "en:header.notes")
    packs = Counter(rules)
    start = _named_start(lines, at) if first.role == "other" else at
    return Marker(
        start,
        end,
        max(packs, key=lambda rule: packs[rule]),
        author=values.get("from", ""),
        reader=values.get("to", ""),
    )


def _is_below_words(book: RuleBook, lines: Sequence[Line], at: int) -> bool:
    """Tell whether words of a text, no drawn line and no label, stand right above line `at`."""
    above = lines[at - 1] if at else None
    return not (above is None or above.blank or is_rule_line(above.text) or label_of(book, above) is not None)


def _inner_values(book: RuleBook, label: Label) -> dict[str, str]:
    """Return the values of a header that stands on one line: `From: Ivo <ivo@kelp.example> Date: 4 Mar 2026`."""
    values = {label.role: label.value}
    role, last = label.role, 0
    text = label.value[:600]
    for match in _INNER_LABEL.finditer(text):
        found = book.labels.get(label_key(match.group(1)))
        if found:
            values[role] = text[last : match.start()]
            role, last = found[0][0], match.end()
    values[role] = text[last:]
    return values


def _named_start(lines: Sequence[Line], at: int) -> int:
    """Return the line of the bare name that Lotus Notes writes right above `Sent by:`, else `at`."""
    above = lines[at - 1] if at else None
    if above is None or above.blank or above.depth != lines[at].depth or len(above.text) > 60:
        return at
    return at if above.text.endswith((".", "?", "!", ":", ",")) else at - 1


def _notes_start(lines: Sequence[Line], at: int) -> int | None:
    """Return where the name and date stand above `To:`, as Lotus Notes writes them without a label."""
    top = at
    dated = False
    for index in range(at - 1, max(at - 6, -1), -1):
        line = lines[index]
        if line.blank:
            if dated or index < at - 2:
                break
            continue
        if line.depth != lines[at].depth or len(line.text) > 90 or line.text.endswith(_SENTENCE_END):
            break
        if _LOG_LINE.match(line.text):
            return None
        stamped = bool(_DAY.search(line.text) and _TIME.search(line.text))
        if dated and (stamped or len(line.text.split()) > 6 or index < at - 5):
            break
        if not dated and not stamped and index < at - 3:
            break
        dated = dated or stamped
        top = index
    return top if dated else None


def _continues(label: Label, line: Line) -> bool:
    """Tell whether `line` goes on with the value of `label` (wrapped recipients, value on its own line)."""
    value = label.value
    if not value or value[-1] in ",;<[，；" or value.endswith("mailto:"):
        return len(line.text) < 1000
    if label.role in ("to", "cc", "from"):
        return len(line.text) < 400 and (
            "@" in line.text and not line.text.endswith((".", "。", "?", "!")) and len(line.text.split()) < 16
        )
    return False


def _is_block(values: dict[str, str], *, led: bool) -> bool:
    core = [role for role in _CORE if role in values]
    sent = values.get("sent", "")
    dated = bool(_FULL_DAY.search(sent) or _TIME.search(sent)) or _is_dated(values.get("from", ""))
    addressed = any(_ADDRESS.search(values.get(role, "")) for role in ("from", "to", "cc"))
    if "from" in values:
        if len(core) >= 3:
            return addressed or (dated and ("subject" in values or led))
        return len(core) == 2 and (dated or addressed) and (led or (dated and addressed))
    return led and len(core) >= 2 and (dated or addressed)


def _is_dated(value: str) -> bool:
    """Tell whether a sender's value ends in day and time, as Lotus Notes writes it on one line."""
    return bool(_DAY.search(value[-40:]) and _TIME.search(value[-40:]))


def find_separator(book: RuleBook, lines: Sequence[Line], at: int) -> Marker | None:
    """Return the separator ("Original Message", "转发的邮件") at line `at` with the header block below it.

    Words between dashes stand for themselves; bare words need a header block right below.
    """
    text = lines[at].text
    if text[0] in "#=-*" and at and len(text) <= 90:
        desk = book.line_rule("banner", text)
        if desk and desk.id.endswith(".reply_above"):
            return Marker(at, at + 1, desk.id)  # a help desk's line: its own history stands below
    if "&nbsp;" in text[:160]:
        text = text.replace("&nbsp;", " ").strip()  # QQ leaves the entity in its plain text
        if not text:
            return None
    rule: Rule | None = None
    if text[0] not in "-—–─=_*~":
        dashed = False
        rule = book.openings.get(text.rstrip(" :：").casefold()) if len(text) <= 60 else None
    else:
        dashed = True
        match = _DASHED.match(text[:160])
        rule = book.separators.get(phrase_key(match.group(1))) if match else None
        if rule is None:
            rule = next((rule for rule in book.separator_rules if rule.matches(text[:300])), None)
        if rule is None and len(text) <= 60:
            rule = book.separators.get(phrase_key(text))
            dashed = text[-1] == text[0]
    if rule is None:
        return None
    header = None
    for index in range(at + 1, min(at + 5, len(lines))):
        if not lines[index].blank:
            header = find_header(book, lines, index, led=True)
            break
    if header is None and (not dashed or _is_inside_sentence(lines, at)):
        return None
    marker = Marker(at, header.end if header else at + 1, rule.id, forward=rule.forward)
    if header:
        marker.author, marker.reader = header.author, header.reader
    return marker


def _is_inside_sentence(lines: Sequence[Line], at: int) -> bool:
    """Tell whether a sentence goes on over line `at`: words without a stop above, a small letter below."""
    if at == 0 or at + 1 >= len(lines) or lines[at - 1].blank or lines[at + 1].blank:
        return False
    above, below = lines[at - 1], lines[at + 1]
    return (
        above.depth == below.depth == lines[at].depth
        and above.text[-1].isalpha()
        and below.text[0].islower()
        and not is_rule_line(above.text)
    )


def find_attribution(book: RuleBook, lines: Sequence[Line], at: int, *, led: bool = False) -> Marker | None:
    """Return the attribution that ends at line `at`; it may have begun up to three lines above.

    Marked text below (`>`) makes a weak form good enough; unmarked text below asks for an address, or for
    a date together with a time. `led` says that the HTML shows a quote here.
    """
    line = lines[at]
    tail = line.text[-TAIL:].rstrip(' *"”_-—–\u3000')
    if not tail.endswith((":", "：")) and not tail.casefold().endswith(book.verbs):
        return _find_bare_stamp(lines, at) if tail.endswith(">") and "@" in tail else None
    follow = next_written(lines, at + 1)
    quoted = led or (follow is not None and follow.depth > line.depth)
    if not quoted and not any(
        _STAMP_CHAR.search(part.text[-_LONGEST_ATTRIBUTION:]) for part in lines[max(at - 3, 0) : at + 1]
    ):
        return None
    windows = _windows_up(lines, at)
    if not quoted and not _has_strong_stamp(windows[-1][1]):
        return None
    found: tuple[Rule, int, str] | None = None
    for start, window in windows:
        said = window.strip(" -—–*_\u3000") if window[0] in "-—–*_" else window.rstrip(" -—–*_\u3000")
        if book.any_attribution.fullmatch(said):
            for rule in book.attributions:
                if (found is None or not rule.weak) and any(
                    pattern.fullmatch(said) for pattern in rule.patterns
                ):
                    found = (rule, start, said)
                    break
        if found and not found[0].weak:
            break
    if found:
        rule, start, said = found
        strong = _has_strong_stamp(said)
        if not quoted and not _ADDRESS.search(said) and (said[0].islower() or _opens_citation(follow)):
            return None  # a sentence of the sender's that leads to what somebody wrote
        if strong or (quoted and (not rule.weak or has_stamp(book, said))):
            return Marker(start, at + 1, rule.id, bare=strong or led)
    if line.text[0].isdigit() and _DATED_ADDRESS.match(line.text) and _DAY.search(line.text):
        return Marker(at, at + 1, "any:attribution.stamp")
    if quoted and not led and len(line.text) <= 140 and tail.endswith((":", "：")):
        # No verb that we know, but a name and a date, a colon, and marked text right below.
        dated = _DAY.search(line.text) and (_ADDRESS.search(line.text) or _TIME.search(line.text))
        if dated or (
            len(line.text.split()) <= 14 and has_stamp(book, line.text) and not _is_sentence(line.text)
        ):
            return Marker(at, at + 1, "any:attribution.colon", bare=False)
    return None


def _opens_citation(line: Line | None) -> bool:
    return line is not None and line.text.startswith(("“", '"', "„", "«", "»", "「", "『", "‘"))


def _find_bare_stamp(lines: Sequence[Line], at: int) -> Marker | None:
    """Return an attribution that is only date, name and address, right above marked text (Gmail of 2011)."""
    text = lines[at].text
    follow = next_written(lines, at + 1)
    if follow is None or follow.depth <= lines[at].depth or len(text) > 160:
        return None
    opens = text[0].isdigit() or text.startswith("On ")
    if opens and _DAY.search(text[:40]) and _ADDRESS.search(text):
        return Marker(at, at + 1, "any:attribution.stamp", bare=False)
    return None


def _windows_up(lines: Sequence[Line], at: int) -> list[tuple[int, str]]:
    """Return the joined text of line `at` with up to three lines above it, shortest first."""
    line = lines[at]
    windows = [(at, line.text[-_LONGEST_ATTRIBUTION:])]
    for start in range(at - 1, max(at - 4, -1), -1):
        part = lines[start]
        window = f"{part.text[-_LONGEST_ATTRIBUTION:]} {windows[-1][1]}"
        if part.blank or part.depth != line.depth or len(window) > _LONGEST_ATTRIBUTION:
            break
        windows.append((start, window))
    return windows


def _is_sentence(text: str) -> bool:
    return ". " in text.rstrip(": ") or "。" in text or "?" in text
