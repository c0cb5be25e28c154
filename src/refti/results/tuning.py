"""The numbers by which results are compared."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class ResultTuning:
    """How results are compared."""

    propagation_draws: int = tuned(
        4096, "of the evidences, from which the errors of probabilities come, to 1 %"
    )
    undecided: float = tuned(2.0, "combined errors within which the first two models are not told")


TUNING = ResultTuning()
