"""Typed records that the stages hand to one another, the canonical Email, config, report and errors."""
