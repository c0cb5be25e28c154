"""Leases: files by which those who share a folder tell who works on what.

A lease is made by whoever comes first, and touched while the work goes on. One whose maker is gone
is taken over. Two may believe so at once, and then both do the work: it gives the same bits, and
the files are whole whoever writes last.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from refti.errors import StoreError
from refti.executors.markers import is_alive
from refti.executors.tuning import TUNING


@contextmanager
def leased(path: Path) -> Iterator[bool]:
    """Whether the lease is ours, as long as we are inside."""
    if not _take(path):
        yield False
        return
    done = threading.Event()
    beating = threading.Thread(target=_beat, args=(path, done), daemon=True)
    beating.start()
    try:
        yield True
    finally:
        done.set()
        beating.join()
        if _maker(path) == _ourselves():
            path.unlink(missing_ok=True)


def is_held(path: Path) -> bool:
    """Whether somebody holds a lease who is still there."""
    try:
        age = _now(path.parent) - path.lstat().st_mtime
    except OSError:
        return False
    host, process = _maker(path)
    if host == socket.gethostname() and process and not is_alive(process):
        return False
    return age < TUNING.stale_seconds


def _take(path: Path) -> bool:
    if is_held(path):
        return False
    with suppress(FileNotFoundError):
        path.unlink()
    host, process = _ourselves()
    try:
        with path.open("x", encoding="utf-8") as file:  # fails if another was quicker
            file.write(json.dumps({"host": host, "process": process}))
    except FileExistsError:
        return False
    except OSError as error:
        raise StoreError(f"{path.parent} cannot be written: {error}.") from error
    return True


def _ourselves() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def _maker(path: Path) -> tuple[str, int]:
    """The machine and process that made a lease; nobody if it cannot be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return str(found["host"]), int(found["process"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "", 0


def _now(folder: Path) -> float:
    """The time by the clock of the disk, which all machines share."""
    probe = folder / f".now.{socket.gethostname()}.{os.getpid()}.{threading.get_ident()}"
    try:
        probe.touch()
        return probe.stat().st_mtime
    except OSError:
        return time.time()
    finally:
        probe.unlink(missing_ok=True)


def _beat(path: Path, done: threading.Event) -> None:
    while not done.wait(TUNING.beat_seconds):
        with suppress(OSError):
            os.utime(path)
