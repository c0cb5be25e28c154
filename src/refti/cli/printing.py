"""What commands print: the answer first, in words that fit the terminal, or anything as JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from refti.cli.wording import in_command_line_words
from refti.progress import clear_lines, duration, terminal_width

if TYPE_CHECKING:
    from refti.results.comparison import Comparison
    from refti.results.result import Evidence, Result

COLOURS = {"trusted": "green", "not trusted": "red"}  # and yellow for what lies between


def print_json(value: Any) -> None:
    """Prints plain values; numbers that are not finite become strings."""
    from refti.results.files import plain

    click.echo(json.dumps(plain(value), indent=2, allow_nan=False))


def say(message: str) -> None:
    """Tells something that is no result, on standard error; in one line where it is a log."""
    from refti.results.text import wrapped

    clear_lines()
    if sys.stderr.isatty():
        message = "\n".join(wrapped(message, terminal_width(sys.stderr)))
    click.echo(message, err=True)


def coloured(text: str, colour: str) -> str:
    """The text in a colour, which click leaves out where there is no terminal."""
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=colour)


def print_results(
    results: Mapping[str, Evidence], table: Comparison | None, *, all_checks: bool = False
) -> None:
    """Prints the answer, then what it rests on, then what is to be said of each model."""
    width = terminal_width(sys.stdout)
    if table is not None:
        print_comparison(table, width)
    for name, result in results.items():
        if table is not None:
            click.echo()
        click.echo("\n".join(_lines(name, result, width, all_checks)))


def print_comparison(table: Comparison, width: int) -> None:
    """Prints which model is preferred, and the table that says so."""
    from refti.results.answer import answer
    from refti.results.text import wrapped

    click.echo("\n".join([*wrapped(answer(table), width), "", table.fitted(width)]))


def _lines(name: str, result: Evidence, width: int, all_checks: bool) -> Iterator[str]:
    from refti.results.text import plus_minus, printable, wrapped

    low, high = result.interval()
    verdict = coloured(result.verdict.shown, COLOURS.get(result.verdict.value, "yellow"))
    value = f"log z = {plus_minus(result.value, result.error)}"
    interval = f"(95 %: {low:.4f} to {high:.4f})"
    title = f"{printable(name)}: "
    if len(title) + len(value) + len(result.verdict.shown) + 2 > width:
        yield from wrapped(title.rstrip(), width)
        title = "  "
    if len(title) + len(value) + len(interval) + len(result.verdict.shown) + 4 <= width:
        yield f"{title}{value}  {interval}, {verdict}"
    else:
        yield f"{title}{value}, {verdict}"
        yield f"  {interval}"
    for text in _details(result):
        yield from wrapped(text, width, indent="  ")
    for check in result.checks:
        if all_checks or not check.ok:
            yield from wrapped(in_command_line_words(str(check)), width, indent="  ")


def _details(result: Evidence) -> Iterator[str]:
    """What is to be said of a result besides its number, in a few sentences."""
    yield from _notes(result)
    if "out_of_reach" in result.found:
        yield in_command_line_words(result.found["out_of_reach"])
    search = result.found.get("search")
    if search:
        yield f"search: {search['sentence']}"
    yield _choice(result)
    cost = result.cost
    yield (
        f"{cost.gradient_evaluations:,} gradients and {cost.density_evaluations:,} densities in "
        f"{duration(cost.seconds)}, of which {duration(cost.compile_seconds)} compiling"
    )
    if "log_z" in result.found.get("witness", {}):
        yield _witness(result)
    if "rejected" in result.found:
        yield _rejections(result)


def print_notes(results: Mapping[str, Result]) -> None:
    """Prints the notes on models that are compared, below their table."""
    from refti.results.text import printable, wrapped

    width = terminal_width(sys.stdout)
    noted = [f"{printable(name)}: {note}" for name, r in results.items() for note in _notes(r)]
    if noted:
        click.echo("\n" + "\n".join(line for note in noted for line in wrapped(note, width)))


def _notes(result: Result) -> Iterator[str]:
    """What a reader has to know of the model before using its number, such as its priors."""
    for note in result.found.get("notes", ()):
        yield f"note: {in_command_line_words(note)}"


def _choice(result: Evidence) -> str:
    """What the run chose by itself; why, is for the report."""
    rungs = sum(len(leg.lambdas) for leg in result.draws)
    reference = result.found.get("chosen_reference")
    return f"{rungs} rungs" + ("" if reference is None else f" from the reference {reference}")


def _witness(result: Evidence) -> str:
    from refti.results.text import plus_minus

    second = result.found["witness"]
    value = plus_minus(second["log_z"], second["error"])
    return f"second estimate, by {second['way']}: log z = {value}"


def _rejections(result: Evidence) -> str:
    from refti.models.rejections import Rejections

    record = {**result.found["rejected"]}
    every = result.cost.gradient_evaluations + result.cost.density_evaluations
    return Rejections(**record).told(every)
