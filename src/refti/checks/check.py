"""Check: one reason to trust a result or not, with advice in words."""

from __future__ import annotations

from dataclasses import dataclass

AT_LEAST = frozenset({"density", "effective draws", "exchange", "overlap", "support"})
# What a check measures, where its name does not say.
QUANTITIES = {
    "convergence": "R-hat",
    "chains": "R-hat",
    "positions": "R-hat",
    "tail of the start": "Pareto k",
    "tail of the end": "Pareto k",
    "halves": "distance in errors",
    "agreement": "distance in errors",
    "witness": "distance in errors",
}

CUT_SHORT = "this check was cut short, so it says nothing"  # how the advice then begins
NOTHING = 1e-12  # below which a value is shown as 0: 4.7e-54 of the mass tells no more


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

    @property
    def direction(self) -> str:
        """On which side of the threshold the value must be: "≤" or "≥"."""
        return "≥" if self.name in AT_LEAST else "≤"

    @property
    def measured(self) -> str:
        """What was found, such as `R-hat 1.004 ≤ 1.03`, or `R-hat 1.2, not ≤ 1.03`."""
        holds = (
            self.value >= self.threshold
            if self.direction == "≥"
            else (self.value <= self.threshold)
        )
        value = 0.0 if abs(self.value) < NOTHING else self.value
        found = f"{QUANTITIES.get(self.name, '')} {value:.4g}".lstrip()
        return f"{found}{'' if holds else ', not'} {self.direction} {self.threshold:.4g}"

    def __str__(self) -> str:
        return f"{self.name}: {self.measured}" + ("" if self.ok else f": {self.advice}")


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
