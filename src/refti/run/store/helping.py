"""Helping: whoever waits for a run that another process leads computes blocks of it meanwhile."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import get_ident
from typing import Any

from refti.errors import StoreError
from refti.executors.leases import is_held, leased
from refti.interruption import end_if_asked
from refti.progress import Progress
from refti.results.files import read_plain_file
from refti.run.counts import new_rejections, seen_by
from refti.run.elsewhere import Seen
from refti.run.problem import Problem
from refti.run.store.bundles import Bundles
from refti.run.store.directory import BLOCKS, MANIFEST, SHARED
from refti.run.store.keeper import Keeper
from refti.run.store.manifest import read_manifest, require_same_run
from refti.run.store.memory import StoreMemory
from refti.run.store.requests import Request, read_request
from refti.run.store.sharing import CLAIM, DONE, PARTICIPANT, WANTED, blocks_at_once
from refti.sampling.computing import computing
from refti.sampling.engine import SIDE_BY_SIDE
from refti.sampling.metering import Meter

WAITING, HELPING = "waiting for another process on this run", "helping another process on this run"


class Participant:
    """One who waits for a run's lock, and helps whoever holds it."""

    def __init__(self, folder: Path, problem: Problem, identity: Any, report: Progress) -> None:
        self._folder, self._problem, self._identity = folder, problem, identity
        self._report, self._open = report, ExitStack()
        self._keeper: Keeper | None = None
        self._lease: Path | None = None
        self._made = 0

    def wait(self) -> bool:
        """Computes what is wanted at this moment; whether there was anything."""
        end_if_asked()
        self._report(WAITING, 0, 1)
        # The folder goes with its leader, and another may have taken the lead.
        if not (self._lease and self._lease.exists()) and not self._join():
            return False
        wanted = self._unclaimed()
        if not wanted:
            return False
        # The first one alone: what it compiles serves the others.
        made = self._compute(wanted[0])
        if wanted[1:] and self._threads > 1:
            with ThreadPoolExecutor(self._threads, thread_name_prefix=SIDE_BY_SIDE) as pool:
                made += sum(pool.map(self._compute, wanted[1:]))
        else:
            made += sum(map(self._compute, wanted[1:]))
        return made > 0

    def leave(self) -> None:
        """Tells that there is no more help."""
        self._open.close()

    def _join(self) -> bool:
        """Tells the leader that there is help, once it is certain that the run is the same."""
        if not (self._folder / MANIFEST).exists() or not (self._folder / SHARED).is_dir():
            return False
        require_same_run(self._folder, read_manifest(self._folder), self._identity)
        name = f"{socket.gethostname()}-{os.getpid()}-{get_ident()}{PARTICIPANT}"
        self._lease = self._folder / SHARED / name
        self._open.close()
        try:
            self._open.enter_context(leased(self._lease))
        except StoreError:  # the leader has just ended, and the folder is gone
            return False
        self._keeper = Keeper(self._folder, Bundles(self._folder / BLOCKS))
        self._keeper.tally = partial(_tally, self._problem, seen_by(self._problem))
        self._threads = blocks_at_once(self._problem)
        return True

    def _unclaimed(self) -> list[Path]:
        return [
            place
            for place in sorted((self._folder / SHARED).glob(f"*{WANTED}"))
            if not place.name.startswith(".")
            and not place.with_suffix(DONE).exists()
            and not is_held(place.with_suffix(CLAIM))
        ]

    def _compute(self, wanted: Path) -> int:
        """Computes a block, unless somebody else does; how many were computed."""
        with leased(wanted.with_suffix(CLAIM)) as is_ours, computing():
            if not is_ours or wanted.with_suffix(DONE).exists():
                return 0
            try:
                request = read_request(read_plain_file(wanted), self._problem)
            except StoreError:  # it is no longer wanted, or no request
                return 0
            return self._run(request, wanted)

    def _run(self, request: Request, wanted: Path) -> int:
        if request.name.split()[-1] != wanted.stem:
            return 0
        assert self._keeper is not None
        leg, rung, keys, settings, problem = request
        StoreMemory(self._keeper, problem).run_block(leg, rung, keys, meter=Meter(), **settings)
        self._keeper.flush()
        if self._keeper.trouble is None:
            with suppress(OSError):  # the leader is gone, and the folder with it
                wanted.with_suffix(DONE).touch()
        self._made += 1
        self._report(HELPING, self._made, self._made)
        return 1


def _tally(problem: Problem, start: Seen) -> dict[str, Any]:
    """What the models rejected here since they began to help, which the leader cannot see."""
    new = new_rejections(start, seen_by(problem))
    if new is None:
        return {}
    return {"stopped_on_path": new.stopped, "rejected": new.record()}


@contextmanager
def helping(
    folder: Path, problem: Problem, identity: Any, report: Progress
) -> Iterator[Participant]:
    """A participant, who leaves at the end."""
    participant = Participant(folder, problem, identity, report)
    try:
        yield participant
    finally:
        participant.leave()
