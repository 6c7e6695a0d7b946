"""The evaluation report as one page: no script, no second file, nothing fetched. Mail is shown as text alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from itertools import groupby

from eval.scoring.plots import calibration_curve, confusion_matrix, group_panels, whisker
from eval.scoring.records import EvalReport, Floor, Group, Miss, Score, SetReport
from eval.scoring.table import number, title_of

_SHOWN_MISSES = 12
_OPEN_MISSES = 4
_SHOWN_GROUPS = 16
_TAGS = {"-": "del", "+": "ins"}
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def render_page(report: EvalReport) -> str:
    """Return the whole page as HTML."""
    style = (resources.files("eval.scoring") / "page.css").read_text("utf-8")
    body = [*_header(report), "<main>"]
    for stage, sets in groupby(report.sets, key=lambda one: one.stage):
        body.append(f'<h2 id="{escape(stage)}">{escape(stage)}</h2>')
        for scored in sets:
            body += _set_section(scored, compared=report.baseline is not None)
    if report.floors:
        body += _floor_section(report.floors)
    body += ["</main>", _footer(report)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Evaluation {escape(report.run_id)}</title><style>{style}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _header(report: EvalReport) -> Iterator[str]:
    told = f"{report.started_at.replace('T', ' ').replace('+00:00', ' UTC')}, {report.extraction_version}"
    if report.baseline:
        told += f", compared with {report.baseline}"
    yield f"<header><h1>How right each stage is</h1><p class=about>{escape(told)}</p>"
    yield (
        "<p class=key>Every figure with its 95 % interval; ↓ marks figures that should be small."
        + (" The orange mark is the baseline." if report.baseline else "")
        + "</p>"
    )
    yield '<div class="cards">'
    for scored in report.sets:
        yield _card(scored)
    yield "</div></header>"


def _card(scored: SetReport) -> str:
    figures = "".join(
        f"<span><b>{number(score, score.value)}</b><small>{escape(score.label)}{_arrow(score)}</small></span>"
        for score in [one for one in scored.scores if one.shown][:2]
    )
    return (
        f'<a class="card" href="#{_anchor(scored)}"><span class="stage">{escape(scored.stage)}</span>'
        f"<small>{escape(scored.set)}, {escape(title_of(scored))}</small>"
        f'<span class="two">{figures}</span></a>'
    )


def _anchor(scored: SetReport) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"{scored.stage}-{scored.set}-{scored.shape}".lower())


def _arrow(score: Score) -> str:
    return " ↓" if score.better == "lower" else ""


def _set_section(scored: SetReport, *, compared: bool) -> Iterator[str]:
    yield f'<section class="set" id="{_anchor(scored)}"><h3>{escape(scored.set)}</h3>'
    about = title_of(scored)
    if times := scored.milliseconds:
        about += f"; {times[0]:.2f} ms a row inside the stage, 99 % under {times[1]:.1f} ms"
    yield f"<p class=about>{escape(about)}</p>"
    yield from _score_rows(scored.scores, compared)
    yield from (f"<p class=note>{_shown(note)}</p>" for note in scored.notes)
    for by, rows in groupby(scored.groups, key=lambda group: group.by):
        yield from _groups(by, list(rows))
    plots = [(f"confusion of {one.title}", confusion_matrix(one)) for one in scored.confusions]
    if scored.calibration:
        plots.append(("calibration", calibration_curve(scored.calibration)))
    if plots:
        yield '<div class="side">'
        yield from (f"<div class=scroll><h4>{escape(title)}</h4>{plot}</div>" for title, plot in plots)
        yield "</div>"
    yield from _misses(scored)
    yield "</section>"


def _score_rows(scores: Sequence[Score], compared: bool) -> Iterator[str]:
    yield "<table><tr><th>measure<th class=n>value<th>&nbsp;<th>95 % interval<th class=n>n"
    yield "<th class=n>before<th class=n>change<th class=n>p</tr>" if compared else "</tr>"
    for score in scores:
        row = (
            f"<tr><td>{escape(score.label)}{_arrow(score)}<td class=n>{number(score, score.value)}"
            f"<td>{whisker(score)}<td>{number(score, score.low)} – {number(score, score.high)}<td class=n>{score.n}"
        )
        yield row + (_change(score) if compared else "") + "</tr>"
    yield "</table>"


def _change(score: Score) -> str:
    change = score.change
    if change is None:
        return "<td><td class='n same'>new<td>"
    delta = change.after - change.before
    if not delta:
        return f"<td class=n>{number(score, change.before)}<td class='n same'>=<td>"
    better = (delta > 0) == (score.better == "higher")
    css = ("up" if better else "down") if change.significant else "same"
    sign = "+" if delta > 0 else "−"
    return (
        f"<td class=n>{number(score, change.before)}<td class='n {css}'>{sign}{number(score, abs(delta))}"
        f"<td class=n>{change.p:.3f}"
    )


def _groups(by: str, rows: list[Group]) -> Iterator[str]:
    shown = rows[:_SHOWN_GROUPS]
    more = f", the {len(shown)} largest of {len(rows)}" if len(rows) > len(shown) else ""
    yield f"<h4>by {escape(by)}{more}</h4><div class=scroll>{group_panels(shown)}</div>"


def _misses(scored: SetReport) -> Iterator[str]:
    shown = scored.misses[:_SHOWN_MISSES]
    if not shown:
        return
    state = " open" if scored.missed <= _OPEN_MISSES else ""
    yield f"<details{state}><summary>worst misses, {len(shown)} of {scored.missed}</summary>"
    for miss in shown:
        yield _miss(miss)
    yield "</details>"


def _miss(miss: Miss) -> str:
    where = " · ".join(filter(None, (miss.language, miss.suite)))
    pieces = "".join(
        f"<{tag}>{_shown(text)}</{tag}>" if (tag := _TAGS.get(mark)) else _shown(text)
        for mark, text in miss.difference
    )
    return (
        f'<div class="miss"><code>{_shown(miss.id)}</code> <span class="what">{_shown(miss.what)}'
        f'{" · " + _shown(where) if where else ""}</span><div class="diff">{pieces}</div></div>'
    )


def _shown(text: str) -> str:
    """Return text of a mail for HTML: escaped, and with characters that would turn or hide it made visible."""
    return escape(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _floor_section(floors: Sequence[Floor]) -> Iterator[str]:
    broken = sum(not floor.held for floor in floors)
    told = f"{broken} of {len(floors)} do not hold" if broken else f"all {len(floors)} hold"
    yield f'<h2 id="floors">floors</h2><section class="set floors"><p class=about>{told}</p><table>'
    yield "<tr><th>stage<th>set<th>measure<th class=n>bound<th class=n>measured<th></tr>"
    for floor in sorted(floors, key=lambda one: one.held):
        value = "not measured" if floor.value is None else f"{floor.value:.4f}"
        side = "≥" if floor.better == "higher" else "≤"
        css, word = ("up", "holds") if floor.held else ("down", "broken")
        yield (
            f"<tr><td>{escape(floor.stage)}<td>{escape(floor.set)}<td>{escape(floor.measure)}"
            f"<td class=n>{side} {floor.bound:g}<td class=n>{value}<td class={css}>{word}</tr>"
        )
    yield "</table></section>"


def _footer(report: EvalReport) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    notes = "".join(f"<br>{escape(note)}" for note in report.notes)
    return f"<footer>run {escape(report.run_id)}; stages: {escape(versions)}; {report.seconds:.1f} s{notes}</footer>"
