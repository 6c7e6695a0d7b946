"""The pass over the lines: markers first, then quotes, then the end of the sender's own text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.message import Dequoted, QuoteMark, Segment, SegmentKind
from models.subjects import read_subject
from stages.dequote.answers import find_labelled
from stages.dequote.config import DequotePolicy
from stages.dequote.known import KnownText, find_changed, find_known
from stages.dequote.lines import Line, next_written, split_lines
from stages.dequote.markers import (
    Marker,
    find_attribution,
    find_header,
    find_separator,
    is_rule_line,
    label_of,
)
from stages.dequote.packs import RuleBook, rule_book
from stages.dequote.records import DequoteInput
from stages.dequote.sender import Sender
from stages.dequote.small_print import sentence_start
from stages.dequote.tail import find_tail

_BLANKS = re.compile(r"\n{3,}")
_COMMAND = re.compile(
    r"(?:[$%#] \S|(?:cd|cat|ls|rm|cp|mv) [-/~.]|(?:curl|wget) (?:-|http)|ssh \S{1,40}@"
    r"|[a-z][\w\-]{1,20} --?[a-z]|[a-z]\w{0,20} = \S"
    r"|(?:import|from|def|print|const|let|var|select|npm|git|pip|sudo) \S|\w{1,40}(?: = |\())"
)
_SHELL = re.compile(r"\S{0,40}[$#%] \S")
_TAG = re.compile(r"[【\[〔]([^】\]〕\n]{1,24})[】\]〕]")
_COLOURED = "coloured"  # the hook of text in a colour of its own; it is no quote
_OPENING = ("attribution", "forward_header")
_STRATEGY = (
    ("attribution", "marker"), ("quote", "quote"), ("forward_header", "forward"), ("forward_body", "forward"),
    ("signoff", "signoff"), ("signature", "signature"), ("device_line", "device"),
    ("disclaimer", "disclaimer"), ("list_footer", "footer"), ("banner", "banner"),
)  # fmt: skip


class Mark:
    """What one line is: kind, rule, quote depth, and whether hard evidence says so."""

    __slots__ = ("depth", "hard", "kind", "rule")

    def __init__(self, kind: SegmentKind, rule: str, depth: int = 0, *, hard: bool = True) -> None:
        self.kind: SegmentKind = kind
        self.rule = rule
        self.depth = depth
        self.hard = hard


OWN = Mark("reply", "", 0)


def segment_message(message: DequoteInput, policy: DequotePolicy, earlier: Sequence[str] = ()) -> Dequoted:
    """Return the segments of the message and the clean text that `policy` keeps."""
    text = message.text
    truncated = len(text) > policy.max_chars
    if truncated:
        text = text[: policy.max_chars]
    if not text.strip():
        return Dequoted(text=text, clean="", truncated=truncated, segments=_whole(text))
    book = rule_book()
    lines = split_lines(text, [mark for mark in message.quote_marks if mark.hook != _COLOURED])
    sender = Sender(message.from_)
    scan = Scan(book, text, lines, sender, message.subject)
    scan.find_quotes()
    scan.find_coloured([mark for mark in message.quote_marks if mark.hook == _COLOURED])
    if earlier:
        scan.align(KnownText(earlier))
    scan.find_banner()
    scan.find_tails()
    removed = removed_kinds(policy)
    if not any(
        mark.kind not in removed and not line.blank for mark, line in zip(scan.marks, lines, strict=True)
    ):
        scan.keep_soft()
    segments = join_segments(lines, scan.marks)
    clean = join_clean(text, segments, removed)
    return Dequoted(
        text=text,
        clean=clean,
        segments=segments,
        strategy=_strategy(segments, removed),
        is_forward=scan.is_forward,
        truncated=truncated,
    )


def removed_kinds(policy: DequotePolicy) -> frozenset[str]:
    """Return the kinds that do not stand in the clean text under `policy`."""
    kinds = {"attribution", "quote", "disclaimer", "list_footer", "banner"}
    if policy.signature_policy == "removed":
        kinds |= {"signature", "device_line"}
    if policy.signoff_policy == "removed":
        kinds.add("signoff")
    if policy.forward_policy == "removed":
        kinds |= {"forward_header", "forward_body"}
    return frozenset(kinds)


class Scan:
    """One message under work: a mark for each line, filled in three passes."""

    def __init__(self, book: RuleBook, text: str, lines: list[Line], sender: Sender, subject: str) -> None:
        self.book = book
        self.text = text
        self.lines = lines
        self.sender = sender
        self.marks: list[Mark] = [OWN] * len(lines)
        marks = read_subject(subject).marks[:1] if subject else ()
        self.is_reply = marks == ("reply",)
        self.passed_on = marks == ("forward",)
        self.is_forward = False
        self._runs: list[tuple[int, int]] = []  # marked quote runs that nothing introduces
        self._introduced = False
        self._mended = -1  # line of an attribution whose address a line break had cut
        self._own = 0  # no line above this one is the sender's

    # --- quotes ---------------------------------------------------------------------------------------

    def find_quotes(self) -> None:
        """Mark attributions, headers, quotes and forwarded mail; what is left is the sender's own."""
        at = 0
        while at < len(self.lines):
            line = self.lines[at]
            if line.blank and not line.depth:
                at += 1
            elif line.depth and not self._mend_attribution(at):
                at = self._mark_run(at)
            else:
                marker = self._marker_at(at)
                at = self._mark_below(marker) if marker else at + 1
        self._judge_runs()

    def _mend_attribution(self, at: int) -> bool:
        """Take the marks from a line that only closes the address above it (`Ivo <ivo@kelp.example` / `> wrote:`)."""
        line = self.lines[at]
        if at == 0 or line.depth != 1 or len(line.text) > 60 or self.lines[at - 1].depth:
            return False
        opened = self.lines[at - 1].text[-120:].rpartition("<")[2]
        if (
            "@" not in opened
            or ">" in opened
            or not line.text.rstrip(": ：").casefold().endswith(self.book.verbs)
        ):
            return False
        self.lines[at - 1].text += ">"
        line.depth, line.marked = 0, False
        self._mended = at
        return True

    def _marker_at(self, at: int) -> Marker | None:
        led = self.lines[at].boxed > 0 and self._opens_box(at)
        marker = find_separator(self.book, self.lines, at)
        if marker and ":banner." in marker.rule and not self._has_own_before(at):
            return None  # the line stands on top of a help desk's own mail
        if marker is None and label_of(self.book, self.lines[at]) is not None:
            marker = find_header(self.book, self.lines, at, led=led or self._is_ruled(at))
        marker = marker or find_attribution(self.book, self.lines, at, led=led)
        if marker and marker.start == self._mended:
            marker.start -= 1
        return marker

    def _opens_box(self, at: int) -> bool:
        """Tell whether line `at` is one of the first three with words in its HTML container."""
        box, words = self.lines[at].boxed, 0
        for index in range(at, max(at - 12, -1), -1):
            if self.lines[index].boxed != box:
                return words <= 3
            words += not self.lines[index].blank
        return words <= 3

    def _is_ruled(self, at: int) -> bool:
        """Tell whether a drawn line stands right above line `at`."""
        above = self._written_above(at)
        return above is not None and is_rule_line(self.lines[above].text)

    def _written_above(self, at: int, reach: int = 3) -> int | None:
        for index in range(at - 1, max(at - 1 - reach, -1), -1):
            if not self.lines[index].blank:
                return index
        return None

    def _mark_below(self, marker: Marker) -> int:
        """Mark the marker's lines and the earlier mail below it; return the line after both."""
        self._introduced = True
        start = marker.start
        above = self._written_above(start)
        if above is not None and self.marks[above] is OWN and is_rule_line(self.lines[above].text):
            start = above
        own_above = self._has_own_before(start)
        is_header = ":attribution." not in marker.rule and ":banner." not in marker.rule
        forward = marker.forward or (
            is_header and (self.passed_on or (not own_above and not self.is_reply and start == self._first()))
        )
        self.is_forward = self.is_forward or forward
        base = self.lines[marker.start].depth
        kind: SegmentKind = "banner" if ":banner." in marker.rule else "attribution"
        head = Mark("forward_header" if forward else kind, marker.rule, base)
        for index in range(start, marker.end):
            self.marks[index] = head
        follow = next_written(self.lines, marker.end)
        if follow is not None and follow.depth > base:
            end = self._mark_run(marker.end, marker.rule, forward=forward)
            if not forward or end >= len(self.lines) or self.lines[end].blank:
                return end
            return self._mark_bare(end, "forward_body", marker.rule)  # marks lost by wrapping
        if not marker.bare:
            return marker.end
        end = self._mark_bare(marker.end, "forward_body" if forward else "quote", marker.rule)
        if end == len(self.lines) and marker.author:
            self._give_back_below(marker, end, own_above)
        self._give_back_labelled(marker, end)
        return end

    def _give_back_labelled(self, marker: Marker, end: int) -> None:
        """Give back answers that a label sets apart in an unmarked earlier mail."""
        part = self.lines[marker.end : end]
        above = " ".join(
            line.text[:400] for line in self.lines[max(marker.start - 12, 0) : marker.start]
        ).casefold()
        names = [name for name in (self.sender, Sender.of_header(marker.reader)) if name.is_known]
        found = find_labelled(self.book, part, lambda line: self.text[line.start : line.end], above, names)
        for at in found:
            self.marks[marker.end + at] = OWN
        below = next(
            (at for at, line in enumerate(part) if not line.blank and self._is_own_rule(line.text)), None
        )
        if below is not None:
            self.marks[marker.end + below : end] = [OWN] * (end - marker.end - below)

    def _is_own_rule(self, text: str) -> bool:
        """Tell whether a line says that the sender's own words follow (`--- 我的回复 ---`)."""
        return self.book.line_rule("own_below", text[:80]) is not None

    def _give_back_below(self, marker: Marker, end: int, own_above: bool) -> None:
        """Give back what the sender wrote below an unmarked earlier mail.

        It begins below the name that closes that mail. Evidence is the sender's own name in its last lines, or
        that a reply would hold nothing else; not where a header or an attribution follows.
        """
        author = Sender.of_header(marker.author)
        if not author.is_known or author.email == self.sender.email != "":
            return
        close = None
        for index in range(marker.end, end):
            line = self.lines[index]
            if line.blank:
                continue
            if line.depth or self.marks[index].depth != 1:
                return
            if index > marker.end and author.is_name(line.text.strip(" -–—~*.\u3000")):
                close = index
        if (
            close is None
            or close + 1 >= end
            or not (self.lines[close + 1].blank or is_rule_line(self.lines[close + 1].text))
        ):
            return
        words = [line.text for line in self.lines[close + 1 : end] if not line.blank]
        reader = Sender.of_header(marker.reader)
        named = any(self.sender.is_named(text) for text in words[-3:])
        tag = _TAG.match(words[0]) if words else None
        named = named or (tag is not None and any(n.is_name(tag.group(1)) for n in (self.sender, reader)))
        if not words or not (named or (self.is_reply and not own_above)):
            return
        if any(
            find_attribution(self.book, self.lines, index)
            for index in range(close + 1, end)
            if not self.lines[index].blank
        ):
            return
        self.marks[close + 1 : end] = [OWN] * (end - close - 1)

    def _has_own_before(self, at: int) -> bool:
        """Tell whether a line with words above line `at` is the sender's own."""
        while self._own < at and (self.lines[self._own].blank or self.marks[self._own] is not OWN):
            self._own += 1
        return self._own < at

    def _first(self) -> int:
        return next(index for index, line in enumerate(self.lines) if not line.blank)

    def _mark_bare(self, start: int, kind: SegmentKind, rule: str) -> int:
        """Mark unmarked earlier mail from `start` on: to the end of its HTML container, else of the text.

        Lines with an answer tag (`【回】`, the sender's name in brackets) stay the sender's.
        """
        box = self.lines[start - 1].boxed
        depth, at = 1, start
        cache: dict[int, Mark] = {}
        while at < len(self.lines):
            line = self.lines[at]
            if box and line.boxed != box and not line.blank:
                break
            if line.blank or kind == "forward_body":
                self.marks[at] = cache.setdefault(depth, Mark(kind, rule, depth))
                at += 1
                continue
            if self._is_answer(line.text):
                at += 1
                continue
            level = depth + line.depth
            self.marks[at] = cache.setdefault(level, Mark(kind, rule, level))
            nested = find_header(self.book, self.lines, at) if line.depth == 0 else None
            if nested is not None:
                depth += 1
                for index in range(at, nested.end):
                    self.marks[index] = cache.setdefault(depth, Mark(kind, rule, depth))
                at = nested.end
                continue
            at += 1
        return at

    def _is_answer(self, text: str) -> bool:
        if self.book.line_rule("answer", text[:80]):
            return True
        if text[0] in "【[〔":
            tag = _TAG.match(text)
            return tag is not None and self.sender.is_name(tag.group(1))
        return False

    def _mark_run(self, start: int, rule: str = "", *, forward: bool = False) -> int:
        """Mark a run of lines with quote marks; return the line after it.

        A run may begin with its own separator, header or attribution. A short unmarked line between two
        marked ones is the overflow of a wrapped quote line.
        """
        at = start
        while at < len(self.lines):
            line = self.lines[at]
            if not line.blank and line.depth == 0 and not self._is_overflow(at):
                break
            at += 1
        end = at
        while end > start and self.lines[end - 1].blank and not self.lines[end - 1].depth:
            end -= 1
        head_end = start
        if not rule:
            head = self._marker_in_run(start, end)
            if head is None:
                self._runs.append((start, end))
                rule = "any:quote.marks"
            else:
                rule = head.rule
                is_header = ":attribution." not in rule
                alone = not self._has_own_before(start)
                forward = head.forward or (is_header and (self.passed_on or (alone and not self.is_reply)))
                self.is_forward = self.is_forward or forward
                self._introduced = True
                mark = Mark(
                    "forward_header" if forward else "attribution", rule, self.lines[head.start].depth
                )
                head_end = head.end
                for index in range(start, head_end):
                    self.marks[index] = mark
        cache: dict[int, Mark] = {}
        for index in range(head_end, end):
            depth = max(self.lines[index].depth, 1)
            self.marks[index] = cache.setdefault(
                depth, Mark("forward_body" if forward else "quote", rule, depth)
            )
        return max(end, start + 1)

    def _is_overflow(self, at: int) -> bool:
        if at == 0 or at + 1 >= len(self.lines):
            return False
        above, line, below = self.lines[at - 1], self.lines[at], self.lines[at + 1]
        if not (above.depth > 0 and above.marked and below.depth > 0 and below.marked):
            return False
        if line.text.endswith((".", "?", "!", "。")):
            return False
        if len(line.text) <= 24 and above.end - above.start >= 64:
            return True
        tail = above.text[-100:]  # a link or an address that the line break cut in two
        return " " not in line.text and (
            ("://" in tail and tail.rfind("(") > tail.rfind(")")) or tail.rfind("<") > tail.rfind(">")
        )

    def _marker_in_run(self, start: int, end: int) -> Marker | None:
        seen = 0
        for index in range(start, min(end, start + 12)):
            if self.lines[index].blank:
                continue
            seen += 1
            if seen > 4:
                return None
            marker = (
                find_separator(self.book, self.lines, index)
                or find_header(self.book, self.lines, index, led=True)
                or find_attribution(self.book, self.lines, index)
            )
            if marker:
                return marker
        return None

    def _judge_runs(self) -> None:
        """Give marked passages back to the sender that they cite on purpose (policy §3).

        A bare HTML blockquote proves nothing where no attribution or header stands anywhere; visible marks do,
        unless the sender's own line leads to the passage or discusses it below. Marks two deep are never cited.
        """
        if not self._runs:
            return
        written = [index for index, line in enumerate(self.lines) if not line.blank]
        opened = next((i for i, mark in enumerate(self.marks) if mark.kind in _OPENING), len(self.lines))
        if not written:
            return
        typed = not self._introduced and not self.is_reply
        typed = typed and any(self._is_code(start, end) for start, end in self._runs)
        for start, end in self._runs:
            above = self._written_above(start)
            led = (
                above is not None
                and self.marks[above] is OWN
                and self.lines[above].text.endswith((":", "："))
            )
            session = self._in_session(start)
            code = self._is_code(start, end)
            deep = any(line.marked and line.depth > 1 for line in self.lines[start:end])
            alone = len(self._runs) == 1 and not self._introduced and not self.is_reply
            middle = alone and end <= written[-1] and self._has_own_below(end)
            whole = start == written[0] and end > written[-1]
            drawn = not self._introduced and not any(line.marked for line in self.lines[start:end])
            cited = not deep and (
                (led and (not self._introduced or end < opened)) or (alone and (middle or whole))
            )
            if session or drawn or cited or typed or (code and not self._introduced):
                for index in range(start, end):
                    self.marks[index] = OWN

    def _has_own_below(self, end: int) -> bool:
        """Tell whether more than a signature and small print stands below line `end`."""
        below = self.lines[end:]
        cut = {at for part in find_tail(self.book, below, self.sender) for at in range(part.start, part.end)}
        return any(not line.blank and at not in cut for at, line in enumerate(below))

    def _in_session(self, start: int) -> bool:
        """Tell whether a shell prompt stands in the unbroken lines right above (`> ` is a prompt there)."""
        for index in range(start - 1, max(start - 12, -1), -1):
            if self.lines[index].blank or self.marks[index] is not OWN:
                return False
            if _SHELL.match(self.lines[index].text):
                return True
        return False

    def _is_code(self, start: int, end: int) -> bool:
        """Tell whether a run opens with a command after its marks and never leaves their depth (`> `, `>>> `)."""
        depths = {line.depth for line in self.lines[start:end] if not line.blank}
        first = next((line for line in self.lines[start:end] if not line.blank), None)
        return (
            first is not None
            and first.marked
            and min(depths) >= first.depth
            and bool(_COMMAND.match(first.text))
        )

    def find_coloured(self, spans: Sequence[QuoteMark]) -> None:
        """Give back answers in colour inside an unmarked original, where the sender's text above speaks of a colour."""
        if not spans or not any(mark.kind in ("quote", "forward_body") for mark in self.marks):
            return
        first = next(at for at, mark in enumerate(self.marks) if mark is not OWN)
        above = " ".join(line.text for line in self.lines[:first])[:2000].casefold()
        if not any(word in above for word in self.book.colours):
            return
        for span in spans:
            while first < len(self.lines) and self.lines[first].end <= span.start:
                first += 1  # spans come in the order of the text
            for at in range(first, len(self.lines)):
                line = self.lines[at]
                if line.start >= span.end:
                    break
                if self.marks[at].kind not in ("quote", "forward_body"):
                    continue
                words = line.text.find(self.text[span.start : min(span.end, line.end)][:16].strip())
                if span.start > line.start and words > 0:  # the question stands before it on the same line
                    self.lines.insert(at, line.split_at(span.start, words))
                    self.marks.insert(at + 1, OWN)
                    break
                self.marks[at] = OWN

    def align(self, known: KnownText) -> None:
        """Mark what earlier messages hold, and give back lines that are new inside a quoted original."""
        own = [mark is OWN for mark in self.marks]
        for start, end in find_known(self.book, known, self.lines, own):
            self.marks[start:end] = [Mark("quote", "any:quote.known", 1)] * (end - start)
        start = 0
        while start < len(self.lines):
            end = start + 1
            if self.marks[start].kind == "quote" and own[start] is False:
                while end < len(self.lines) and self.marks[end].kind == "quote":
                    end += 1
                for at in find_changed(known, self.book, self.lines[start:end]):
                    self.marks[start + at] = OWN
            start = end

    # --- banner and tail ------------------------------------------------------------------------------

    def find_banner(self) -> None:
        """Mark what a gateway or help desk put in at the top."""
        seen = 0
        for index, line in enumerate(self.lines):
            if line.blank:
                continue
            seen += 1
            if seen > 5 or self.marks[index] is not OWN:
                return
            rule = self.book.line_rule("banner", line.text[:300])
            if rule is not None:
                self.marks[index] = Mark("banner", rule.id)

    def find_tails(self) -> None:
        """Mark sign-off, signature and small print at the end of the sender's regions."""
        last = True  # nothing of the sender's stands below
        for start, end in reversed(self._regions()):
            follow = next((i for i in range(end, len(self.lines)) if not self.lines[i].blank), None)
            if not last and follow is not None and self.marks[follow].kind in ("quote", "reply"):
                continue
            if self._is_footer_below(start, end):
                footer = Mark("list_footer", "any:list_footer.below_quote")
                self.marks[start:end] = [footer] * (end - start)
                continue
            end += self._split_disclaimer(start, end)
            for cut in find_tail(self.book, self.lines[start:end], self.sender):
                mark = Mark(cut.kind, cut.rule, hard=cut.hard)
                self.marks[start + cut.start : start + cut.end] = [mark] * (cut.end - cut.start)
            last = last and all(
                self.marks[i] is not OWN for i in range(start, end) if not self.lines[i].blank
            )

    def _split_disclaimer(self, start: int, end: int) -> int:
        """Give a disclaimer that ends the last paragraphs of a region a line of its own; return the lines added."""
        seen = 0
        for index in range(end - 1, max(start, end - 8) - 1, -1):
            line = self.lines[index]
            if line.blank:
                continue
            seen += 1
            at = sentence_start(self.book, line.text)
            place = self.text.find(line.text[at : at + 24], line.start, line.end) if at is not None else -1
            if at is not None and place > line.start:
                self.lines.insert(index, line.split_at(place, at))
                self.marks.insert(index, OWN)
                return 1
            if seen == 3:
                break
        return 0

    def _is_footer_below(self, start: int, end: int) -> bool:
        """Tell whether a region below a quote is what a server put under the mail: a drawn line, then links."""
        if (
            start == 0
            or end < len(self.lines) - 3
            or end - start > 24
            or not is_rule_line(self.lines[start].text)
        ):
            return False
        above = self._written_above(start, 12)
        if above is None or self.marks[above].kind not in ("quote", "forward_body"):
            return False
        return any("http" in line.text or "www." in line.text for line in self.lines[start:end])

    def _regions(self) -> list[tuple[int, int]]:
        """Return the runs of the sender's lines, blank lines at their ends left out."""
        regions: list[tuple[int, int]] = []
        start: int | None = None
        end = 0
        for index, line in enumerate(self.lines):
            if self.marks[index] is OWN:
                if not line.blank:
                    start = index if start is None else start
                    end = index + 1
            elif start is not None:
                regions.append((start, end))
                start = None
        if start is not None:
            regions.append((start, end))
        return regions

    def keep_soft(self) -> None:
        """Give back what was cut on soft evidence: the clean text is empty only on hard evidence."""
        for index, mark in enumerate(self.marks):
            if not mark.hard and not (self.is_forward and mark.kind == "signature"):
                self.marks[index] = OWN


