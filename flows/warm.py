"""Imported by the fork server: takes one small mail through the stages, so that workers start with rules compiled.

Patterns and models are made when they are first needed, about half a second for each process; a worker that is
forked from a process that has them pays nothing.
"""

from __future__ import annotations

import contextlib

from flows.policies import policies_of
from models.config import Settings
from models.curated import Curated
from stages import decode, dequote, entities, intent, thread

_MAIL = (
    "From: Ann Example <ann@us.example>\r\nTo: bo@north.example\r\nSubject: Re: 报价 / quote\r\n"
    "Date: Mon, 2 Mar 2026 08:00:00 +0000\r\nMessage-ID: <1@us.example>\r\nMIME-Version: 1.0\r\n"
    "Content-Type: text/html; charset=utf-8\r\n\r\n"
    "<p>请于3月5日前确认 USD 1,200 的报价。Please confirm by Friday, thanks.</p>\r\n<p>お見積りの件です。</p>\r\n"
).encode()


def warm() -> None:
    """Take the mail through the stages that see one message alone."""
    policies = policies_of(Settings(), Curated())
    message = decode.decode(_MAIL, policies.decode)
    cut = dequote.dequote(dequote.input_of(message), policies.dequote)
    thread.make_node(message, cut, policies.thread)
    entities.extract_entities(entities.input_of(message, cut.clean), policies.entities)
    intent.classify_intent(intent.input_of(message, cut.clean), policies.intent)


with contextlib.suppress(Exception):  # what fails here fails again at a message, where it is told
    warm()
