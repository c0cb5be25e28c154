"""The numbers of studies: what a model may be called, in which order, what it may cost."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class StudyTuning:
    """What decides how the models of a study are named and put in order."""

    longest_name: int = tuned(120, "characters of a model's name, so that a table can show it")
    slug_length: int = tuned(40, "characters of a name that its folder shows, before the hash")
    look_again_seconds: float = tuned(1.0, "between two looks at models that others work on")
    plain_seconds: float = tuned(30.0, "between two plain lines of progress in a log")
    show_seconds: float = tuned(0.5, "between two looks at how far the models are")
    evaluations: float = tuned(
        20_000.0, "for one parameter, in the estimate of the cost: as measured in docs/growth.md"
    )
    evaluations_power: float = tuned(0.3, "of the number of parameters by which they grow there")
    gradient_cost: float = tuned(3.0, "densities that a gradient costs")
    start_seconds: float = tuned(6.0, "to compile and search before anything is sampled")


TUNING = StudyTuning()
