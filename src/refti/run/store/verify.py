"""Verification: whether the files of a run are as they were written, and its blocks what they were.

A run is a function of its problem, so any of its blocks can be computed again: the run is replayed
from its own files, all but the blocks in question, and these must come out the same to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from refti.errors import RefTIError, StoreError
from refti.models.model import Model
from refti.results.saved import load
from refti.results.saving import digest_of
from refti.run.join import problem_of_run
from refti.run.one_run import run
from refti.run.store.bundles import Bundles, Damage
from refti.run.store.directory import BLOCKS, MANIFEST, RESULT
from refti.run.store.keeper import Keeper
from refti.run.store.manifest import read_manifest
from refti.run.store.memory import StoreMemory
from refti.sampling.computing import computing


@dataclass(frozen=True)
class Verified:
    """What came of a verification.

    Attributes:
        files: how many were hashed.
        contents: how many blocks and other values they hold.
        digest: of all contents, however they are spread over files.
        damaged: those that are not as they were written.
        recomputed: how many blocks were computed again.
        differing: the names of those that came out otherwise.
    """

    files: int
    contents: int
    digest: str
    damaged: tuple[Damage, ...]
    recomputed: int = 0
    differing: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything is as it was."""
        return not self.damaged and not self.differing


def verify_files(folder: Path) -> Verified:
    """Hashes every file of a run. Raises StoreError if there is no run."""
    if not (folder / MANIFEST).exists():
        raise StoreError(f"{folder} holds no refti run (run.json).")
    damaged = []
    try:
        manifest = read_manifest(folder)
        if manifest.pop("digest", None) != digest_of(manifest):
            raise StoreError("it was changed after it was written")
    except StoreError as error:
        damaged.append(Damage(MANIFEST, str(error)))
    bundles = Bundles(folder / BLOCKS)
    damaged += bundles.verify()
    files = 1 + 2 * len(bundles.receipts)
    if (folder / RESULT).exists():
        files += 4
        try:
            load(folder)
        except StoreError as error:
            damaged.append(Damage(RESULT, str(error)))
    return Verified(files, len(bundles.names), bundles.digest, tuple(damaged))


def recompute(folder: Path, model: Model, count: int, seed: int = 0) -> Verified:
    """Hashes every file of a run, and computes some of its blocks again, picked at random.

    Raises StoreError if the run is not that of the model, or needs more than the model.
    """
    found = verify_files(folder)
    bundles = Bundles(folder / BLOCKS)
    names = bundles.names
    picks = np.random.default_rng(seed).permutation(len(names))[:count]
    unread = {names[pick] for pick in picks}
    with computing():
        problem = problem_of_run(folder, model)
        keeper = Keeper(folder, bundles, unread=unread)
        memory = _Verifying(keeper, problem)
        try:
            run(problem, memory.stop_when_done, memory)
        except _AllCompared:
            pass
        except RefTIError:  # as it may have ended the first time
            pass
    missed = unread - keeper.compared.keys()
    differing = [name for name, same in keeper.compared.items() if not same]
    return Verified(
        found.files,
        found.contents,
        found.digest,
        found.damaged,
        len(keeper.compared),
        tuple(differing + [f"{name} (never asked for)" for name in sorted(missed)]),
    )


class _AllCompared(Exception):
    """A signal: nothing is left to compare."""


class _Verifying(StoreMemory):
    """A memory that ends the run once all that is to be compared has been."""

    def stop_when_done(self, stage: str, done: int, total: int) -> None:
        del stage, done, total
        unread = self.keeper._unread or ()
        if len(self.keeper.compared) == len(unread):
            raise _AllCompared

    def log(self, event: str, **values: Any) -> None:
        """Nothing is written."""
