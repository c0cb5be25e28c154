"""Ended: why a run ended before its time, each reason with its sentence."""

from __future__ import annotations

from enum import Enum


class Ended(Enum):
    """A reason why a run ended early; its value is what results keep of it."""

    OUT_OF_BUDGET = "out of budget"
    INTERRUPTED = "interrupted"

    @property
    def sentence(self) -> str:
        """The reason in words, to follow "the run was ended early:"."""
        return _SENTENCES[self]


_SENTENCES = {
    Ended.OUT_OF_BUDGET: "its budget is spent (max_seconds=, max_evaluations=)",
    Ended.INTERRUPTED: "it was interrupted",
}
