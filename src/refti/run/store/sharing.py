"""Sharing: the dear blocks of a run on offer to processes that were told to make the same run.

Whoever holds the run's lock leads it. It writes blocks that are wanted into the folder `shared`;
those that wait for the lock may compute them (see `helping`). A block is claimed by a lease before
it is computed, by the leader too, and the lease of one who is gone is taken over. Two may then
compute the same block: it has the same bits, and its files are whole whoever writes last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore, Lock, current_thread

from refti.errors import StoreError
from refti.executors.cores import cores
from refti.executors.leases import is_held, leased
from refti.interruption import end_if_asked
from refti.models.batching import may_run_side_by_side
from refti.results.files import write_bytes
from refti.run.problem import Problem
from refti.run.store.directory import SHARED
from refti.run.store.keeper import Keeper
from refti.run.tuning import SHARING
from refti.sampling.engine import SIDE_BY_SIDE

WANTED, CLAIM, DONE, PARTICIPANT = ".npz", ".claim", ".done", ".participant"


@dataclass(eq=False)
class Sharing:
    """What the leader of a run shares.

    Attributes:
        keeper: of the run's bytes.
        problem: that the run is to solve.
        shared: how many blocks others have computed.
    """

    keeper: Keeper
    problem: Problem
    shared: int = 0

    def __post_init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self._looked, self._participants = -float("inf"), 0
        self._lock = Lock()
        self._semaphore: BoundedSemaphore | None = None

    @property
    def _slots(self) -> BoundedSemaphore:
        """As many as blocks may run at once in this process, where more threads wait for some."""
        with self._lock:
            if self._semaphore is None:
                self._semaphore = BoundedSemaphore(blocks_at_once(self.problem))
            return self._semaphore

    @property
    def folder(self) -> Path:
        """Where blocks are on offer."""
        return self.keeper.folder / SHARED

    @property
    def participants(self) -> int:
        """How many processes help; looked at now and then."""
        if time.monotonic() - self._looked > SHARING.look_for_participants:
            self._looked = time.monotonic()
            self._participants = sum(map(is_held, self.folder.glob(f"*{PARTICIPANT}")))
        return self._participants

    @property
    def workers(self) -> int:
        """How many blocks are wanted at once: as many as are waited for, if anybody helps."""
        return SHARING.on_offer if self.participants else 0

    def took(self, moves: int, seconds: float) -> None:
        """Notes what a block took that was run here and compiled nothing."""
        self._seconds[moves] = seconds

    @contextmanager
    def turn(self, name: str, moves: int, ask: Callable[[], bytes]) -> Iterator[bool]:
        """Whether a block is ours to compute, inside; if not, somebody has computed it.

        Args:
            name: of the block.
            moves: of its rung, by which it is known what it may take.
            ask: gives all that is needed to compute it, as bytes.
        """
        if not current_thread().name.startswith(SIDE_BY_SIDE):
            yield True  # all else waits for this one
        elif not self.participants:
            yield True
        elif self._seconds.get(moves, 0.0) < SHARING.least_seconds:
            with self._slots:
                yield True
        else:
            with self._offered(name, ask) as place, self._claimed_or_there(name, place) as is_ours:
                yield is_ours

    @contextmanager
    def _offered(self, name: str, ask: Callable[[], bytes]) -> Iterator[Path]:
        place = self.folder / name.split()[-1]
        with suppress(OSError):  # a full disk: then nobody but this process knows of it
            write_bytes(place.with_suffix(WANTED), ask())
        try:
            yield place
        finally:
            for suffix in (WANTED, DONE):
                place.with_suffix(suffix).unlink(missing_ok=True)

    @contextmanager
    def _claimed_or_there(self, name: str, place: Path) -> Iterator[bool]:
        while not self._is_there(name, place):
            end_if_asked()
            if not self._slots.acquire(timeout=SHARING.look_again):
                continue
            try:
                with ExitStack() as claims:
                    if _claim(place, claims) and not self._is_there(name, place):
                        yield True
                        return
            finally:
                self._slots.release()
            time.sleep(SHARING.look_again)
        self.shared += 1
        yield False

    def _is_there(self, name: str, place: Path) -> bool:
        """Whether somebody has written the block, which then counts as read."""
        return place.with_suffix(DONE).exists() and self.keeper.has_new(name)


def _claim(place: Path, claims: ExitStack) -> bool:
    """Whether a block is ours, until the claims are let go; where nobody can claim, it is."""
    try:
        return claims.enter_context(leased(place.with_suffix(CLAIM)))
    except StoreError:
        return True


def blocks_at_once(problem: Problem) -> int:
    """How many blocks of a problem may run at once in this process."""
    able = (may_run_side_by_side(model.density, model.start) for model in problem.given)
    return cores() if all(able) else 1
