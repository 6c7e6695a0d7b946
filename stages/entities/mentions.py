"""Mentions: people named in the clean text. Known people first, then cue words and honorifics for strangers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from models.curated import Alias
from models.message import Person
from stages.entities.folding import fold, has_han, is_cjk, is_han
from stages.entities.people import load_pack
from stages.entities.surnames import latin_owners

_MAX_KNOWN = 400
_GIVEN = "-"  # marks a given name in the table of family names
_NO_GIVEN = frozenset("你我他她您和与跟的是在给向对把被让请这那有不也都就各贵咱")
# What follows a title's last character when the two are another word (总额, 工作).
_NOT_AFTER = {
    "总": "额价数共量部结计体是裁的", "總": "額價數共量部結計體是裁的", "工": "作程厂廠期资資人艺藝具时時单業业会會地",
    "董": "事", "师": "傅", "書": "館",
}  # fmt: skip
# ruff: noqa: E501  (patterns are as long as they are)
_LATIN_NAME = r"[A-Z][a-zà-öø-ÿ'’]{1,20}(?:-[A-Z][a-z]{1,20})?"


class Known(NamedTuple):
    """A person that text may name: who it is, and whether more than one person has this spelling."""

    name: str
    email: str | None
    internal: bool
    full: str


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    pack = load_pack()

    def longest(words: list[str]) -> str:
        return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))

    surnames, double = pack["zh_surnames"], longest(pack["zh_surnames2"])
    return {
        "zh_title": re.compile(longest(pack["zh_titles"])),
        "zh_named": re.compile(rf"(?:(?:{double})|[{surnames}])[\u4e00-\u9fff]{{0,2}}\Z"),
        "ja_self": re.compile(rf"(?P<name>{longest(pack['ja_surnames'])})(?=です。|です[、\n]|と申します|でございます)"),
        "zh_self": re.compile(
            rf"(?:我是|我叫|本人)(?:[\u4e00-\u9fff]{{1,8}}[部处科组司院店茶厂])?的?(?P<name>[{surnames}][\u4e00-\u9fff]{{1,2}})(?=[，,。！!；;、\s])"
        ),
        "title": re.compile(longest(sorted({*pack["zh_titles"], *pack["ja_titles"]}))),
        "zh_thanks": re.compile(longest(pack["zh_thanks"])),
        "title_end": re.compile(rf"(?:{longest(sorted({*pack['zh_titles'], *pack['ja_titles']}))})\Z"),
        "zh_short": re.compile(rf"(?:小|老|阿)[{surnames}](?=[，,。：:、\s来去跟说帮把将负会能先你对也和与已在请再])"),
        "ja_title": re.compile(longest(pack["ja_titles"])),
        "ja_named": re.compile(rf"(?:{longest(pack['ja_surnames'])}|(?<![ァ-ヶー])[ァ-ヶー]{{2,10}}|(?<![A-Za-z])[A-Z][a-z]{{1,15}})\Z"),
        "at": re.compile(
            rf"(?:(?<![\w.])[@＠]|(?:^|(?<=[\s,，;；、(（]))[+＋]|\b(?:[Cc][Cc]|[Ll]oop in|[Ll]ooping in|[Aa]dding|[Cc]opying):?[ ])[ ]?"
            rf"(?P<name>{_LATIN_NAME}(?:[ ]{_LATIN_NAME})?|[\u4e00-\u9fff]{{2,4}}(?=[\s,，.。:：;；!！、)）]|$))",
            re.MULTILINE,
        ),
        "hello": re.compile(
            rf"(?:^|\n)[ \t]{{0,4}}(?:Hi|Hello|Hey|Dear|Good (?:morning|afternoon|evening)|Thanks|Thank you|Morning)[ ,]{{1,2}}"
            rf"(?P<name>{_LATIN_NAME}(?:[ ]{_LATIN_NAME})?)(?=[ ]?(?:[,:!.;\n—–-]|and\b|&|$))"
        ),
        "hello_two": re.compile(rf"(?:^|\n)[ \t]{{0,4}}(?:Hi|Hello|Hey|Dear)[ ]{_LATIN_NAME}(?:,| and| &)[ ](?P<name>{_LATIN_NAME})(?=[ ]?[,:!\n])"),
        "en_title": re.compile(
            rf"\b(?:{longest(pack['en_titles'])})(?:\.[ \u00a0]?|[ \u00a0])(?P<name>{_LATIN_NAME}(?:[ ]{_LATIN_NAME})?)"
        ),
        "self": re.compile(
            rf"\b(?:[Mm]y name is|[Tt]his is|I am|I[’']m)[ ](?P<name>{_LATIN_NAME}(?:[ ]{_LATIN_NAME}))(?=[ ,.]|\n)"
        ),
        "zh_call": re.compile(r"(?:请|請|让|讓|由|找|联系|聯繫|抄送|转给|轉給|交给|交給)(?P<name>[\u4e00-\u9fff]{2,4}?)(?=来|來|负责|負責|跟进|跟進|处理|處理|对接|對接|接手|协助|協助|安排|确认|確認|统一|先|把|去|看|查|帮|於|[，,。；;\s])"),
    }  # fmt: skip


def known_people(
    header: list[Person], aliases: list[Alias], internal_of: dict[str, bool]
) -> dict[str, list[Known]]:
    """Return spelling → people for full names, given names and family names with their owners."""
    table: dict[str, list[Known]] = {}

    def add(spelling: str, known: Known) -> None:
        spelling = spelling.strip()
        if len(spelling) < 2 and not (spelling and is_han(spelling)):
            return
        rows = table.setdefault(spelling, [])
        if not any(row.email == known.email and row.full == known.full for row in rows):
            rows.append(known)

    people = [(person.name, person.email, person.internal) for person in header]
    people += [(alias.name, alias.email, internal_of.get(alias.email, False)) for alias in aliases]
    for alias in aliases:
        people += [
            (name, alias.email, internal_of.get(alias.email, False)) for name in alias.also if "@" not in name
        ]
    for name, email, internal in people[:_MAX_KNOWN]:
        known = Known(name, email, internal, name)
        for spelling in spellings(name):
            add(spelling, known)
    return table


@lru_cache(maxsize=4096)
def spellings(name: str) -> tuple[str, ...]:
    """Return how text may write a person: the full name, the given name, both orders of a Latin name."""
    name = re.sub(r"[(（\[][^)）\]]{0,40}[)）\]]", " ", name)
    found: list[str] = []
    for run in re.findall(r"[\u4e00-\u9fff々]{2,8}(?:[ \u3000][\u4e00-\u9fff々]{1,4})?", name):
        compact = run.replace(" ", "").replace("\u3000", "")
        found += [compact, run]
        double = compact[:2] in load_pack()["zh_surnames2"]
        if len(run) != len(compact):  # 中村 健: the gap tells the family name
            found.append(re.split(r"[ \u3000]", run)[1])
        elif len(compact) == 3 or (double and len(compact) == 4):
            found.append(compact[2 if double else 1 :])
        elif len(compact) == 4:
            found.append(compact[2:])
    latin = re.sub(r"[^A-Za-zÀ-ÖØ-öø-ÿ'’ .,-]", " ", name)
    if "," in latin:
        last, _, first = latin.partition(",")
        latin = f"{first.strip()} {last.strip()}"
    words = [word.strip(".'’") for word in latin.split() if len(word.strip(".'’")) > 1]
    if words:
        found += [" ".join(words)] if len(words) > 1 else []
        found.append(words[0])
        if len(words) == 2 and len(words[1]) > 3:
            found.append(words[1])
    return tuple(spelling for spelling in dict.fromkeys(found) if len(spelling) > 1)


def find_mentions(text: str, known: dict[str, list[Known]], surnames: dict[str, list[Known]]) -> list[Person]:
    """Return the mentions of `text` in order, none overlapping; a longer spelling wins over a shorter one."""
    found: list[Person] = []
    taken: list[tuple[int, int]] = []

    def free(start: int, end: int) -> bool:
        return all(end <= left or start >= right for left, right in taken)

    def add(start: int, end: int, owner: Known | None) -> None:
        if len(taken) >= 200 or not free(start, end):
            return
        taken.append((start, end))
        found.append(
            Person(
                name=text[start:end],
                email=owner.email if owner else None,
                internal=owner.internal if owner else False,
                role="mention",
                start=start,
                end=end,
            )
        )

    patterns, pack = _patterns(), load_pack()
    no_names = frozenset(pack["en_not_names"])
    for start, end, owner in _latin_titles(text, patterns["en_title"], known, no_names):
        add(start, end, owner)
    for spelling in sorted(known, key=lambda word: (-len(word), word)):
        owners = known[spelling]
        owner = owners[0] if len({row.email for row in owners}) == 1 else None
        for start in places(text, spelling):
            end = start + len(spelling)
            title = patterns["title"].match(text, end) if is_han(spelling[-1]) else None
            add(start, title.end() if title else end, owner)
    if has_han(text):
        for start, end, owner in find_titled(text, surnames):
            add(start, end, owner)
        for match in patterns["zh_call"].finditer(text):
            name = match["name"]
            if name[0] in pack["zh_surnames"] and not name.startswith(tuple(pack["zh_not_called"])):
                add(*match.span("name"), None)
        for rule in ("zh_self", "ja_self"):
            for match in patterns[rule].finditer(text):
                add(*match.span("name"), _owner(surnames, match["name"]) if rule == "ja_self" else None)
        for match in patterns["zh_short"].finditer(text):
            add(*match.span(), _owner(surnames, match[0][1]))
    for rule in ("hello", "hello_two", "at", "self"):
        for match in patterns[rule].finditer(text):
            name = match["name"]
            if name.split()[0].lower() in no_names or name.startswith(tuple(pack["zh_not_called"])):
                continue
            if rule == "at" and is_han(name[0]) and name[0] not in pack["zh_surnames"]:
                continue
            add(*match.span("name"), None)
    return sorted(found, key=lambda person: person.start or 0)


def places(text: str, spelling: str) -> Iterator[int]:
    """Return where a spelling stands as a name: Latin ones as whole words and not inside an address."""
    start = text.find(spelling)
    for _ in range(100):
        if start < 0:
            return
        end = start + len(spelling)
        before, after = text[start - 1 : start] if start else "", text[end : end + 1]
        inside = after == "." and text[end + 1 : end + 2].isalnum()
        if is_han(spelling[0]) or not (
            _word(before) or (before in (".", "@", "-") and before) or _word(after) or after == "@" or inside
        ):
            yield start
        start = text.find(spelling, end)


def _word(char: str) -> bool:
    return (char.isalnum() and not is_cjk(char)) or char == "_"


def _latin_titles(
    text: str, pattern: re.Pattern[str], known: dict[str, list[Known]], no_names: frozenset[str]
) -> Iterator[tuple[int, int, Known | None]]:
    """Return names with a Latin title, the title in the span; the family name decides who it is."""
    people: dict[str | None, Known] = {}
    rows: list[tuple[str, str | None]] = []
    for match in pattern.finditer(text):
        if not people:
            people = {row.email: row for owners in known.values() for row in owners}
            rows = [(row.full, row.email) for owners in known.values() for row in owners]
        name, end = match["name"], match.end()
        first, _, second = name.partition(" ")
        if first.lower() in no_names:
            continue
        owner = _only(known.get(name, [])) if second else None
        family = latin_owners(first, rows) if owner is None else set()
        if len(family) == 1:
            owner = people[family.pop()]
            if second:  # "Mr Berg Thursday": the family name alone
                end -= len(second) + 1
        elif owner is None and not family and not second:
            owner = _only(known.get(name, []))  # "Dr Nora"
        yield match.start(), end, owner


def split_title(name: str) -> tuple[str, bool] | None:
    """Return the name that a title stands on and whether the title is Latin ("Ms Fang", 方工); None without."""
    patterns = _patterns()
    latin = patterns["en_title"].fullmatch(name)
    if latin:
        return latin["name"], True
    title = patterns["title_end"].search(name)
    return (name[: title.start()].rstrip(), False) if title and title.start() else None


def _only(rows: list[Known]) -> Known | None:
    return rows[0] if len({row.email for row in rows}) == 1 else None


def find_titled(text: str, surnames: dict[str, list[Known]]) -> list[tuple[int, int, Known | None]]:
    """Return honorific names with their owner in `surnames`: 王总, 陈经理, 田中様; strangers have none."""
    patterns, pack = _patterns(), load_pack()
    found: list[tuple[int, int, Known | None]] = []
    for title in patterns["zh_title"].finditer(text):
        low = max(0, title.start() - 4)
        for thanks in patterns["zh_thanks"].finditer(text, max(0, low - 1), title.start()):
            low = thanks.end()  # 谢谢邱总: 谢 is a family name elsewhere
        named = patterns["zh_named"].search(text, low, title.start())
        if named is None:
            if title[0] in pack["given_titles"] and (given := _given_owner(text, title.start(), surnames)):
                found.append((title.start() - 1, title.end(), given))
            continue
        start, end = named.start(), title.end()
        if end - start - len(title[0]) > 2 and title.start() - 1 > start:  # the nearest family name wins
            nearer = patterns["zh_named"].search(text, max(low, title.start() - 2), title.start())
            start = nearer.start() if nearer else start
        word, before = text[start:end], text[max(0, start - 1) : start]
        if any(word.startswith(bad) for bad in pack["zh_not_names"]) or any(
            char in _NO_GIVEN for char in word[1:-1]
        ):
            continue
        owner = _owner(surnames, word[:2]) or _owner(surnames, word[0])
        weak = title[0] in ("工", "董", "哥", "姐")  # 手工, 古董: a known person, or a word that leads to one
        alone = title.start() - start == 1 and owner is not None
        if weak and not alone and before and is_han(before) and before not in pack["zh_leads"]:
            continue
        if text[end : end + 1] in _NOT_AFTER.get(word[-1], ""):
            continue
        found.append((start, end, owner))
    for title in patterns["ja_title"].finditer(text):
        named = patterns["ja_named"].search(text, max(0, title.start() - 16), title.start())
        if named is None or any(named[0].startswith(bad) for bad in pack["ja_not_names"]):
            continue
        found.append((named.start(), title.end(), _owner(surnames, named[0])))
    return found


def _owner(surnames: dict[str, list[Known]], surname: str) -> Known | None:
    rows = surnames.get(fold(surname), [])
    return rows[0] if len({row.email for row in rows}) == 1 and rows else None


def _given_owner(text: str, end: int, surnames: dict[str, list[Known]]) -> Known | None:
    """Return whose given name of one character ends at `end`: 敏 of 苏敏, where no longer name can stand."""
    before = text[max(0, end - 2) : end]
    if len(before) == 2 and is_han(before[0]) and before[0] not in load_pack()["zh_leads"]:
        return None
    return _owner(surnames, _GIVEN + before[-1:])


@cache
def _japanese_surnames() -> frozenset[str]:
    return frozenset(load_pack()["ja_surnames"])


def surname_table(known: dict[str, list[Known]]) -> dict[str, list[Known]]:
    """Return folded family name → its people, for 王总 and 田中様; given names of one character after a dash."""
    table: dict[str, list[Known]] = {}
    pack, japanese = load_pack(), _japanese_surnames()
    for rows in known.values():
        for row in rows:
            han = re.findall(r"[\u4e00-\u9fff々]+", row.full)
            if not han:
                continue
            names = {han[0][:2]} if han[0][:2] in pack["zh_surnames2"] else {han[0][0]}
            names |= {han[0][:size] for size in (1, 2, 3) if han[0][:size] in japanese}
            if len(han) > 1:
                names.add(han[0])
            elif len(han[0]) == 2 and han[0] not in japanese and han[0][1] not in pack["given_not"]:
                names.add(_GIVEN + han[0][1])
            for name in names:
                owners = table.setdefault(fold(name), [])
                if not any(owner.email == row.email for owner in owners):
                    owners.append(row)
    return table
