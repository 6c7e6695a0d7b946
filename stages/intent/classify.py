"""The stage put together: machine mail by category, the ranking, the 0.6 rule, secondary intents, flags."""

from __future__ import annotations

from models.message import INTENTS, Flag, Intent, Ranked
from stages.intent.config import IntentPolicy
from stages.intent.cues import pattern_of
from stages.intent.features import Reading, join, read, split_pieces
from stages.intent.linear import chances, load_model
from stages.intent.message import IntentInput
from stages.intent.sentences import pool_sentences

INFORM = "通知"
# A separate sentence must be at least this sure to give a secondary intent. Sentences alone look surer than
# they are; 通知 and 闲聊 are what statements and greetings look like, so they never give one by themselves.
SECONDARY = {
    "催办": 0.9,
    "决策": 0.97,
    "转交": 0.97,
    "询问": 0.9,
    "抱怨": 0.97,
    "表扬": 0.92,
    "通知": 1.01,
    "闲聊": 1.01,
}
# Pairs (primary, secondary) that the guidelines rule out.
_NEVER = {
    ("抱怨", "表扬"),
    ("闲聊", "询问"),
    ("催办", "询问"),
    ("转交", "通知"),
    ("催办", "通知"),
    ("决策", "抱怨"),
    ("表扬", "通知"),
}
# One of these stands in every cue of the group `instruction_like`: looked for first, since that is fast.
_INSTRUCTION_WORDS = (
    "ignore", "disregard", "forget", "classify this", "label this", "mark this", "treat this", "you are",
    "system prompt", "as an ai",
    "忽略", "无视", "無視", "忘", "分类", "分類", "标记", "標記", "归类", "歸類", "你是", "系统提示",
)  # fmt: skip
_OWN_CUES = {
    "催办": "urge_strong",
    "决策": "decide_strong",
    "转交": "delegate_strong",
    "询问": "ask_strong",
    "抱怨": "complain_strong",
    "表扬": "praise_strong",
    "通知": "inform_strong",
    "闲聊": "social_strong",
}


def classify(message: IntentInput, policy: IntentPolicy) -> Intent:
    """Return the intent of one message (see `stages.intent.classify_intent`)."""
    flags = find_flags(message)
    if message.replaced_share > policy.max_replaced_share:
        return Intent(primary="unknown", low_confidence=True, method="unreadable", flags=flags)
    if not any(char.isalnum() for char in message.subject + message.text[:2000]):
        return Intent(
            primary=INFORM, confidence=0.0, low_confidence=True, ranking=_even(), method="empty", flags=flags
        )
    if message.category != "conversation":
        return Intent(
            primary=INFORM, confidence=1.0, ranking=_certain(INFORM), method="category", flags=flags
        )
    places = load_model().places
    pieces = [(piece, read(piece, places)) for piece in split_pieces(message.subject, message.text)]
    sentences = [(reading, chances(reading)) for piece, reading in pieces if piece.alone]
    ranking = rank(
        join(reading for piece, reading in pieces if piece.whole), [shares for _, shares in sentences]
    )
    confidence = ranking[0].p
    low = confidence < policy.min_confidence
    primary = INFORM if low else ranking[0].label
    return Intent(
        primary=primary,
        secondary=find_secondary(sentences, primary),
        confidence=confidence,
        low_confidence=low,
        ranking=ranking,
        method=load_model().method,
        flags=flags,
    )


def rank(whole: Reading, sentences: list[list[float]]) -> list[Ranked]:
    """Return the eight intents with probabilities (4 digits, sum 1), likeliest first, ties in contract order."""
    labels = load_model().labels
    shares = pool_sentences(labels, chances(whole), sentences)
    return _rounded(dict(zip(labels, shares, strict=True)))


def _rounded(raw: dict[str, float]) -> list[Ranked]:
    order = sorted(INTENTS, key=lambda label: (-raw[label], INTENTS.index(label)))
    shares = {label: round(raw[label], 4) for label in order}
    shares[order[0]] = round(1.0 - sum(shares[label] for label in order[1:]), 4)
    return [Ranked(label=label, p=shares[label]) for label in order]


def _certain(label: str) -> list[Ranked]:
    return _rounded({other: 1.0 if other == label else 0.0 for other in INTENTS})


def _even() -> list[Ranked]:
    return _rounded(dict.fromkeys(INTENTS, 1 / len(INTENTS)))


def find_secondary(sentences: list[tuple[Reading, list[float]]], primary: str) -> list[str]:
    """Return at most two other intents that a separate sentence, read alone, would surely get."""
    if len(sentences) < 2:
        return []
    found: dict[str, float] = {}
    labels = load_model().labels
    for sentence, row in sentences:
        best = max(range(len(labels)), key=lambda place: row[place])
        label = labels[best]
        if label == primary or row[best] < SECONDARY[label] or (primary, label) in _NEVER:
            continue
        if _OWN_CUES[label] in sentence.cues:
            found[label] = max(found.get(label, 0.0), row[best])
    return sorted(found, key=lambda label: (-found[label], INTENTS.index(label)))[:2]


def find_flags(message: IntentInput) -> list[Flag]:
    """Return a flag for each place (at most five) where the mail tries to instruct its reader's software."""
    pattern = pattern_of("instruction_like")
    whole = f"{message.subject[:300]}\n{message.text[:20_000]}"
    flags: list[Flag] = []
    lowered = whole.lower()
    if not any(word in lowered for word in _INSTRUCTION_WORDS):
        return flags
    for match in pattern.finditer(whole):
        flags.append(Flag(kind="instruction_like", evidence=match[0][:120]))
        if len(flags) == 5:
            break
    return flags
