"""The page of the benchmark, docs/benchmarks.md, and its figures, from the rows: one command.

python -m benchmarks.peers.page
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill

from benchmarks.made_by import made_by
from benchmarks.peers.environments import REQUIREMENTS, ROOT
from benchmarks.peers.figures import draw_claims, draw_seconds
from benchmarks.peers.problems import Problem, problems
from benchmarks.peers.programs import PROGRAMS
from benchmarks.peers.rows import Row, read_row
from benchmarks.peers.run import ROWS
from benchmarks.peers.summary import Clock, Summary, summarise
from benchmarks.peers.words import CLOCKS, INTRODUCTION, READING, WHY
from refti.studies import read_records

PAGE = ROOT / "docs" / "benchmarks.md"
FIGURES = ROOT / "docs" / "_static"


def summaries(
    rows: Iterable[Row], known: dict[str, Problem], clock: Clock = "wall"
) -> list[Summary]:
    """One for every program on every problem that has rows, in the order of both tables."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.problem, row.program), []).append(row)
    return [
        summarise(groups[name, program], problem.truth, problem.truth_error, clock=clock)
        for name, problem in known.items()
        for program in PROGRAMS
        if (name, program) in groups
    ]


def page(
    found: Sequence[Summary],
    known: dict[str, Problem],
    command: str,
    clock: Clock = "wall",
    *,
    note: str = "",
) -> str:
    """The page as Markdown."""
    told = [fill(note, 98), ""] if note else []
    parts = [
        INTRODUCTION,
        *told,
        CLOCKS[clock],
        headline(found, known),
        "",
        *better(found, known),
        READING,
    ]
    for name in dict.fromkeys(one.problem for one in found):
        parts += [details(name, [one for one in found if one.problem == name], known[name]), ""]
    parts += ["## Versions", "", versions(), "", made_by(command)]
    return "\n".join(parts)


def headline(found: Sequence[Summary], known: dict[str, Problem]) -> str:
    """Seconds to an error of 0.05, as multiples of refti's."""
    programs = [name for name in PROGRAMS if any(one.program == name for one in found)]
    by = {(one.problem, one.program): one for one in found}
    head = ["problem", "parameters", "refti, seconds"]
    head += [PROGRAMS[name].label for name in programs if name != "refti"]
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for name in dict.fromkeys(one.problem for one in found):
        ours = by.get((name, "refti"))
        base = math.nan if ours is None else ours.seconds_to_wanted
        cells = [known[name].about, f"{known[name].dim:,}", _number(base)]
        for program in programs:
            if program != "refti":
                cells.append(_ratio(by.get((name, program)), base))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def better(found: Sequence[Summary], known: dict[str, Problem]) -> list[str]:
    """Where another program is ahead of refti, and why one would use it instead."""
    base = {one.problem: one.seconds_to_wanted for one in found if one.program == "refti"}
    ahead = [
        one
        for one in found
        if not one.program.startswith("refti")
        if one.seconds_to_wanted < base.get(one.problem, math.nan)
    ]
    lines = ["## Where another program is ahead", ""]
    if not ahead:
        return [*lines, "On none of the problems that were run.", ""]
    for one in ahead:
        share = one.seconds_to_wanted / base[one.problem]
        held = (
            ""
            if math.isnan(one.covered)
            else f", {_share(one.covered)} of its intervals hold the truth"
        )
        lines.append(
            f"- **{known[one.problem].about}** ({known[one.problem].dim} parameters): "
            f"{PROGRAMS[one.program].label} takes {share:.2g} of refti's seconds{held}. "
            f"{WHY.get(one.program, '')}"
        )
    return [*lines, ""]


def details(name: str, found: Sequence[Summary], problem: Problem) -> str:
    """The table of one problem."""
    truth = f"log z = {problem.truth:.4f}"
    truth += f" ± {problem.truth_error:g}" if problem.truth_error else ", exact"
    lines = [
        f"### {problem.about}, {problem.dim:,} parameters",
        "",
        f"`{name}`: {truth}.".replace("-", "−"),
        "",
        "| program | cold, s | warm, s | gradients | calls | MB | true error | claimed | 95 % hold "
        "| limit | answers |",
        f"|---|{'---:|' * 10}",
    ]
    for one in found:
        cells = [
            PROGRAMS[one.program].label,
            *map(_number, (one.cold, one.warm, one.gradients, one.calls, one.megabytes)),
            _error(one.rms),
            _error(one.claimed),
            "–" if math.isnan(one.covered) else _share(one.covered),
            _limit(one),
            f"{one.answers} of {one.asked}" + (f" ({one.why_not})" if one.why_not else ""),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def versions() -> str:
    """What was pinned, in a line."""
    pins = [file.read_text().strip() for file in sorted(REQUIREMENTS.glob("*.txt"))]
    return ", ".join(f"`{pin}`" for pin in pins) + "; R's packages are those of Debian 12."


def _ratio(one: Summary | None, base: float) -> str:
    if one is None:
        return "–"
    if not one.answers:
        return "no answer"
    if one.is_biased:
        return f"wrong by {one.rms:.2f}"
    if not base > 0:
        return "–"
    ratio = one.seconds_to_wanted / base
    return f"{ratio:.2g}×" if ratio < 10 else f"{ratio:,.0f}×"


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def _error(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "–"


def _limit(one: Summary) -> str:
    if not math.isfinite(one.limit) or not one.claimed > 0:
        return "–"
    return f"{one.limit:.3f} ({_share((one.limit / one.claimed) ** 2)})"


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def main() -> None:
    """Writes the page and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--made-by", default="make bench-quick")
    parser.add_argument("--note", default="", help="what a reader should know of this run")
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    given = parser.parse_args()
    known = problems()
    found = summaries(read_records(given.rows, read_row), known, given.clock)
    draw_seconds(found, known, FIGURES / "benchmarks_seconds.svg")
    draw_claims(found, FIGURES / "benchmarks_claims.svg")
    text = page(found, known, given.made_by, given.clock, note=given.note)
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} tells of {len(found)} programs on problems.")


if __name__ == "__main__":
    main()
