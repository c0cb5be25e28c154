"""The options that all studies of `refti calibrate` have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def common_options(command: Callable[..., int]) -> Callable[..., int]:
    """The options that all studies have."""
    for option in reversed(
        (
            click.option(
                "--workers",
                type=click.IntRange(min=1),
                default=2,
                show_default=True,
                help="Number of processes; at most as many as there are processors.",
            ),
            click.option(
                "-o", "--output", type=click.Path(path_type=Path), help="Folder to keep runs in."
            ),
            click.option(
                "--setting",
                "settings",
                multiple=True,
                metavar="NAME=VALUE",
                callback=_parse_settings,
                help="A setting of refti.evidence, with its value as JSON; may be repeated.",
            ),
            click.option("--quick", is_flag=True, help="A small version of the study."),
            click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON."),
            click.option("--quiet", is_flag=True, help="Show no progress."),
        )
    ):
        command = option(command)
    return command


def _parse_settings(context: Any, option: Any, values: tuple[str, ...]) -> dict[str, Any]:
    del context, option
    settings = {}
    for item in values:
        name, found, value = item.partition("=")
        if not found or not name.isidentifier() or name in ("seed", "progress", "store"):
            raise click.BadParameter(f"expected NAME=VALUE, such as kept=500; got {item!r}.")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings
