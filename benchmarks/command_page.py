"""The commands and their options as a page: the second part of docs/command_line.md.

`python -m benchmarks.command_page` writes it anew from the commands themselves; a test fails while
it is out of date.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click

PAGE = Path(__file__).parents[1] / "docs" / "command_line.md"
BEGIN, END = "<!-- commands -->", "<!-- end of commands -->"


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yields every command by its whole name, groups before what is in them."""
    # Not an import: what documents the package from inside is no user of it.
    yield from _inside("refti", import_module("refti.cli.main").commands)


def _inside(name: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
    for part, command in group.commands.items():
        yield f"{name} {part}", command
        if isinstance(command, click.Group):
            yield from _inside(f"{name} {part}", command)


def reference() -> str:
    """All commands in Markdown."""
    return "\n".join(line for name, command in commands() for line in _section(name, command))


def _section(name: str, command: click.Command) -> Iterator[str]:
    words, _, examples = inspect.cleandoc(command.help or "").partition("\b\n")
    yield f"## {name}\n"
    arguments = " ".join(
        (parameter.metavar or parameter.human_readable_name.upper())
        for parameter in command.params
        if isinstance(parameter, click.Argument)
    )
    kind = "COMMAND" if isinstance(command, click.Group) else arguments
    yield f"`{name} [OPTIONS] {kind}`".replace(" `", "`") + "\n"
    yield f"{words.strip()}\n"
    if examples:
        lines = examples.splitlines()[1:]
        yield "\n".join(["```", *(line.strip() for line in lines if line.strip()), "```"]) + "\n"
    options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
    if options:
        context = click.Context(command, info_name=name, color=False)
        yield "| option | |\n|---|---|"
        for option in options:
            record = option.get_help_record(context)
            assert record is not None
            yield f"| `{_escaped(record[0])}` | {_escaped(_markdown(record[1]))} |"
        yield ""


def _markdown(text: str) -> str:
    """Help in one line; options and what is in brackets as they are."""
    return re.sub(r"\s+", " ", text).strip()


def _escaped(text: str) -> str:
    return text.replace("|", r"\|")


def with_reference(text: str) -> str:
    """The text of the page with the commands as they are."""
    if BEGIN not in text or END not in text:
        raise click.UsageError(f"{PAGE.name} has no place {BEGIN} … {END}.")
    place = re.compile(f"{BEGIN}.*?{END}", re.DOTALL)
    return place.sub(lambda _: f"{BEGIN}\n\n{reference()}\n{END}", text)


@click.command()
def main() -> None:
    """Write the commands into their page."""
    PAGE.write_text(with_reference(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
