"""The numbers by which draws are judged."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class DrawsTuning:
    """What chains must have to be judged, and how bridges of rungs are found."""

    fewest_draws_for_lags: int = tuned(
        10, "a chain; half of it must hold two pairs of lags, or Geyer's sum cannot stop"
    )
    fewest_draws_for_halves: int = tuned(4, "a chain, for each half to have a variance")
    bridge_steps: int = tuned(100, "most steps to a bridge; halving the bracket needs about 50")
    bridge_tolerance: float = tuned(1e-12, "of a bridge, relative to the largest delta")


TUNING = DrawsTuning()
