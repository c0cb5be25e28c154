"""The line by which a page of measurements says what made it: command, version and revision."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def made_by(command: str) -> str:
    """The line as Markdown; a tree with changes that are not committed is marked by a +."""
    git = ["git", "-C", str(Path(__file__).parent)]
    revision = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain", "src"], capture_output=True).stdout
    where = f"revision {revision}{'+' if changed else ''}" if revision else "outside its repository"
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"*Made by `{command}`, refti {version('refti')}, {where}, {today}.*\n"
