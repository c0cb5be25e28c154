"""Status: how far a run is, from its directory alone; no model is imported, and no JAX."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refti.errors import StoreError
from refti.results.files import LARGEST_JSON, read_plain_file
from refti.run.store.directory import BLOCKS, MANIFEST, RESULT, is_worked_on, read_events

FINISHED, RUNNING, CUT_SHORT, DAMAGED = "finished", "running", "cut short", "damaged"


@dataclass(frozen=True)
class Status:
    """How far a run is.

    Attributes:
        folder: its directory.
        state: finished, running, cut short or damaged.
        stage: the last one that it told of.
        log_z: the estimate so far.
        error: its error.
        trusted: whether it is, if the run is finished.
        round: how many were made.
        seed: of the run.
        parameters: of the model.
        blocks: files of what was computed.
        megabytes: that the directory takes.
        seconds: since it last told of anything.
    """

    folder: str
    state: str
    stage: str = ""
    log_z: float | None = None
    error: float | None = None
    trusted: bool | None = None
    round: int | None = None
    seed: int | None = None
    parameters: int | None = None
    blocks: int = 0
    megabytes: float = 0.0
    seconds: float | None = None


def find_runs(folder: Path) -> Iterator[Path]:
    """The folders of runs: this one, or those in it."""
    if (folder / MANIFEST).exists():
        yield folder
        return
    if folder.is_dir():
        for below in sorted(folder.iterdir()):
            if below.is_dir() and not below.is_symlink() and (below / MANIFEST).exists():
                yield below


def read_status(folder: Path) -> Status:
    """How far the run of a directory is. Raises StoreError if there is none."""
    if not (folder / MANIFEST).exists():
        raise StoreError(
            f"{folder} holds no refti run (run.json). Give a directory that --store or store= "
            "wrote to, or one that holds such directories."
        )
    events = read_events(folder)
    try:
        manifest = _mapping(folder / MANIFEST)
        result = _mapping(folder / RESULT) if (folder / RESULT).exists() else None
    except StoreError as error:
        return Status(str(folder), DAMAGED, stage=str(error))
    last = _last(events)
    state = FINISHED if result is not None else RUNNING if is_worked_on(folder) else CUT_SHORT
    source: Mapping[str, Any] = last if result is None else result
    models = manifest.get("models")
    parameters = models[0].get("dim") if isinstance(models, list) and models else None
    settings = manifest.get("settings")
    return Status(
        folder=str(folder),
        state=state,
        stage=str(last.get("stage", "")),
        log_z=_number(source.get("log_z" if result is None else "value")),
        error=_number(source.get("error")),
        trusted=None if result is None else bool(result.get("trusted")),
        round=last.get("round"),
        seed=settings.get("seed") if isinstance(settings, dict) else None,
        parameters=parameters,
        blocks=sum(1 for _ in (folder / BLOCKS).glob("*.zip")),
        megabytes=_bytes(folder) / 1e6,
        seconds=time.time() - float(events[-1].get("time", time.time())) if events else None,
    )


def _last(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The last stage and the last estimate that a log tells of."""
    found: dict[str, Any] = {}
    for event in events:
        if "beside" not in event:
            names = ("stage", "round", "log_z", "error")
            found |= {name: event[name] for name in names if name in event}
    return found


def _mapping(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_plain_file(path, LARGEST_JSON))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} cannot be read ({type(error).__name__}: {error}).") from error
    if not isinstance(found, dict):
        raise StoreError(f"{path} is not that of a run.")
    return found


def _number(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return None


def _bytes(folder: Path) -> int:
    return sum(f.lstat().st_size for f in folder.rglob("*") if not f.is_symlink() and f.is_file())
