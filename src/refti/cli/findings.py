"""Finding: what `refti doctor` has to say of one thing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """How something is."""

    WORKS = "works"
    MISSING = "not installed"  # which is no fault
    BROKEN = "does not work"


@dataclass(frozen=True)
class Finding:
    """What was found of one thing.

    Attributes:
        what: the thing.
        state: how it is.
        found: that in words, with versions and sizes.
        advice: what to do about it; nothing where all is well.
    """

    what: str
    state: State
    found: str
    advice: str = ""

    def record(self) -> dict[str, str]:
        """As plain values."""
        return {
            "what": self.what,
            "state": self.state.value,
            "found": self.found,
            "advice": self.advice,
        }


class Complaint(Exception):
    """Something that works, but not as it should; carries what to do about it."""

    def __init__(self, message: str, advice: str):
        super().__init__(message)
        self.advice = advice
