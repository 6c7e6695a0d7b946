"""Decode: is every text that another parser wrote down there, is every broken mail taken without a defect?

A row names a mail file; `golden` files beside it hold its parts (a JSON with every text body, or the decoded
bytes of one part), `expect` a subject and the start of the body, `language` the language of the body. Seeded
damage to each mail (cut short, bytes flipped) tests that nothing raises.
"""

from __future__ import annotations

import base64
import json
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from eval.scoring.records import Confusion, Measure, Miss, Outcome, Row, Unit, f1, ratio
from eval.scoring.text import clipped, difference
from models.message import Category

MUTANTS = 2  # damaged copies of each mail
_DECODED = re.compile(r"_decoded[_0-9]*\.(?:txt|bin)\Z")
_MARK = "~"  # `id~0` is the first damaged copy of `id`
_BODY_HEAD = 200  # characters of a body that are compared with `expect`


def probe_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield what the stage is given: each mail with its parts asked for, then its damaged copies."""
    for row in rows:
        raw = Path(row["path"]).read_bytes()
        yield {"id": row["id"], "raw_b64": base64.b64encode(raw).decode(), "parts": True}
    for row in rows:
        raw = Path(row["path"]).read_bytes()
        for number, data in enumerate(damaged(raw, row["id"], MUTANTS)):
            yield {"id": f"{row['id']}{_MARK}{number}", "raw_b64": base64.b64encode(data).decode()}


def damaged(raw: bytes, name: str, count: int) -> Iterator[bytes]:
    """Yield `count` damaged copies: every other one is cut short, one byte of about 400 is another in all."""
    if not raw:
        return
    for number in range(count):
        chance = random.Random(f"{name}/{number}")
        data = bytearray(raw if number % 2 else raw[: chance.randrange(1, len(raw) + 1)])
        for _ in range(max(1, len(data) // 400)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        yield bytes(data)


MEASURES: tuple[Measure, ...] = (
    Measure(
        "golden_texts", "all golden texts", ratio("texts_right", "texts"), share=("texts_right", "texts")
    ),
    Measure("golden_parts", "golden parts", ratio("parts_right", "parts")),
    Measure("subject", "subject", ratio("subject_right", "subject"), share=("subject_right", "subject")),
    Measure("body", "start of body", ratio("body_right", "body"), share=("body_right", "body")),
    Measure(
        "language", "language", ratio("language_right", "language"), share=("language_right", "language")
    ),
    Measure(
        "category", "category", ratio("category_right", "category"), share=("category_right", "category")
    ),
    Measure("attachments", "attachments", f1("attachments_right", "attachments", "attachments_found")),
    Measure("defects", "defects", ratio("defects", "tries"), better="lower"),
    Measure(
        "refused",
        "refused",
        ratio("refused", "mails"),
        better="lower",
        share=("refused", "mails"),
        shown=False,
    ),
    Measure(
        "replaced", "new U+FFFD", ratio("replaced", "mails"), better="lower", share=("replaced", "mails")
    ),
)


def score_decode(rows: Sequence[Row], answers: Mapping[str, Row], mutants: int = MUTANTS) -> Outcome:
    """Return the outcome; what is not labelled in a row is not counted there.

    `mutants` damaged copies of each mail were asked about (`probe_rows`).
    """
    units, misses = [], []
    kinds: Counter[str] = Counter()
    languages: Counter[tuple[str, str]] = Counter()
    for row in rows:
        answer = answers.get(row["id"], {})
        counts, wrong = _compare(row, answer)
        copies = [answers.get(f"{row['id']}{_MARK}{number}") for number in range(mutants)]
        tried = [answer or None, *copies]
        counts["tries"] = float(len(tried))
        counts["defects"] = float(sum(_is_defect(one) for one in tried))
        for place, one in enumerate(tried):
            if one and "error" in one:
                kinds[f"{one['error'].get('kind')} of {'damaged copies' if place else 'mails'}"] += 1
        if counts["defects"]:
            wrong.append(("-", "a defect: " + _told(tried) + "\n"))
        language = row.get("lang") or row.get("language")
        if "language" in row:
            languages[str(row["language"]), str(answer.get("language"))] += 1
        suite = row.get("suite") or str((row.get("source") or {}).get("repo", "")).rpartition("/")[2] or None
        units.append(
            Unit(id=row["id"], counts=counts, language=language, suite=suite, cluster=row.get("group"))
        )
        if wrong:
            misses.append(
                Miss(
                    id=row["id"],
                    what=f"{sum(mark == '-' for mark, _ in wrong)} differences",
                    weight=float(len(wrong)) + 10 * counts["defects"],
                    difference=wrong,
                    language=language,
                    suite=suite,
                )
            )
    notes = [f"refused: {kind}: {number}" for kind, number in sorted(kinds.items())]
    return Outcome(units=units, misses=misses, notes=notes, confusions=language_confusion(languages))


def _is_defect(answer: Row | None) -> bool:
    return answer is None or ("error" in answer and answer["error"].get("kind") == "defect")


def _told(tried: Sequence[Row | None]) -> str:
    for answer in tried:
        if answer is None:
            return "no answer"
        if _is_defect(answer):
            return clipped(str(answer["error"].get("detail")))
    return ""


def _compare(row: Row, answer: Row) -> tuple[dict[str, float], list[tuple[str, str]]]:
    counts: Counter[str] = Counter(mails=1)
    wrong: list[tuple[str, str]] = []
    counts["refused"] = int("error" in answer or not answer)
    raw = Path(row["path"]).read_bytes()
    told = json.dumps([answer.get(key) for key in ("subject", "body_text", "from", "to")], ensure_ascii=False)
    counts["replaced"] = int("\ufffd" in told and "\ufffd".encode() not in raw)
    parts = [part for part in answer.get("parts") or [] if isinstance(part, dict)]
    for file in map(Path, row.get("golden") or []):
        if file.suffix == ".json" and (texts := _golden_texts(file)) is not None:
            present = {_folded(part["text"]) for part in parts if isinstance(part.get("text"), str)}
            missing = [text for text in texts if _folded(text) and _folded(text) not in present]
            counts["texts"] += 1
            counts["texts_right"] += bool(answer) and not missing
            wrong += [("-", clipped(text) + "\n") for text in missing[:3]]
        elif _DECODED.search(file.name):
            right = bool(answer) and _part_there(file.read_bytes(), parts)
            counts["parts"] += 1
            counts["parts_right"] += right
            wrong += [] if right else [("-", f"part {file.name}\n")]
    expect = row.get("expect") or {}
    if "subject" in expect:
        counts["subject"] += 1
        if _folded(expect["subject"]) == _folded(answer.get("subject")):
            counts["subject_right"] += 1
        else:
            wrong += difference(_folded(expect["subject"]), _folded(answer.get("subject")), 200)
    if "body_head" in expect:
        head = _folded(expect["body_head"])[:_BODY_HEAD]
        found = _folded(answer.get("body_text"))
        counts["body"] += 1
        if "".join(found.split()).startswith("".join(head.split())):
            counts["body_right"] += 1
        else:
            wrong += difference(head, found[: len(head)], 300)
    if "language" in row:
        right = bool(answer) and answer.get("language") == row["language"]
        counts["language"] += 1
        counts["language_right"] += right
        wrong += [] if right else [("-", f"{row['language']}\n"), ("+", f"{answer.get('language')}\n")]
    if row.get("category") in get_args(Category):
        right = answer.get("category") == row["category"]
        counts["category"] += 1
        counts["category_right"] += right
        wrong += [] if right else [("-", f"{row['category']}\n"), ("+", f"{answer.get('category')}\n")]
    if "attachments" in row:
        wrong += _compare_attachments(row["attachments"], answer.get("attachments") or [], counts)
    return {key: float(value) for key, value in counts.items()}, wrong


def _compare_attachments(
    expected: list[Row], found: list[Row], counts: Counter[str]
) -> list[tuple[str, str]]:
    names = [
        Counter((one["filename"], one["mime"], one["inline"]) for one in side) for side in (expected, found)
    ]
    missing, spare = names[0] - names[1], names[1] - names[0]
    counts["attachments"] += len(expected)
    counts["attachments_found"] += len(found)
    counts["attachments_right"] += len(expected) - missing.total()
    rows = [("-", name) for name in missing] + [("+", name) for name in spare]
    return [(mark, f"{name} {mime}{' inline' if inline else ''}\n") for mark, (name, mime, inline) in rows]


def _golden_texts(file: Path) -> list[str] | None:
    """Return every text body of a parser's JSON, None where the JSON is of another kind."""
    value: Any = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(value, dict) or not isinstance(value.get("parts"), list):
        return None
    bodies = [part["body"] for part in value["parts"] if isinstance(part.get("body"), dict)]
    return [text for body in bodies for key, text in body.items() if key in ("Text", "Html")]


