"""The cache of compiled programs: private, each folder made whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from refti.errors import ModelError

COMPLETE = "complete"


def cache_folder() -> Path:
    """The folder that REFTI_CACHE names, or refti's in the user's cache.

    Raises ModelError if others can write to it, for what is in it is executed.
    """
    named = os.environ.get("REFTI_CACHE")
    above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(named) if named else Path(above) / "refti"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = folder / "stan"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ModelError(
            f"Compiled programs are kept in {folder}, which others can write to, so what is in it "
            "cannot be executed. Make it yours alone (chmod 700), or set REFTI_CACHE to another."
        )
    return folder


def make_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, with what `make` puts into it; made once, by whoever comes first.

    It is filled under another name and renamed when it is whole. A folder without its mark, or
    whose files are not those of the mark, is made anew.
    """
    if _is_whole(folder):
        return folder
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(folder.with_name(f".{folder.name}.lock")):
        if _is_whole(folder):
            return folder
        filling = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            make(filling)
            (filling / COMPLETE).write_text(_contents(filling))
            shutil.rmtree(folder, ignore_errors=True)
            filling.rename(folder)
        finally:
            shutil.rmtree(filling, ignore_errors=True)
    return folder


def cache_key(*parts: str | bytes) -> str:
    """A name that stands for all of the parts: another one where any of them differs."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()[:24]


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _is_whole(folder: Path) -> bool:
    try:
        return (folder / COMPLETE).read_text() == _contents(folder)
    except OSError:
        return False


def _contents(folder: Path) -> str:
    """The names and sizes of the files that a folder was made with."""
    files = sorted(file for file in folder.iterdir() if file.name != COMPLETE)
    return "".join(f"{file.name} {file.stat().st_size}\n" for file in files)
