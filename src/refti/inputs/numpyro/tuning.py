"""The numbers by which NumPyro models are tried."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class NumPyroTuning:
    """Where a model is run before it is used, and what counts as a difference."""

    radius: float = tuned(
        2.0, "of the unconstrained coordinates at which the model is tried, as NumPyro does"
    )
    starts: int = tuned(20, "points looked at for one with a finite density")
    largest_noise: float = tuned(1e-9, "difference of log probabilities that is put to rounding")


TUNING = NumPyroTuning()
