"""format=flowed (RFC 3676): soft line ends joined, quote depth and the signature line kept."""

from __future__ import annotations


def unflow(text: str, *, delsp: bool) -> str:
    """Return `text` (LF) with flowed lines rejoined; with `delsp` the space at a soft break goes too."""
    lines: list[str] = []
    pieces: list[str] = []  # of the paragraph that is being joined
    joining: int | None = None  # its quote depth
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        content = line[depth:]
        if content.startswith(" "):  # space-stuffed
            content = content[1:]
        signature = content == "-- "
        soft = content.endswith(" ") and not signature
        if joining is not None and (joining != depth or signature):
            lines.append("".join(pieces).rstrip(" "))
            joining = None
        if joining is None:
            pieces = [">" * depth + " " if depth and content else ">" * depth]
        pieces.append(content[:-1] if soft and delsp else content)
        if soft:
            joining = depth
        else:
            lines.append("".join(pieces))
            joining = None
    if joining is not None:
        lines.append("".join(pieces).rstrip(" "))
    return "\n".join(lines)
