"""Plots as inline SVG: figures by group with their intervals, confusion, calibration. Colours are the page's."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from eval.scoring.records import CalibrationBin, Confusion, Group, Score
from eval.scoring.table import number

_ROW = 22
_WIDE, _GAP = 1090, 16
_LONGEST = 26  # characters of a name
_PANEL = 220  # at most
_VALUE = 38  # of a panel, for the number before the bar
_CELL = 40
_CURVE = 260


def _svg(width: float, height: float, parts: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(label, quote=True)}">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, words: str, css: str = "", anchor: str = "start") -> str:
    style = f' class="{css}"' if css else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{style}>{escape(words)}</text>'


def _line(x: float, y: float, x2: float, y2: float, css: str) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>'


def _box(x: float, y: float, width: float, height: float, css: str, more: str = "") -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{height:.1f}" class="{css}"{more}/>'


def whisker(score: Score) -> str:
    """Return one figure as a bar with its interval, and a mark where the baseline stood."""
    width, height = 160, 16
    scale = _scale([score])
    parts = [_box(0, 4, width, 8, "track"), _box(0, 4, _at(score.value, scale, width), 8, "bar")]
    parts += _interval(score, 0, 8, scale, width)
    if score.change is not None:
        x = _at(score.change.before, scale, width)
        parts.append(_line(x, 0, x, 16, "before"))
    return _svg(width, height, parts, f"{score.label} {number(score, score.value)}")


def group_panels(groups: Sequence[Group]) -> str:
    """Return one panel per figure, one bar per language or suite, all rows on one line."""
    labels = list(dict.fromkeys(score.label for group in groups for score in group.scores))
    parts: list[str] = []
    top = 30
    shown = [
        group.name if len(group.name) <= _LONGEST else group.name[: _LONGEST - 1] + "…" for group in groups
    ]
    names = 46 + 7 * max(8, *map(len, shown))
    side = min(_PANEL, (_WIDE - names) / len(labels) - _GAP)
    for place, group in enumerate(groups):
        y = top + place * _ROW
        parts.append(_text(names - 40, y + 14, shown[place], "name", "end"))
        parts.append(_text(names - 8, y + 14, str(group.units), "faint", "end"))
    height = top + len(groups) * _ROW + 24
    for panel, label in enumerate(labels):
        left = names + panel * (side + _GAP)
        scores = [next((one for one in group.scores if one.label == label), None) for group in groups]
        parts += _panel(left, top, side, label, scores)
    width = names + len(labels) * (side + _GAP)
    return _svg(width, height, parts, f"{', '.join(labels)} by {groups[0].by}")


def _panel(left: float, top: float, side: float, label: str, scores: Sequence[Score | None]) -> list[str]:
    present = [score for score in scores if score is not None]
    scale = _scale(present)
    arrow = " ↓" if present and present[0].better == "lower" else ""
    bottom = top + len(scores) * _ROW
    start, width = left + _VALUE, side - _VALUE
    parts = [_text(start, 18, label + arrow, "head")]
    for tick in (0.0, 0.5, 1.0):
        x = start + tick * width
        parts.append(_line(x, top, x, bottom, "grid"))
        told = f"{100 * tick * scale:g}" if present and present[0].percent else f"{tick * scale:.2g}"
        parts.append(_text(x, bottom + 15, told, "faint", "middle"))
    for place, score in enumerate(scores):
        if score is None:
            continue
        y = top + place * _ROW
        parts.append(_text(start - 6, y + 15, number(score, score.value), "value", "end"))
        parts.append(_box(start, y + 5, _at(score.value, scale, width), _ROW - 10, "bar"))
        parts += _interval(score, start, y + _ROW / 2, scale, width)
        if score.change is not None:
            x = start + _at(score.change.before, scale, width)
            parts.append(_line(x, y + 2, x, y + _ROW - 2, "before"))
    return parts


def _interval(score: Score, left: float, y: float, scale: float, width: float) -> list[str]:
    low, high = left + _at(score.low, scale, width), left + _at(score.high, scale, width)
    return [
        _line(low, y, high, y, "whisker"),
        _line(low, y - 4, low, y + 4, "whisker"),
        _line(high, y - 4, high, y + 4, "whisker"),
    ]


def _scale(scores: Sequence[Score]) -> float:
    """Return what the right edge stands for: 1, or less where a figure should be small and is."""
    if not scores or scores[0].better == "higher":
        return 1.0
    most = max(score.high or score.value or 0.0 for score in scores)
    return next(step for step in (0.05, 0.1, 0.2, 0.5, 1.0) if most <= step or step == 1.0)


def _at(value: float | None, scale: float, width: float) -> float:
    return min(1.0, max(0.0, (value or 0.0) / scale)) * width


def confusion_matrix(confusion: Confusion) -> str:
    """Return the table of expected (rows) by found (columns) labels, shaded by the share of the row."""
    labels = confusion.labels
    wide = max(76, *(len(label) * (13 if label[:1] > "⺀" else 7) + 14 for label in labels))
    top = 26 if max(map(len, labels)) <= 5 else 96
    size = len(labels) * _CELL
    parts = [_text(wide + size / 2, top + size + 18, "found", "faint", "middle")]
    parts.append(_text(wide - 8, top + size + 18, "expected ↑", "faint", "end"))
    for column, label in enumerate(labels):
        x, y = wide + column * _CELL + _CELL / 2, top - 8
        if top < 40:
            parts.append(_text(x, y, label, "name", "middle"))
        else:
            turned = f'transform="rotate(-50 {x:g} {y:g})"'
            parts.append(f'<text x="{x:g}" y="{y:g}" class="name" {turned}>{escape(label)}</text>')
    for line, counts in enumerate(confusion.rows):
        whole = sum(counts)
        y = top + line * _CELL
        parts.append(_text(wide - 8, y + _CELL / 2 + 5, labels[line], "name", "end"))
        for column, count in enumerate(counts):
            share = count / whole if whole else 0.0
            x = wide + column * _CELL
            css = "right" if line == column else "wrong"
            title = (
                f"<title>{escape(labels[line])} found as {escape(labels[column])}: {count} of {whole}</title>"
            )
            parts.append(
                f"<g>{title}{_box(x + 1, y + 1, _CELL - 2, _CELL - 2, 'cell')}"
                f"{_box(x + 1, y + 1, _CELL - 2, _CELL - 2, css, f' fill-opacity={_quoted(share)}')}</g>"
            )
            if count:
                shade = "inbar" if share > 0.55 else "value"
                parts.append(_text(x + _CELL / 2, y + _CELL / 2 + 5, str(count), shade, "middle"))
    return _svg(
        wide + size + (10 if top < 40 else 60), top + size + 28, parts, f"confusion of {confusion.title}"
    )


def _quoted(share: float) -> str:
    return f'"{share:.2f}"'


def calibration_curve(bins: Sequence[CalibrationBin]) -> str:
    """Return rightness over confidence with its diagonal, and below it how many answers were so sure."""
    left, top, side, foot = 44, 12, _CURVE, 46
    bottom = top + side
    parts = [_box(left, top, side, side, "frame"), _line(left, bottom, left + side, top, "grid")]
    for tick in (0.0, 0.5, 1.0):
        parts.append(_text(left - 6, bottom - tick * side + 4, f"{100 * tick:g}", "faint", "end"))
        parts.append(_text(left + tick * side, bottom + foot + 30, f"{100 * tick:g}", "faint", "middle"))
    most = max(one.n for one in bins)
    points = []
    for one in bins:
        x, y = left + one.confidence * side, bottom - one.right * side
        points.append(f"{x:.1f},{y:.1f}")
        tall = foot * one.n / most
        parts.append(
            f"<g><title>{one.n} answers {100 * one.low:g}–{100 * one.high:g} % sure</title>"
            + _box(left + one.low * side + 2, bottom + 14 + foot - tall, side / 10 - 4, tall, "soft")
            + "</g>"
        )
    parts.append(f'<polyline points="{" ".join(points)}" class="curve"/>')
    for one in bins:
        x, y = left + one.confidence * side, bottom - one.right * side
        radius = 3 + 6 * (one.n / most) ** 0.5
        title = f"{one.n} answers, {100 * one.confidence:.0f} % sure, {100 * one.right:.0f} % right"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="dot"><title>{title}</title></circle>'
        )
    parts.append(_text(left + 8, top + 18, "right, %", "faint"))
    parts.append(
        _text(left + side / 2, bottom + foot + 46, "confidence, % (bars: answers)", "faint", "middle")
    )
    return _svg(left + side + 16, bottom + foot + 54, parts, "calibration")
