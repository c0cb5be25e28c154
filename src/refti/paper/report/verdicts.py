"""Verdicts: whether a printed number holds."""

from __future__ import annotations

HOLDS, FAILS = "holds", "does not hold"


def rounds_to(printed: str, value: float) -> str:
    """Whether the value is the printed number, to the digits that are printed."""
    decimals = len(printed.partition(".")[2].rstrip(" %"))
    number = float(printed.rstrip(" %").replace(",", ""))
    return verdict(abs(value - number) <= 0.5 * 10.0**-decimals)


def verdict(holds: bool) -> str:
    """A verdict in words."""
    return HOLDS if holds else FAILS
