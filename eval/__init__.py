"""Labelled sets, scoring of the stages, the demo, and the harnesses that drive the product by its command."""
