"""Rejections: points at which a model's own code refused to give a density."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Rejections:
    """How often a model's code rejected a point or failed, and what it said the first time.

    Such points count as density zero, so they must be told.

    Attributes:
        count: of all evaluations so far.
        message: the first one's text.
        where: its unconstrained coordinates.
        stopped: how many of them were not refused but given up, for taking too long.
    """

    count: int
    message: str
    where: tuple[float, ...]
    stopped: int = 0

    def since(self, before: Rejections | None) -> Rejections | None:
        """Those after an earlier look, or None if there were none."""
        if before is None:
            return self
        new, stopped = self.count - before.count, self.stopped - before.stopped
        return replace(self, count=new, stopped=stopped) if new > 0 else None

    def record(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "count": self.count,
            "message": self.message,
            "where": list(self.where),
            "stopped": self.stopped,
        }

    def __str__(self) -> str:
        return self.told()

    def told(self, every: int | None = None) -> str:
        """In words; of so many evaluations, where that is known."""
        place = np.array2string(np.array(self.where), precision=4, threshold=6)
        stopped = f" ({self.stopped:,} of them for taking too long)" if self.stopped else ""
        of = "" if every is None else f" of {every:,}"
        return (
            f"the model rejected {self.count:,}{of} points{stopped}, which count as density zero; "
            f"the first with {self.message!r} at unconstrained x = {place}"
        )
