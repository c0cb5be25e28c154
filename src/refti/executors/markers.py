"""Markers: empty files by which workers of this machine tell that they have begun a task."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path

PREFIX = "refti-began-"


class Markers:
    """A private folder of markers, removed when it is closed, or by the next of this user."""

    def __init__(self) -> None:
        remove_those_of_the_dead()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))  # for us alone
        self._numbers = count()

    def next(self) -> str:
        """The path of a marker that nobody has made yet."""
        return str(self._folder / str(next(self._numbers)))

    @staticmethod
    def take(marker: str | None) -> bool:
        """Whether the marker was made; it is gone afterwards."""
        if marker is None:
            return False
        try:
            os.unlink(marker)
        except FileNotFoundError:
            return False
        return True

    def close(self) -> None:
        """Removes the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)


def remove_those_of_the_dead() -> None:
    """Removes folders that processes left which were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        process = folder.name.removeprefix(PREFIX).split("-")[0]
        with suppress(OSError):  # another user's, or removed by somebody else at this moment
            is_own = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if is_own and process.isdecimal() and not is_alive(int(process)):
                shutil.rmtree(folder)


def is_alive(process: int) -> bool:
    """Whether a process of this machine is there."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
