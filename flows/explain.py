"""Why a message became what it is, in sentences."""

from __future__ import annotations

from models.email import Email
from models.thread import GUESSES, ThreadFile

_METHODS = {
    "root": "it starts the thread",
    "references": "its References header names a message of the thread",
    "in_reply_to": "its In-Reply-To header names a message of the thread",
    "thread_index": "Outlook's Thread-Index and topic are the same",
    "provider": "the mail provider says so",
    "subject": "same subject, shared people, close in time (a guess)",
    "quote": "it quotes that message (a guess)",
    "similarity": "its text is close (a guess)",
    "manual": "somebody joined it or split it off by hand",
}


def explain_email(email: Email, thread: ThreadFile) -> list[str]:
    """Return one sentence per decision: date, text, thread, people, customer, intent, doubts, places."""
    audit = email.rule_audit
    return [
        f"Message {email.msg_id}: “{email.subject}”"
        + (f" from {email.from_.name or email.from_.email}." if email.from_ else "."),
        _date(email),
        *_text(email),
        _thread(email, thread),
        f"Language {email.language or 'unknown'} ({audit.language_method}); category {email.category}"
        + (f" because {'; '.join(audit.category_reasons)}." if audit.category_reasons else "."),
        _people(email),
        f"Customer {email.entities.customer_id_candidate or 'none'}: {audit.customer_receipt or 'no outside domain'}.",
        _intent(email),
        *(f"Repaired: {repair.kind} {repair.detail}".rstrip() + "." for repair in email.repairs),
        *(
            f"Doubt about its date: {', '.join(c.label for c in one.candidates)}."
            for one in email.ambiguities
        ),
        *(f"Beware: {flag.kind}: {flag.evidence}." for flag in email.guardrails.flags),
        "Found in "
        + (
            ", ".join(f"{place.account} {place.folder} {place.uid}" for place in email.locations)
            or "no place any more"
        )
        + (f"; {len(email.versions)} versions of it are known." if len(email.versions) > 1 else "."),
        f"Rules {email.extraction_version}, written {email.extracted_at}.",
    ]


def _date(email: Email) -> str:
    how = {
        "date_header": "from its Date header",
        "received": "from its earliest Received line, for lack of a usable Date",
        "none": "nothing in its headers tells when it was sent",
    }.get(email.rule_audit.date_method, email.rule_audit.date_method)
    return f"Sent {email.sent_at or email.internal_date or 'at an unknown time'}: {how}."


def _text(email: Email) -> list[str]:
    cut = [segment for segment in email.segments if segment.kind != "reply"]
    if not cut:
        return ["All of its text is the sender's own: nothing was cut."]
    sentences = [
        f"Of {len(email.body_text)} characters {len(email.body_text_clean)} are the sender's own. Cut:"
    ]
    for segment in cut[:20]:
        words = " ".join(email.body_text[segment.start : segment.end].split())
        shown = words if len(words) <= 60 else words[:57] + "…"
        sentences.append(f"  {segment.kind} by rule {segment.rule or 'unnamed'}: “{shown}”")
    if len(cut) > 20:
        sentences.append(f"  … and {len(cut) - 20} more segments.")
    return sentences


def _thread(email: Email, thread: ThreadFile) -> str:
    member = next((one for one in thread.members if one.msg_id == email.msg_id), None)
    audit = email.rule_audit
    sentence = (
        f"In thread {email.thread_id} ({len(thread.members)} messages): {_METHODS[audit.thread_method]}"
    )
    if audit.thread_parent:
        sentence += f", below {audit.thread_parent}"
    if member is not None and member.reason:
        sentence += f" ({member.reason})"
    if audit.thread_method in GUESSES and member is not None:
        sentence += f"; score {member.score:g}"
    if audit.subject_changed:
        sentence += "; the subject changed here"
    return sentence + "."


def _people(email: Email) -> str:
    inside, outside = email.entities.internal_people, email.entities.external_people
    how = f" ({'; '.join(email.rule_audit.people_methods)})" if email.rule_audit.people_methods else ""
    return f"Internal people: {', '.join(inside) or 'none'}; external: {', '.join(outside) or 'none'}{how}."


def _intent(email: Email) -> str:
    intent = email.intent
    sentence = f"Intent {intent.primary}, confidence {intent.confidence:.2f}, by {intent.method}"
    if email.low_confidence and intent.ranking:
        thought = intent.ranking[0]
        sentence += f": the classifier leaned to {thought.label} ({thought.p:.2f}), too little to say so"
    if intent.secondary:
        sentence += f"; also {', '.join(intent.secondary)}"
    return sentence + "."
