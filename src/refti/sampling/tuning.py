"""The numbers that sampling works by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refti.tuning import tuned


@dataclass(frozen=True)
class SamplingTuning:
    """How chains move, are warmed up, and how a leg gets its rungs."""

    trajectory_length: float = tuned(
        np.pi / 2, "a quarter turn, which forgets the start on a standard normal"
    )
    forgotten_after: float = tuned(
        2.0, "draws, in which the log density of a round density is forgotten: 1.4, with some room"
    )
    most_lengthened: float = tuned(
        4.0, "times that length, in more dimensions than a few, where some directions stay wide"
    )
    target_acceptance: float = tuned(0.85, "the share of moves accepted that steps are adapted to")
    largest_step: float = tuned(
        0.7,
        "in a few dimensions the target acceptance is reached with steps that diverge on thin "
        "tails (a quartic, the log of a bounded parameter); this bound costs little",
    )
    first_step: float = tuned(0.7, "times dim^(-1/4), the scaling of HMC, before steps are adapted")
    most_steps: int = tuned(256, "leapfrog steps of one HMC trajectory")
    most_doublings: int = tuned(8, "of a NUTS trajectory: as many steps as HMC may have")
    divergent: float = tuned(
        1000.0,
        "nats by which the energy rises on a divergent trajectory, as in Stan",
    )
    few_divergences: float = tuned(
        0.001, "the share of iterations above which warm-up asks for a larger acceptance"
    )
    step_left: float = tuned(0.6, "of a step where too many trajectories diverged")
    elliptical_freedom: float = tuned(
        5.0, "degrees of freedom of the base of elliptical moves: heavier tails than a Gaussian's"
    )
    least_angle: float = tuned(1e-9, "at which a bracket has shrunk to the present point")
    batch_widths: tuple[int, ...] = tuned(
        (16, 256), "points for which a density is compiled where their number varies"
    )
    rounds_for_inside: int = tuned(
        64, "times the wanted number of exact draws made to get enough inside the support"
    )
    least_leaps: float = tuned(
        0.05, "share of leaps taken, below which they are not worth an evaluation each"
    )
    scores_from: int = tuned(
        21,
        "dimensions from which chains are whitened by gradients at draws as well: of the 208 of a "
        "COVID-19 model 1,000 draws then tell as much as tens of thousands; in a few dimensions "
        "draws alone do, and rings and ridges need the spread of the whole",
    )
    scores_up_to: int = tuned(1500, "beyond which their dense matrices take too long")
    scores_a_dimension: int = tuned(
        4, "of a window of warm-up, beyond which their whitening hardly gains by more …"
    )
    identity_weights: tuple[float, ...] = tuned(
        (0.25, 2.0, 16.0),
        "times the dimension, as many draws as the coordinates so far may count when they are "
        "learned again; beside these one draw, and all",
    )
    plenty_of_scores: float = tuned(
        25.0, "draws a dimension in half of them, from where on it does not matter"
    )
    steepest: float = tuned(
        5.0, "times the median size of the scores, above which a draw is beside an edge"
    )
    fewest_scores: int = tuned(400, "… but this many at the least, where there are so many draws")
    probes: int = tuned(2, "scans between two looks at the ladder")
    surely_far_apart: float = tuned(
        0.1, "overlap of neighbours after one scan, below which no second is needed to put rungs in"
    )
    passes: int = tuned(10, "times the ladder is looked at while it is built")
    most_rungs: int = tuned(64, "of one leg; a longer ladder asks for a better reference")
    kept_numbers: int = tuned(
        25_000_000,
        "in the draws of the posterior that a run keeps, 200 MB, in more than 500 dimensions",
    )
    remembered_values: int = tuned(
        100_000, "log densities kept so that none is evaluated twice; some tens of megabytes"
    )


@dataclass(frozen=True)
class KeptProgramsTuning:
    """How much of what was compiled is kept on disk."""

    most_megabytes: float = tuned(
        500.0, "of programs, about 1 a model of a few parameters and 5 one of hundreds"
    )
    kept_seconds: float = tuned(
        3600.0, "for which a program stays after its use, however large the cache is"
    )


TUNING = SamplingTuning()
KEPT_PROGRAMS = KeptProgramsTuning()
