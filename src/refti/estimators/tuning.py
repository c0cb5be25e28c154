"""The numbers by which the equations of MBAR are solved and errors are believed."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class EstimatorTuning:
    """How estimates are made."""

    newton_steps: int = tuned(30, "most steps of MBAR; bridges to begin with need about 5")
    step_tolerance: float = tuned(1e-10, "nats of a step of MBAR after which none follows")
    rounding: float = tuned(1e-8, "distance from a solution that may be the end of precision")
    disconnected: float = tuned(
        1e-12, "share below which links between two parts of a ladder are rounding, not draws"
    )
    information_over_sandwich: float = tuned(
        2.0, "variance by the information over that by the sandwich from which it is believed"
    )
    chunk_bytes: int = tuned(2**20, "of memberships at once; what fits into a processor's cache")
    seen_rise: float = tuned(
        2.0, "standard errors within which a rise of the mean is what the variances show"
    )


TUNING = EstimatorTuning()
