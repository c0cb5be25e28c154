"""docs/command_line.md: every command and every option is in it, as they are."""

from __future__ import annotations

import click
from benchmarks import command_page

PAGE = command_page.PAGE.read_text(encoding="utf-8")


def test_the_page_is_up_to_date():
    assert command_page.with_reference(PAGE) == PAGE, "Say python -m benchmarks.command_page"


def test_every_command_and_every_option_is_in_it():
    found = dict(command_page.commands())
    assert {"refti run", "refti doctor", "refti calibrate suite"} <= set(found)
    for name, command in found.items():
        section = PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert "```" in section, f"{name} has no example"
        for parameter in command.params:
            for option in parameter.opts if isinstance(parameter, click.Option) else ():
                assert option in section, f"{name} {option}"


def test_the_exit_codes_are_those_of_the_code():
    from refti.cli import exit_codes

    table = PAGE.split("## Exit codes")[1].split("\n## ")[0]
    for code in (exit_codes.TRUSTED, exit_codes.NOT_TRUSTED, exit_codes.BAD_INPUT):
        assert f"\n| {code} | " in table
    assert f"\n| {exit_codes.STOPPED_EARLY} | stopped early" in table
