"""The user's cache: where what was compiled is kept, and whether others could meddle with it."""

from __future__ import annotations

import os
import platform
import shutil
import stat
from pathlib import Path


def cache_root() -> Path:
    """The folder that REFTI_CACHE names, or refti's in the user's cache; it need not be there."""
    named = os.environ.get("REFTI_CACHE")
    above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(above) / "refti"


def make_private(folder: Path) -> None:
    """Makes a folder that only this user can look into, if it is not there."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def clear_parts(*names: str) -> float:
    """Removes parts of the cache, and returns how many megabytes that were."""
    size = 0
    for name in names:
        part = cache_root() / name
        files = [file for file in part.rglob("*") if file.is_file() and not file.is_symlink()]
        size += sum(file.stat().st_size for file in files)
        shutil.rmtree(part, ignore_errors=True)
    return size / 1e6


def is_foreign(path: Path) -> bool:
    """Whether others own a file or can write to it, or whether it leads elsewhere."""
    return is_of_others(path.lstat())


def is_of_others(found: os.stat_result) -> bool:
    """Whether what was found is owned by others, can be written by them, or is a link."""
    writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid != os.getuid() or stat.S_ISLNK(found.st_mode) or bool(writable)


def processor() -> str:
    """What code compiled for this very processor depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")
