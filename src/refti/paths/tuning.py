"""The numbers by which rungs are put on a path."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class PathTuning:
    """When neighbouring rungs are too far apart, and how far apart new ones are put."""

    enough_overlap: float = tuned(0.3, "of neighbours, above which nothing is put between them")
    spacing: float = tuned(2.0, "the thermodynamic length between rungs that are put in")
    most_between: int = tuned(
        6, "rungs put between two neighbours at a time: far apart, their distance is a guess"
    )
    reliable_share: float = tuned(
        0.15, "of the draws that reweighted ones must still be worth for their spread to count"
    )


TUNING = PathTuning()
