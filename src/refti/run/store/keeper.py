"""Keeper: named bytes of a run kept on disk while it goes on, a bundle whenever it is worth one."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any
from uuid import uuid4

import numpy as np

from refti.errors import StoreError
from refti.results.files import sha256
from refti.run.store.bundles import Bundles, Entry
from refti.run.store.directory import log_event
from refti.run.tuning import STORE


class Keeper:
    """What a run has computed, by name.

    What is kept waits until a bundle is worth writing; what is killed before is computed again,
    to the same bits. A disk that is full costs the files and not the run: `trouble` says so.
    """

    def __init__(
        self, folder: Path, bundles: Bundles, *, unread: Collection[str] | None = None
    ) -> None:
        """Takes the run's folder and its bundles.

        Args:
            folder: of the run.
            bundles: what is there.
            unread: names that are to be computed again, whose bytes are then compared; nothing is
                written if it is given.
        """
        self.folder = folder
        self.bundles = bundles
        self.compared: dict[str, bool] = {}
        self._unread = unread
        self.trouble: str | None = None
        self.tally: Callable[[], Mapping[str, Any]] = dict
        self.probes: np.ndarray | None = None
        self._process = uuid4().hex
        self._waiting: list[tuple[Entry, bytes]] = []
        self._known: dict[str, tuple[Entry, bytes]] = {}
        self._since = time.monotonic()
        self._lock = RLock()

    @property
    def earlier(self) -> Sequence[Mapping[str, Any]]:
        """The last tally of every process that worked on the run before."""
        last: dict[str, Mapping[str, Any]] = {}
        for stem in sorted(self.bundles.receipts):
            notes = self.bundles.receipts[stem].notes
            if notes.get("process") != self._process:
                last[str(notes.get("process"))] = notes
        return list(last.values())

    def find(self, name: str) -> tuple[Entry, bytes] | None:
        """What was kept under a name, if anything."""
        with self._lock:
            if self._unread is not None and name in self._unread:
                return None
            return self._known.get(name) or self.bundles.find(name)

    def has_new(self, name: str) -> bool:
        """Whether a name is kept, perhaps by another process since this was last asked."""
        with self._lock:
            if name not in self.bundles:
                self.bundles.refresh()
            return name in self._known or name in self.bundles

    @property
    def has_holes(self) -> bool:
        """Whether something that was kept must be computed again, such as what is damaged."""
        return self._unread is not None or len(self.bundles.damaged) > 0

    def keep(
        self, name: str, content: bytes, *, gradients: int, densities: int, seconds: float
    ) -> None:
        """Keeps bytes under a name, if nothing is kept under it yet."""
        entry = Entry(name, sha256(content), gradients, densities, seconds)
        with self._lock:
            if self._unread is not None:
                if name in self._unread:
                    self.compared[name] = self.bundles.entry(name).sha256 == entry.sha256
                return
            if name in self._known or name in self.bundles:
                return
            self._waiting.append((entry, content))
            self._known[name] = entry, content
            if time.monotonic() - self._since > STORE.seconds_a_bundle:
                self.flush()

    def flush(self) -> None:
        """Writes what waits."""
        with self._lock:
            self._since = time.monotonic()
            if not self._waiting or self.trouble is not None:
                return
            try:
                self.bundles.add(self._waiting, {"process": self._process, **self.tally()})
            except OSError as error:
                self.trouble = f"{self.folder} could not be written to: {error}"
                log_event(self.folder, "trouble", reason=str(error))
                return
            for entry, _ in self._waiting:
                del self._known[entry.name]
            self._waiting.clear()

    def require_no_trouble(self) -> None:
        """Raises StoreError if something could not be written."""
        if self.trouble is not None:
            raise StoreError(
                f"{self.trouble}. Make room and run it again; it will continue from here."
            )
