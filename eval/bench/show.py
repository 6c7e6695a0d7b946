"""The benchmark on a terminal: the product, its stages, the peers, the change since the last run."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console
from rich.table import Table

from eval.bench.records import BenchReport, Cutting, ProductRun, Reading

_WIDTH = 124


def bench_text(report: BenchReport, last: BenchReport | None) -> str:
    """Return the tables; `last` is the newest earlier run that can be compared."""
    head = (
        f"{report.mails} mails of {report.mean_bytes / 1000:.1f} kB ({report.corpus}), {report.machine}, "
        f"{report.filesystem}, load {report.load:.1f}, {report.version}"
    )
    parts = [head, _rendered(_product_table(report, last)), _rendered(_stage_table(report.cold, last))]
    if report.reading:
        parts.append(_rendered(_reading_table(report.reading, report.cold)))
    if report.cutting:
        parts.append(_rendered(_cutting_table(report.cutting, report.labelled)))
    if last is not None:
        parts.append(f"(before: the run of {last.started_at}, {last.version})")
    if report.filesystem == "tmpfs":
        parts.append(
            "The folder is in memory: syncing to it costs nothing. For figures of a disk use --work DIR."
        )
    return "\n\n".join(parts) + "\n"


def _rendered(table: Table) -> str:
    out = io.StringIO()
    Console(file=out, width=_WIDTH, color_system=None, highlight=False, markup=False).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines() if line.strip())


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left")
    return table


def _product_table(report: BenchReport, last: BenchReport | None) -> Table:
    table = _table("atlas-extract", "cold", "warm", *(("cold before", "warm before") if last else ()))
    runs = [report.cold, report.warm, *((last.cold, last.warm) if last else ())]
    table.add_row("mails per CPU second", *(f"{run.per_cpu_second:,.0f}" for run in runs))
    table.add_row("mails per wall second", *(f"{run.per_wall_second:,.0f}" for run in runs))
    table.add_row("CPU seconds", *(f"{run.cpu:.1f}" for run in runs))
    table.add_row("wall seconds", *(f"{run.wall:.1f}" for run in runs))
    table.add_row("peak memory, all processes", *(_megabytes(run.peak_memory) for run in runs))
    table.add_row("processes", *(str(run.processes) for run in runs))
    table.add_row("handed to the disk", *(_megabytes(run.written) for run in runs))
    table.add_row(
        "state folder after", *(_megabytes(run.state_bytes) if run.state_bytes else "" for run in runs)
    )
    table.add_row("outcome", *(_outcome(run) for run in runs))
    return table


def _outcome(run: ProductRun) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in run.outcomes.items())
    return counts if run.balanced and run.exit_code == 0 else f"{counts} (exit {run.exit_code})"


def _megabytes(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 1e6:,.0f} MB"


def _stage_table(cold: ProductRun, last: BenchReport | None) -> Table:
    table = _table("stage (cold)", "CPU s", "ms a mail", "share", *(("before, ms",) if last else ()))
    rest = cold.cpu - sum(cold.stages.values())
    rows = [*cold.stages.items(), ("everything else", rest)]
    for name, seconds in rows:
        before: list[str] = []
        if last:
            theirs = last.cold.stages.get(name, last.cold.cpu - sum(last.cold.stages.values()))
            before.append(f"{1000 * theirs / last.cold.mails:.3f}")
        table.add_row(
            name,
            f"{seconds:.2f}",
            f"{1000 * seconds / cold.mails:.3f}",
            f"{100 * seconds / cold.cpu:.0f} %",
            *before,
        )
    return table


def _reading_table(readings: list[Reading], cold: ProductRun) -> Table:
    table = _table(
        "reading mail, one process", "mails", "per CPU second", "per wall second", "raised", "what it does"
    )
    decode = cold.stages.get("decode", 0.0)
    if decode:
        table.add_row(
            "atlas-extract decode", str(cold.mails), f"{cold.mails / decode:,.0f}", "", "", "the stage alone"
        )
    whole = f"{cold.per_cpu_second:,.0f}", f"{cold.per_wall_second:,.0f}"
    table.add_row("atlas-extract", str(cold.mails), *whole, "", "all seven stages, written and synced")
    for one in readings:
        if one.absent:
            table.add_row(one.name, "", "", "", "", one.absent)
            continue
        raised = str(sum(one.failed.values())) if one.failed else ""
        per_cpu, per_wall = (
            f"{one.mails / seconds:,.0f}" if seconds else "" for seconds in (one.cpu, one.wall)
        )
        table.add_row(one.name, str(one.mails), per_cpu, per_wall, raised, one.note)
    return table


def _cutting_table(cuttings: list[Cutting], labelled: str) -> Table:
    table = _table(f"quotes of {labelled}", "rows", "exact", "lost", "left", "ms", "raised", "")
    for one in cuttings:
        if one.absent:
            table.add_row(one.name, "", "", "", "", "", "", one.absent)
            continue
        shares = (f"{100 * share:.1f}" for share in (one.exact, one.lost, one.left))
        table.add_row(one.name, str(one.rows), *shares, f"{one.ms:.2f}", str(one.failed or ""), one.note)
    return table
