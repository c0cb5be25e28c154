"""`refti doctor`: what is installed, what works, and what to do about what does not."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from refti.cli.exit_codes import verdict
from refti.cli.findings import Finding, State
from refti.cli.printing import coloured, print_json, say
from refti.progress import Display, terminal_width

INDENT = 18  # of what was found: after the mark and the name
MARKS = {State.WORKS: ("ok", "green"), State.MISSING: ("--", "yellow"), State.BROKEN: ("!!", "red")}


@click.command(short_help="Say what is installed and works, and what to do.")
@click.option("--quick", is_flag=True, help="Skip whatever takes more than a few seconds.")
@click.option(
    "--clear-cache", is_flag=True, help="First remove all compiled programs of Stan and JAX."
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def doctor(quick: bool, clear_cache: bool, as_json: bool, quiet: bool) -> int:
    """Say what is installed and what works, and what to do about what does not.

    The extras are tried out: a Stan program of two lines is compiled, a PyMC model evaluated, a
    figure drawn, a Dask worker started. That takes up to a minute the first time; --quick compiles
    nothing. Exit codes: 0 everything installed works, 1 something does not.

    \b
    Examples:
      refti doctor
      refti doctor --quick --json
      refti doctor --quick --clear-cache
    """
    if clear_cache:
        _clear_cache()
    findings = []
    with Display(quiet=quiet) as display:
        for finding in _findings(quick, display):
            findings.append(finding)
            if not as_json:
                display.clear()
                print_finding(finding)
    sound = all(finding.state is not State.BROKEN for finding in findings)
    if as_json:
        print_json({"findings": [finding.record() for finding in findings], "works": sound})
    return verdict(sound)


def _clear_cache() -> None:
    from refti.executors.user_cache import cache_root, clear_parts

    say(f"{clear_parts('stan', 'jax'):,.1f} MB of compiled programs removed from {cache_root()}.")


def _findings(quick: bool, display: Display) -> Iterator[Finding]:
    from refti.cli.examinations import EXAMINATIONS

    for examination in EXAMINATIONS:
        display.begin("")
        display(f"trying {examination.what}", 0, 1)
        yield examination.examine(quick)


def print_finding(finding: Finding) -> None:
    """Prints a finding in lines that fit the terminal."""
    from refti.results.text import wrapped

    mark, colour = MARKS[finding.state]
    room = terminal_width(sys.stdout) - INDENT
    first, *rest = [
        line for text in (finding.found, finding.advice) for line in wrapped(text, room)
    ]
    click.echo(f"{coloured(mark, colour)}  {finding.what:12}  {first}")
    for line in rest:
        click.echo(f"{' ' * INDENT}{line}")
