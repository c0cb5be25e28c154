"""`refti init`: a study to start from, with a commented study.toml and an example model."""

from __future__ import annotations

from pathlib import Path

import click

from refti.cli.printing import print_json, say
from refti.errors import SettingsError

TEMPLATES = Path(__file__).parent / "templates"
FILES = ("study.toml", "model.py")


@click.command(short_help="Write an example model and study to start from.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("."))
@click.option("--json", "as_json", is_flag=True, help="Print the names of the files as JSON.")
def init(folder: Path, as_json: bool) -> int:
    """Write a commented study.toml and an example model to start from.

    They go into FOLDER, or the current folder if it is not given. Existing files are never
    overwritten.

    \b
    Examples:
      refti init study
      refti run study/model.py:straight study/model.py:curved
    """
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise SettingsError(
            f"{folder} has {' and '.join(there)} already. Choose another folder, such as "
            f"{folder / 'study'}."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / name).write_text((TEMPLATES / f"{name}.txt").read_text("utf-8"), "utf-8")
    written = [str(folder / name) for name in FILES]
    if as_json:
        print_json({"written": written})
    else:
        click.echo("\n".join(written))
        say(f"Now run: refti run {folder / 'model.py'}:straight {folder / 'model.py'}:curved")
    return 0