def join_segments(lines: Sequence[Line], marks: Sequence[Mark]) -> list[Segment]:
    """Return the segments that cover the text; blank lines belong to the segment before them."""
    segments: list[Segment] = []
    quote: int | None = None
    for line, mark in zip(lines, marks, strict=True):
        if line.start == line.end:
            continue
        if segments:
            last = segments[-1]
            same = last.kind == mark.kind and last.rule == mark.rule and last.depth == mark.depth
            if same or (line.blank and not line.depth):
                last.end = line.end
                continue
        if segments and segments[-1].kind in ("quote", "forward_body"):
            quote = len(segments) - 1
        answers = quote if mark.kind == "reply" else None
        segments.append(
            Segment(
                kind=mark.kind,
                start=line.start,
                end=line.end,
                rule=mark.rule,
                depth=mark.depth,
                answers=answers,
            )
        )
    return segments


def _whole(text: str) -> list[Segment]:
    return [Segment(kind="reply", start=0, end=len(text))] if text else []


def join_clean(text: str, segments: Sequence[Segment], removed: frozenset[str]) -> str:
    """Return the kept segments in order: blank runs shortened to one line, edges stripped."""
    kept = "".join(text[part.start : part.end] for part in segments if part.kind not in removed)
    kept = "\n".join(line.rstrip() for line in kept.split("\n"))
    return _BLANKS.sub("\n\n", kept).strip("\n").rstrip()


def _strategy(segments: Sequence[Segment], removed: frozenset[str]) -> str:
    kinds = {part.kind for part in segments if part.kind in removed}
    names = [name for kind, name in _STRATEGY if kind in kinds]
    if "marker" in names and "quote" in names:
        names.remove("quote")
    return "+".join(dict.fromkeys(names)) or "none"
