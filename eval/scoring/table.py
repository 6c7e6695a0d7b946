"""The evaluation report as plain text: figures with intervals and changes, groups, worst misses."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table

from eval.scoring.records import EvalReport, Floor, Group, Miss, Score, SetReport
from eval.scoring.text import clipped

WIDTH = 110
_SHOWN_GROUPS = 15
_SIGNIFICANT = "*"
_ABOUT = {"threads_lost": ", 30 % of the replies without headers", "zones": ", line by line"}


def report_text(report: EvalReport, misses: int, width: int = WIDTH) -> str:
    """Return the whole report in lines of at most `width` columns, with the `misses` worst of each set."""
    parts = [_set_text(scored, misses, width, compared=report.baseline is not None) for scored in report.sets]
    if report.floors:
        parts.append(_floor_text(report.floors))
    versions = " ".join(f"{name} {version}" for name, version in report.versions.items())
    parts.append(f"{report.run_id}: {versions}; {report.seconds:.1f} s")
    parts += [f"note: {note}" for note in report.notes]
    return "\n".join(parts)


def _set_text(scored: SetReport, misses: int, width: int, *, compared: bool) -> str:
    title = f"{scored.stage} · {scored.set} · {title_of(scored)}"
    if times := scored.milliseconds:
        title += f" · {times[0]:.2f} ms (99 %: {times[1]:.1f})"
    tables = [_score_table(scored, compared)]
    tables += [_group_table(list(rows)) for _, rows in groupby(scored.groups, key=lambda group: group.by)]
    parts = [title, *(_rendered(table, width) for table in tables), *(f"  {note}" for note in scored.notes)]
    if shown := scored.misses[:misses]:
        parts.append(f"  worst of {scored.missed} misses ([-expected], [+found])")
        parts += [_miss_text(miss) for miss in shown]
    return "\n".join(parts) + "\n"


def _rendered(table: Table, width: int) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None, highlight=False, markup=False).print(table)
    return "\n".join("  " + line.rstrip() for line in out.getvalue().splitlines() if line.strip())


def title_of(scored: SetReport) -> str:
    """Return how many rows of what a set holds."""
    return f"{scored.rows} rows{_ABOUT.get(scored.shape, '')}"


def _score_table(scored: SetReport, compared: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("measure")
    for name in ("value", "95 % interval", "n", *(("before", "change", "p") if compared else ())):
        table.add_column(name, justify="right")
    for score in scored.scores:
        table.add_row(
            score.label + (" ↓" if score.better == "lower" else ""),
            number(score, score.value),
            f"{number(score, score.low)} – {number(score, score.high)}",
            str(score.n),
            *(_change_cells(score) if compared else ()),
        )
    return table


def _change_cells(score: Score) -> tuple[str, str, str]:
    change = score.change
    if change is None:
        return "", "new", ""
    delta = change.after - change.before
    if not delta:
        return number(score, change.before), "=", ""
    told = f"{'+' if delta > 0 else '−'}{number(score, abs(delta))}"
    told += _SIGNIFICANT if change.significant else ""
    return number(score, change.before), told, f"{change.p:.3f}"


def number(score: Score, value: float | None) -> str:
    """Return a value as the score is shown: per cent with one decimal, or three decimals."""
    if value is None:
        return ""
    return f"{100 * value:.1f}" if score.percent else f"{value:.3f}"


def _group_table(rows: Sequence[Group]) -> Table:
    labels = list(dict.fromkeys(score.label for group in rows for score in group.scores))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    more = f", {_SHOWN_GROUPS} of {len(rows)}" if len(rows) > _SHOWN_GROUPS else ""
    table.add_column(f"by {rows[0].by}{more}")
    for name in ("units", *labels):
        table.add_column(name, justify="right")
    for group in rows[:_SHOWN_GROUPS]:
        by_label = {score.label: number(score, score.value) for score in group.scores}
        table.add_row(
            clipped(group.name, 32), str(group.units), *(by_label.get(label, "") for label in labels)
        )
    return table


def _miss_text(miss: Miss) -> str:
    where = ", ".join(filter(None, (miss.language, miss.suite)))
    head = f"    {miss.id}  {miss.what}" + (f"  ({where})" if where else "")
    return f"{head}\n      {' '.join(_pieces(miss))}"


def _pieces(miss: Miss) -> Iterator[str]:
    room = 2 * WIDTH
    for mark, words in miss.difference:
        if room <= 0:
            return
        told = clipped(words, max(20, room))
        yield told if mark == "=" else f"[{mark}{told}]"
        room -= len(told)


def _floor_text(floors: Sequence[Floor]) -> str:
    broken = [floor for floor in floors if not floor.held]
    if not broken:
        return f"floors: all {len(floors)} hold\n"
    lines = [f"floors: {len(broken)} of {len(floors)} do not hold"]
    for floor in broken:
        found = "not measured" if floor.value is None else f"{floor.value:.4f}"
        side = "at least" if floor.better == "higher" else "at most"
        lines.append(
            f"  {floor.stage} · {floor.set} · {floor.measure}: {found}, should be {side} {floor.bound:g}"
        )
    return "\n".join(lines) + "\n"
