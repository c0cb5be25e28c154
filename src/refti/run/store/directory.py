"""The folder of a run: whether it can be used, who works in it, and its log of events.

Nothing here waits for JAX or NumPy, so that `refti status` answers at once.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from refti.errors import StoreError

MANIFEST, RESULT, EVENTS, LOCK = "run.json", "result.json", "events.jsonl", "lock"
BLOCKS, UNFINISHED, SHARED = "blocks", "unfinished", "shared"
SECONDS_BETWEEN_LOOKS = 0.2  # at whether another process has let go of a run


def require_usable(path: Any) -> Path:
    """The folder, which may be new. Raises StoreError if a run cannot be kept in it."""
    if not isinstance(path, str | os.PathLike) or not str(path) or "\0" in str(path):
        raise StoreError(
            f"store= must be the path of a directory, such as 'runs/m1'; got {path!r}."
        )
    folder = Path(path)
    try:
        if folder.is_file() or (folder.is_dir() and not _may_hold_a_run(folder)):
            raise StoreError(
                f"{folder} exists and holds no refti run. Choose an empty or new directory."
            )
    except OSError as error:  # a name that is too long
        raise StoreError(f"{str(path)!r} cannot be a directory: {error}.") from error
    above = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not os.access(above, os.W_OK | os.X_OK):
        raise StoreError(
            f"{folder} cannot be written to: {above} is not writable for this user. Choose "
            "another directory, or make it writable with chmod u+w."
        )
    return folder


def _may_hold_a_run(folder: Path) -> bool:
    return (folder / MANIFEST).exists() or not any(
        file.name != LOCK and not file.name.startswith(f".{MANIFEST}.") for file in folder.iterdir()
    )


@contextmanager
def locked(folder: Path, waiting: Callable[[], object]) -> Iterator[None]:
    """The scope in which nobody else leads the run of a folder; another process is waited for.

    A process that dies lets go of it.

    Args:
        folder: the run's.
        waiting: called again and again while another process has it; true if it did something.
    """
    with open(folder / LOCK, "a", encoding="utf-8") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waiting():
                    time.sleep(SECONDS_BETWEEN_LOOKS)
        yield


def is_worked_on(folder: Path) -> bool:
    """Whether a process of this machine holds the folder's lock."""
    try:
        with open(folder / LOCK, encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False
    except OSError:
        return False


def log_event(folder: Path, event: str, **values: Any) -> None:
    """Adds a line to the run's log; a log that cannot be written costs no run."""
    record = {"time": round(time.time(), 3), "process": os.getpid(), "event": event, **values}
    line = json.dumps(record, default=str) + "\n"
    try:
        number = os.open(
            folder / EVENTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666
        )
        with open(number, "a", encoding="utf-8") as file:
            file.write(line)
    except OSError:
        pass


def read_events(folder: Path, most_bytes: int = 2**20) -> list[dict[str, Any]]:
    """The last events of a run's log; lines that were torn are passed over."""
    try:
        number = os.open(folder / EVENTS, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(number, "rb") as file:
            file.seek(max(0, os.fstat(number).st_size - most_bytes))
            lines = file.read().splitlines()
    except OSError:
        return []
    events = []
    for line in lines:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and isinstance(event.get("event"), str):
            events.append(event)
    return events
