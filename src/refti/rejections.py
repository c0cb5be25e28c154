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
    """

    count: int
    message: str
    where: tuple[float, ...]

    def since(self, before: Rejections | None) -> Rejections | None:
        """Those after an earlier look, or None if there were none."""
        new = self.count - (0 if before is None else before.count)
        return replace(self, count=new) if new > 0 else None

    def record(self) -> dict[str, Any]:
        """As plain values."""
        return {"count": self.count, "message": self.message, "where": list(self.where)}

    def __str__(self) -> str:
        place = np.array2string(np.array(self.where), precision=4, threshold=6)
        return (
            f"the model rejected {self.count:,} points, which count as density zero; the first "
            f"with {self.message!r} at unconstrained x = {place}"
        )
