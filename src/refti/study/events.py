"""How far the models of a study are, read from the folders that workers write to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from refti.executors.leases import is_held
from refti.results.text import plus_minus, printable
from refti.run.store.directory import read_events
from refti.study.read import Spec

TAIL = 16_384  # bytes at the end of an event log that are read: some dozens of its lines


@dataclass(frozen=True)
class ModelState:
    """How far one model is.

    Attributes:
        name: the model's.
        stage: "waiting", "running" or a stage of the run, "done", "not trusted", "failed".
        round: of the sampling, where known.
        log_z: the estimate so far.
        error: its error.
        seconds: since the run began.
        seconds_left: until the error is the one wanted, by how errors fall with draws.
    """

    name: str
    stage: str
    round: int | None = None
    log_z: float | None = None
    error: float | None = None
    seconds: float | None = None
    seconds_left: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to come."""
        return self.stage in ("done", "not trusted", "failed")

    def words(self) -> str:
        """The state in one line, without the name."""
        parts = [self.stage]
        if self.round is not None and not self.is_over and not self.stage.startswith("round"):
            parts.append(f"round {self.round}")
        if self.log_z is not None and self.error is not None:
            parts.append(f"log z = {plus_minus(self.log_z, self.error)}")
        if self.seconds_left and not self.is_over:
            parts.append(f"about {self.seconds_left:.0f} s left")
        return ", ".join(parts)

    def record(self) -> dict[str, Any]:
        """The state as plain values; without what is not known."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def state_of_receipt(receipt: Mapping[str, Any]) -> ModelState:
    """The state of a model that is done."""
    return ModelState(
        receipt["name"],
        "done" if receipt["trusted"] else "not trusted",
        log_z=float(receipt["log_z"]),
        error=float(receipt["error"]),
        seconds=receipt.get("seconds"),
    )


def state_in_folder(spec: Spec, store: Path) -> ModelState:
    """The state of a model that is not done, by its lease and the event log of its run."""
    name = spec["name"]
    if not is_held(store / "leases" / f"{spec['folder']}.json"):
        return ModelState(name, "waiting")
    events = read_events(store / spec["folder"], TAIL)
    if not events:
        return ModelState(name, "running")
    stages = [event["stage"] for event in events if "stage" in event] or ["running"]
    known = {k: e[k] for e in events for k in ("round", "log_z", "error") if _is_number(e.get(k))}
    times = [event["time"] for event in events if _is_number(event.get("time"))]
    error, target = known.get("error"), spec["settings"].get("target_error", 0.05)
    left = None
    if error is not None and len(times) > 1:
        # Errors fall as one over the root of the draws, and draws cost the same all along.
        left = max(0.0, (times[-1] - times[0]) * ((error / target) ** 2 - 1))
    return ModelState(
        name,
        printable(stages[-1])[:40],
        round=int(known["round"]) if "round" in known else None,
        log_z=known.get("log_z"),
        error=error,
        seconds=times[-1] - times[0] if times else None,
        seconds_left=left,
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
