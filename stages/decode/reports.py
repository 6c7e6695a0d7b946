"""Machine reports: delivery status (RFC 3464), disposition (RFC 8098), feedback (RFC 5965)."""

from __future__ import annotations

from models.message import DeliveryReport
from stages.decode.headers import Headers, read_headers
from stages.decode.part import Part
from stages.decode.words import decoded_text

_KINDS = {
    "message/delivery-status": "dsn",
    "message/global-delivery-status": "dsn",
    "message/disposition-notification": "mdn",
    "message/feedback-report": "arf",
}
_MAX_GROUPS = 200
_READ_BYTES = 262_144


def read_report(machine: list[Part], root: Part) -> DeliveryReport | None:
    """Return the first report among the machine parts of a message; for several recipients, the first that
    failed, else the first. None if there is no report."""
    for part in machine:
        kind = _KINDS.get(part.mime)
        if kind is not None:
            return _report(kind, _groups(part.payload()[:_READ_BYTES]))
    if root.mime == "multipart/report":
        wanted = root.params.get("report-type", "").lower()
        kind = {"delivery-status": "dsn", "disposition-notification": "mdn", "feedback-report": "arf"}.get(
            wanted
        )
        return DeliveryReport(kind=kind) if kind else None
    return None


def _groups(data: bytes) -> list[Headers]:
    """Return the blank-line separated field groups of a report part."""
    groups: list[Headers] = []
    at = 0
    while at < len(data) and len(groups) < _MAX_GROUPS:
        headers, after, _ = read_headers(data, at, len(data), 10_000)
        if headers.fields:
            groups.append(headers)
        elif after < len(data) and data[at:after].strip(b"\r\n") == b"" and after > at:
            at = after
            continue
        if after <= at:
            break
        at = after
    return groups


def _report(kind: str, groups: list[Headers]) -> DeliveryReport:
    if kind == "mdn":
        fields = groups[0] if groups else Headers([])
        disposition = decoded_text(fields.get("disposition"))
        return DeliveryReport(
            kind="mdn",
            recipient=_address(fields.get("final-recipient") or fields.get("original-recipient")),
            action=disposition.rpartition(";")[2].split("/")[0].strip().lower() or None,
        )
    if kind == "arf":
        fields = groups[0] if groups else Headers([])
        return DeliveryReport(
            kind="arf",
            recipient=_address(fields.get("original-rcpt-to")),
            action=decoded_text(fields.get("feedback-type")).lower() or None,
        )
    recipients = [group for group in groups if "final-recipient" in group or "action" in group]
    failed = [group for group in recipients if decoded_text(group.get("action")).lower().startswith("failed")]
    fields = (failed or recipients or groups or [Headers([])])[0]
    return DeliveryReport(
        kind="dsn",
        recipient=_address(fields.get("final-recipient") or fields.get("original-recipient")),
        action=decoded_text(fields.get("action")).split(" ")[0].lower() or None,
        status=decoded_text(fields.get("status")).split(" ")[0] or None,
    )


def _address(value: bytes | None) -> str | None:
    """Return the address of an `rfc822; user@host` value."""
    text = decoded_text(value)
    address = text.partition(";")[2] if ";" in text else text
    return address.strip().strip("<>").casefold() or None
