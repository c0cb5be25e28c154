"""Files of compiled programs: read only if they are whole and nobody else's, and not too many."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from refti.executors.user_cache import cache_root, is_of_others
from refti.sampling.tuning import KEPT_PROGRAMS

SUFFIX = ".program"
DIGEST = 32  # bytes of a sha256, with which a file begins


def programs_place() -> Path:
    """Where programs are kept, or would be: a folder for each version of all that made them."""
    return cache_root() / "jax"


@dataclass
class ProgramFiles:
    """Compiled programs in a folder, as JAX asks a cache for them: `get` and `put` of bytes.

    A program is written under another name and renamed when it is whole, with its digest, so
    processes that share the folder never see half of one. Trouble with the disk is no trouble of
    the run: a program that cannot be read or written is compiled.

    Attributes:
        folder: of this user alone.
        written: how many programs were added.
    """

    folder: Path
    written: int = field(default=0)

    @property
    def _path(self) -> Path:
        return self.folder  # which JAX writes to its log

    def get(self, key: str) -> bytes | None:
        """The program of a key; None if it is not there, damaged, or somebody else's."""
        file = self._file(key)
        try:
            opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
            with os.fdopen(opened, "rb") as source:
                if is_of_others(os.fstat(source.fileno())):
                    return None
                content = source.read()
        except OSError:
            return None
        if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
            file.unlink(missing_ok=True)
            return None
        with suppress(OSError):
            os.utime(file)  # those used longest ago go first
        return content[DIGEST:]

    def put(self, key: str, value: bytes) -> None:
        """Keeps a program."""
        made = ""
        try:
            opened, made = tempfile.mkstemp(dir=self.folder)
            with os.fdopen(opened, "wb") as target:
                target.write(hashlib.sha256(value).digest() + value)
            Path(made).replace(self._file(key))
            self.written += 1
        except OSError:
            if made:
                Path(made).unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        # A key begins with the name of a function, which may be any name of the user's.
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}{SUFFIX}"


def programs_kept() -> tuple[int, float]:
    """How many programs of all versions are kept, and their megabytes."""
    sizes = [file.lstat().st_size for file in programs_place().glob(f"*/*{SUFFIX}")]
    return len(sizes), sum(sizes) / 1e6


def bound_programs() -> int:
    """Removes programs used longest ago, of any version, while all take too much; returns how many.

    Files that a killed process left half-written go too, once they are old.
    """
    found = []
    for file in programs_place().glob("*/*"):
        with suppress(OSError):  # another process may be removing it
            status = file.lstat()
            found.append((status.st_mtime, status.st_size, file))
    size, removed = sum(one[1] for one in found), 0
    old = time.time() - KEPT_PROGRAMS.kept_seconds
    for used, its_size, file in sorted(found):
        is_half = file.suffix != SUFFIX
        if used >= old or not (is_half or size > KEPT_PROGRAMS.most_megabytes * 1e6):
            continue
        with suppress(OSError):
            file.unlink()
            size, removed = size - its_size, removed + 1
    for folder in programs_place().glob("*"):
        with suppress(OSError):  # which is so for folders that are not empty
            folder.rmdir()
    return removed
