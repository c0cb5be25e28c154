"""Check: one reason to trust a result or not, with advice in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One reason to trust a result, or not to.

    Attributes:
        name: what is checked.
        value: what was found.
        threshold: what it is held against.
        ok: whether it holds.
        advice: what to do where it does not.
        mended_by_draws: whether more draws can mend it.
    """

    name: str
    value: float
    threshold: float
    ok: bool
    advice: str
    mended_by_draws: bool = False

    def __str__(self) -> str:
        state = "ok" if self.ok else f"FAILED: {self.advice}"
        return f"{self.name}: {self.value:.3g} (threshold {self.threshold:.3g}) {state}"


def at_most(
    name: str, value: float, threshold: float, advice: str, *, mended_by_draws: bool = False
) -> Check:
    """A check that holds while the value does not exceed the threshold; NaN fails."""
    return Check(name, float(value), threshold, bool(value <= threshold), advice, mended_by_draws)


def at_least(
    name: str, value: float, threshold: float, advice: str, *, mended_by_draws: bool = False
) -> Check:
    """A check that holds while the value reaches the threshold; NaN fails."""
    return Check(name, float(value), threshold, bool(value >= threshold), advice, mended_by_draws)
