"""Tuning: the numbers that a stage works by, each with its reason, as one frozen value a stage.

A stage keeps them in a frozen dataclass whose only instance is its `TUNING`:

    @dataclass(frozen=True)
    class SearchTuning:
        near_starts: int = tuned(4, "starts near the model's own from which a mode is climbed to")

    TUNING = SearchTuning()

`docs/tuning.md` shows all of them in one place; it is made from these values.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any


def tuned(value: Any, why: str) -> Any:
    """A field of a tuning value: its number, and what it is and why it is that number."""
    return field(default=value, metadata={"why": why})
