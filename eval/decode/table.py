"""What every measure of this folder comes to: lines of a table, and what was missed."""

from __future__ import annotations

from models.base import Record


class Line(Record):
    """One line: how many of `total` came out right, and what did not (short, readable)."""

    name: str
    right: float
    total: int
    misses: list[str] = []

    @property
    def share(self) -> float:
        """Share of right ones, 0-1; 1 where there is nothing to be right about."""
        return self.right / self.total if self.total else 1.0


def joined(name: str, lines: list[Line]) -> Line:
    """Return the sum of several lines."""
    return Line(
        name=name,
        right=sum(line.right for line in lines),
        total=sum(line.total for line in lines),
        misses=[miss for line in lines for miss in line.misses],
    )


def shown(title: str, lines: list[Line], *, misses: int = 0) -> str:
    """Return the lines as text, with up to `misses` misses under each."""
    out = [title]
    for line in lines:
        out.append(f"  {line.name:40} {line.right:8.6g} of {line.total:5}  {100 * line.share:6.2f} %")
        out.extend(f"      {miss}" for miss in line.misses[:misses])
    return "\n".join(out)
