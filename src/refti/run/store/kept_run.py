"""A run in its directory: begun, gone on with, or finished; one process leads it, others help."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from refti.checks.ended import Ended
from refti.errors import RefTIError, StoreError
from refti.progress import Progress
from refti.results.files import write_json
from refti.results.result import Evidence, LogRatio
from refti.results.saved import load
from refti.results.saving import digest_of, save_result
from refti.run.problem import Problem
from refti.run.store.bundles import Bundles, remove_leftovers
from refti.run.store.directory import (
    BLOCKS,
    MANIFEST,
    RESULT,
    SHARED,
    UNFINISHED,
    locked,
    log_event,
    require_usable,
)
from refti.run.store.helping import helping
from refti.run.store.keeper import Keeper
from refti.run.store.manifest import (
    circumstances,
    identify,
    other_circumstances,
    read_manifest,
    require_same_run,
)
from refti.run.store.memory import StoreMemory
from refti.run.store.probes import probes_of, require_same_at_probes
from refti.run.store.sharing import Sharing


class KeptRun:
    """A run in its directory.

    Attributes:
        folder: the directory.
        memory: what the run has computed so far.
        result: that of the run; None until it was made, now or before.
        report: who is told how far the run is; new stages stand in the log of events.
    """

    def __init__(self, folder: Path, problem: Problem, report: Progress) -> None:
        self.folder = folder
        self._problem, self._report, self._stage = problem, report, ""
        self.result: Evidence | LogRatio | None = None
        keeper = Keeper(folder, Bundles(folder / BLOCKS))
        self.memory = StoreMemory(keeper, problem, sharing=Sharing(keeper, problem))

    def report(self, stage: str, done: int, total: int) -> None:
        """Tells how far the run is."""
        if stage != self._stage:
            self._stage = stage
            log_event(self.folder, "stage", stage=stage)
        self._report(stage, done, total)

    def keep(self, result: Evidence | LogRatio) -> None:
        """Writes the result, or what there is of one; a disk that is full does not cost it."""
        self.result = result
        ended = result.found["ended"]
        self.memory.keeper.flush()
        try:
            # A spent budget is a setting's own end, but an interrupted run is gone on with.
            if ended == Ended.INTERRUPTED.value:
                shutil.rmtree(self.folder / UNFINISHED, ignore_errors=True)
                result.save(self.folder / UNFINISHED)
            else:
                draws = self.memory.keeper.probes  # of which a point has none
                more = {} if draws is None else probes_of(self._problem, draws)
                save_result(self.folder, result.to_dict(), result.draws, result.datasets, more)
                shutil.rmtree(self.folder / UNFINISHED, ignore_errors=True)
            self.memory.keeper.require_no_trouble()
        except (StoreError, OSError) as error:
            warnings.warn(f"The result was not kept: {error}", stacklevel=2)
        log_event(
            self.folder,
            "finished" if ended is None else ended,
            log_z=result.value,
            error=result.error,
            trusted=result.trusted,
        )


@contextmanager
def open_run(path: Any, problem: Problem, report: Progress) -> Iterator[KeptRun]:
    """The run of a problem in a directory, with its result if it is finished there.

    Raises StoreError, before anything is computed, if the directory holds another run or cannot be
    used; the directory is then as it was. A run that cannot begin leaves nothing behind.
    """
    folder, identity = require_usable(path), identify(problem)
    was_there = folder.exists()
    if (folder / MANIFEST).exists():
        require_same_run(folder, read_manifest(folder), identity)
    try:
        (folder / BLOCKS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written to: {error}.") from error
    with (
        helping(folder, problem, identity, report) as participant,
        locked(folder, participant.wait),
        _sharing(folder),
    ):
        participant.leave()
        begun = (folder / MANIFEST).exists()
        if begun:
            found = read_manifest(folder)
            require_same_run(folder, found, identity)
            for sentence in other_circumstances(found):
                warnings.warn(f"{folder}: {sentence}", stacklevel=3)
        else:
            _begin(folder, identity)
        kept = _open(folder, problem, report)
        try:
            yield kept
        except RefTIError:
            if not begun and not kept.memory.keeper.bundles.receipts:
                _clear(folder, was_there)
            raise
        finally:
            kept.memory.keeper.flush()
            sharing = kept.memory.sharing
            if sharing is not None and sharing.shared:
                log_event(folder, "shared", blocks=sharing.shared)


@contextmanager
def _sharing(folder: Path) -> Iterator[None]:
    """The scope in which blocks may be on offer; nothing is left of those who led before."""
    place = folder / SHARED
    shutil.rmtree(place, ignore_errors=True)
    with suppress(OSError):
        place.mkdir()
    try:
        yield
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _begin(folder: Path, identity: dict[str, Any]) -> None:
    try:
        record = {**identity, **circumstances()}
        write_json(folder / MANIFEST, {**record, "digest": digest_of(record)})
    except OSError as error:
        raise StoreError(f"{folder} cannot be written to: {error}.") from error
    log_event(folder, "begun")


def _open(folder: Path, problem: Problem, report: Progress) -> KeptRun:
    for place in (folder, folder / BLOCKS):
        remove_leftovers(place)
    kept = KeptRun(folder, problem, report)
    bundles = kept.memory.keeper.bundles
    if (folder / RESULT).exists():
        kept.result = load(folder)
        if not isinstance(kept.result, problem.kind):
            raise StoreError(f"{folder} holds a {type(kept.result).__name__}.")
        require_same_at_probes(problem, folder)
        return kept
    bundles.drop_damaged()
    for damage in bundles.damaged:
        log_event(folder, "damaged", file=damage.file, reason=damage.reason)
        warnings.warn(
            f"{folder / BLOCKS / damage.file} was damaged ({damage.reason}) and removed; its "
            "content is computed again.",
            stacklevel=3,
        )
    if bundles.receipts:
        log_event(folder, "resumed", blocks=len(bundles.names))
    return kept


def _clear(folder: Path, was_there: bool) -> None:
    """Leaves no trace of a run that could not begin."""
    for place in (BLOCKS, SHARED):
        shutil.rmtree(folder / place, ignore_errors=True)
    for file in folder.iterdir():
        if file.is_file():
            file.unlink()
    if not was_there:
        folder.rmdir()