def _part_there(data: bytes, parts: Sequence[Row]) -> bool:
    """Return whether the decoded bytes are one of the parts, as bytes or read in a charset of the mail."""
    wanted = _folded(data.decode("latin-1"))
    if not wanted:
        return True
    if any(
        wanted == _folded(base64.b64decode(part["b64"]).decode("latin-1"))
        for part in parts
        if isinstance(part.get("b64"), str)
    ):
        return True
    texts = {_folded(part["text"]) for part in parts if isinstance(part.get("text"), str)}
    charsets = {
        "utf-8",
        "latin-1",
        "cp1252",
        *(str(part["charset"]) for part in parts if part.get("charset")),
    }
    return any(_folded(text) in texts for text in _readings(data, charsets))


def _readings(data: bytes, charsets: set[str]) -> Iterator[str]:
    for charset in sorted(charsets):
        try:
            yield data.decode(charset)
        except (LookupError, ValueError):
            continue


def _folded(text: str | None) -> str:
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text or "")).strip()


def language_confusion(pairs: Mapping[tuple[str, str], int]) -> list[Confusion]:
    """Return the table of expected and found languages; none where nothing is labelled."""
    labels = sorted({label for pair in pairs for label in pair})
    if not labels:
        return []
    rows = [[pairs.get((one, other), 0) for other in labels] for one in labels]
    return [Confusion(title="language", labels=labels, rows=rows)]
