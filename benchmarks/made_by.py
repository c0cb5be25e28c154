"""The line by which a page of measurements says what made it: command, version and revision."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def made_by(command: str, *revisions: str) -> str:
    """The line as Markdown, of the present revision where none is given."""
    named = [one for one in revisions or (revision(),) if one]
    where = f"revision {', '.join(named)}" if named else "outside its repository"
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"*Made by `{command}`, refti {version('refti')}, {where}, {today}.*\n"


def revision() -> str:
    """The present commit; a + marks a tree with changes to refti that are not committed."""
    git = ["git", "-C", str(Path(__file__).parents[1])]
    now = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain", "src"], capture_output=True).stdout
    return f"{now}+" if now and changed else now
