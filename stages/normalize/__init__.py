"""Normalize: the canonical Email of one message, from what the other stages found and from its thread.

Pure: the same parts give the same record. Whoever publishes it knows the time; here `extracted_at` is empty.
"""

from stages.normalize.compose import EmailParts, compose_email
from stages.normalize.render import render_email, render_record

VERSION = "1"

__all__ = ["VERSION", "EmailParts", "compose_email", "render_email", "render_record"]
