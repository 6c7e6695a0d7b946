"""What kind of mail this is, with the reasons in words: a person's, or which machine's."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from models.message import Category, DeliveryReport
from stages.decode.headers import Headers

_NOT_LETTERS = re.compile(r"[^a-z]+")
_TAIL_CHARS = 6_000  # an unsubscribe line stands near the start or the end


class Verdict(NamedTuple):
    """The category, why, and whether a responder wrote the message."""

    category: Category
    reasons: list[str]
    auto_reply: bool


@lru_cache(maxsize=1)
def _pack() -> dict[str, Any]:
    pack = tomllib.loads(files("stages.decode").joinpath("packs/category.toml").read_text("utf-8"))
    joined = "|".join(f"(?:{rule['pattern']})" for rule in pack["auto_reply"]["subject"])
    pack["auto_reply"]["pattern"] = re.compile(joined)
    return pack


def is_automatic_subject(subject: str) -> bool:
    """Return whether a subject starts as an absence note's does."""
    return _pack()["auto_reply"]["pattern"].match(subject.strip().casefold()) is not None


def has_unsubscribe_text(text: str) -> bool:
    """Return whether a body offers to unsubscribe."""
    text = text if len(text) <= 2 * _TAIL_CHARS else text[:_TAIL_CHARS] + "\n" + text[-_TAIL_CHARS:]
    folded = text.casefold()
    return any(word in folded for word in _pack()["newsletter"]["words"])


def judge(
    headers: Headers, *, sender: str, subject: str, body: str, report: DeliveryReport | None, has_events: bool
) -> Verdict:
    """Return the category of a message; the first of calendar, bounce, auto_reply, notification by a
    tracker, newsletter, notification that holds, else conversation. `sender` is the From address."""
    pack = _pack()
    reply_signs = _reply_signs(headers, subject, pack)
    if has_events:
        return Verdict("calendar", ["has a calendar part with an event"], bool(reply_signs))
    bounce = _bounce_signs(headers, sender, report, pack)
    if bounce:
        return Verdict("bounce", bounce, False)
    if reply_signs:
        return Verdict("auto_reply", reply_signs, True)
    trackers = [f"has {name}" for name in pack["notification"]["headers"] if name in headers]
    if trackers:
        return Verdict("notification", trackers, False)
    bulk = _bulk_signs(headers, body, pack)
    if len(bulk) >= 2:
        discussion = _discussion(headers)
        if discussion is None:
            return Verdict("newsletter", bulk, False)
        return Verdict("conversation", [discussion], False)
    automatic = _notification_signs(headers, sender, pack)
    if automatic:
        return Verdict("notification", automatic + bulk, False)
    return Verdict("conversation", bulk, False)


def _auto_submitted(headers: Headers) -> str:
    return headers.ascii("auto-submitted").partition(";")[0].partition("(")[0].strip().lower()


def _reply_signs(headers: Headers, subject: str, pack: dict[str, Any]) -> list[str]:
    rules = pack["auto_reply"]
    signs = [f"has {name}" for name in rules["headers"] if name in headers]
    if _auto_submitted(headers) == "auto-replied":
        signs.append("Auto-Submitted: auto-replied")
    precedence = headers.ascii("precedence").lower()
    if precedence in rules["precedence"]:
        signs.append(f"Precedence: {precedence}")
    if is_automatic_subject(subject):
        signs.append("subject of an automatic reply")
    return signs


def _bounce_signs(
    headers: Headers, sender: str, report: DeliveryReport | None, pack: dict[str, Any]
) -> list[str]:
    signs = []
    if report is not None:
        names = {"dsn": "delivery status report", "mdn": "disposition notification", "arf": "abuse report"}
        signs.append(f"is a {names.get(report.kind, 'report')}")
    local = sender.partition("@")[0]
    if local in pack["bounce"]["senders"]:
        signs.append(f"from {local}")
    signs.extend(f"has {name}" for name in pack["bounce"]["headers"] if name in headers)
    return signs


def _bulk_signs(headers: Headers, body: str, pack: dict[str, Any]) -> list[str]:
    rules = pack["newsletter"]
    signs = [f"has {name}" for name in ("list-unsubscribe", "list-id") if name in headers]
    precedence = headers.ascii("precedence").lower()
    if precedence in rules["precedence"]:
        signs.append(f"Precedence: {precedence}")
    mailer = next((name for name in rules["mailer_headers"] if name in headers), None)
    if mailer is not None:
        signs.append(f"has {mailer}")
    if signs and has_unsubscribe_text(body):
        signs.append("offers to unsubscribe")
    return signs


def _discussion(headers: Headers) -> str | None:
    """Return why list mail is a discussion among people, None if it is not."""
    if "list-unsubscribe-post" in headers:
        return None
    post = headers.ascii("list-post").lower()
    if post and post != "no":
        return "mailing list that members post to"
    if "list-id" in headers and "in-reply-to" in headers:
        return "reply on a mailing list"
    return None


def _notification_signs(headers: Headers, sender: str, pack: dict[str, Any]) -> list[str]:
    rules = pack["notification"]
    signs = []
    submitted = _auto_submitted(headers)
    if submitted in rules["auto_submitted"]:
        signs.append(f"Auto-Submitted: {submitted}")
    local = _NOT_LETTERS.sub("", sender.partition("@")[0].partition("+")[0])
    if local in rules["senders"] or local.startswith(tuple(rules["prefixes"])):
        signs.append("sender that takes no replies")
    return signs
