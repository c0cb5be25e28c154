"""Care of the cache: how large it is, what is wrong in it, and how it is kept small or cleared.

`refti doctor` reports and clears it by these functions.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from refti.executors.user_cache import clear_parts, is_foreign
from refti.inputs.stan.cache import COMPLETE, cache_place
from refti.inputs.stan.tuning import TUNING

MEGABYTE = 1e6


@dataclass(frozen=True)
class CacheReport:
    """What is in the cache.

    Attributes:
        folder: where it is.
        programs: how many compiled programs it holds.
        megabytes: its size.
        header_megabytes: the part of it that precompiled headers take.
        limit_megabytes: the size above which programs used longest ago are removed.
        foreign: files that others own or can write to, which are never executed.
    """

    folder: Path
    programs: int
    megabytes: float
    header_megabytes: float
    limit_megabytes: float
    foreign: tuple[Path, ...]

    def __str__(self) -> str:
        text = (
            f"{self.programs} compiled Stan programs in {self.folder}: {self.megabytes:,.0f} MB, "
            f"{self.header_megabytes:,.0f} MB of them precompiled headers; programs used longest "
            f"ago go above {self.limit_megabytes:,.0f} MB"
        )
        if self.foreign:
            text += (
                f"; others own or can write to {self.foreign[0]}"
                + (f" and {len(self.foreign) - 1} more" if len(self.foreign) > 1 else "")
                + f": delete the cache, rm -r {self.folder}"
            )
        return text


def report_cache() -> CacheReport:
    """What is in the cache; nothing is made or changed."""
    folder = cache_place()
    files = [path for path in folder.rglob("*")] if folder.is_dir() else []
    headers = [path for path in files if path.parent.name == "header"]
    foreign = [path for path in (folder, *files) if path.exists() and is_foreign(path)]
    return CacheReport(
        folder,
        sum(1 for path in files if path.name == COMPLETE and _is_program(path.parent)),
        sum(map(_size, files)) / MEGABYTE,
        sum(map(_size, headers)) / MEGABYTE,
        TUNING.most_cache_megabytes,
        tuple(foreign),
    )


def clear_cache() -> float:
    """Removes the whole cache, and returns how many megabytes that were."""
    return clear_parts(cache_place().name)


def bound_cache(keep: Path) -> list[Path]:
    """Removes programs used longest ago while the cache is too large, and returns their folders.

    `keep` is that of the program at hand. Those used in the last hour stay too: another process
    may be about to load them.
    """
    size = _megabytes(cache_place())
    removed = []
    for folder in _removable(keep):
        if size <= TUNING.most_cache_megabytes:
            break
        size -= _megabytes(folder)
        (folder / COMPLETE).unlink(missing_ok=True)  # half a program is not to pass for a whole one
        shutil.rmtree(folder, ignore_errors=True)
        removed.append(folder)
    return removed


def _removable(keep: Path) -> list[Path]:
    """What may go, in this order: headers of other compilers and versions, then programs."""
    marks = [mark for mark in cache_place().rglob(COMPLETE) if _is_program(mark.parent)]
    programs = {mark.parent: mark.stat().st_mtime for mark in marks if mark.parent != keep}
    headers = {
        header: header.stat().st_mtime
        for header in cache_place().glob("*/header")
        if header.parent != keep.parent
    }
    old = time.time() - TUNING.kept_seconds
    return [
        folder
        for group in (headers, programs)
        for folder, used in sorted(group.items(), key=lambda item: item[1])
        if used < old
    ]


def _megabytes(folder: Path) -> float:
    return sum(map(_size, folder.rglob("*"))) / MEGABYTE


def _is_program(folder: Path) -> bool:
    return (folder / "program.so").exists()


def _size(path: Path) -> int:
    return path.lstat().st_size if path.is_file() and not path.is_symlink() else 0
