"""The cache of compiled programs: private, each folder made whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from refti.errors import ModelError
from refti.executors.user_cache import cache_root, is_foreign, make_private

COMPLETE = "complete"


def cache_folder() -> Path:
    """The folder that REFTI_CACHE names, or refti's in the user's cache, made if it is not there.

    Raises ModelError if others own it or can write to it, for what is in it is executed.
    """
    folder = cache_place()
    make_private(folder)
    require_own(folder)
    return folder


def cache_place() -> Path:
    """Where the cache is, or would be."""
    return cache_root() / "stan"


def require_own(*paths: Path) -> None:
    """Raises ModelError if others own one of the files, or can write to it."""
    for path in paths:
        if is_foreign(path):
            raise ModelError(
                f"{path} is in the cache of compiled programs, and other users own it or can "
                "write to it: its programs may have been planted, so they are not executed. "
                f"Delete the whole cache, rm -r {cache_place()}, and it is made again; chmod "
                "alone would leave in place whatever others put there. Or set REFTI_CACHE to "
                "another folder."
            )


def make_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, with what `make` puts into it; made once, by whoever comes first.

    It is filled under another name and renamed when it is whole. A folder without its mark, or
    whose files have not the contents of the mark, is made anew.

    Raises ModelError if others own a file in it or can write to it.
    """
    if is_whole(folder):
        return _used(folder)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(folder.with_name(f".{folder.name}.lock")):
        if is_whole(folder):
            return _used(folder)
        filling = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            make(filling)
            for file in filling.iterdir():  # whatever the user's umask is
                file.chmod(file.stat().st_mode & ~(stat.S_IWGRP | stat.S_IWOTH))
            (filling / COMPLETE).write_text(_contents(filling))
            (filling / COMPLETE).chmod(0o600)
            shutil.rmtree(folder, ignore_errors=True)
            filling.rename(folder)
        finally:
            shutil.rmtree(filling, ignore_errors=True)
    return folder


def is_whole(folder: Path) -> bool:
    """Whether a folder has its mark and the contents that the mark tells of.

    Raises ModelError if others own a file in it or can write to it.
    """
    if not folder.is_dir():
        return False
    require_own(folder.parent, folder, *folder.iterdir())
    try:
        return (folder / COMPLETE).read_text() == _contents(folder)
    except OSError:
        return False


def cache_key(*parts: str | bytes) -> str:
    """A name that stands for all of the parts: another one where any of them differs."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()[:24]


def _used(folder: Path) -> Path:
    """The folder, with the time of its mark set to now: those used longest ago go first."""
    with suppress(OSError):
        os.utime(folder / COMPLETE)
    return folder


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _contents(folder: Path) -> str:
    """The names and digests of the files that a folder was made with."""
    files = sorted(file for file in folder.iterdir() if file.name != COMPLETE)
    return "".join(f"{file.name} {digest(file)}\n" for file in files)


def digest(file: Path) -> str:
    """The sha256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
