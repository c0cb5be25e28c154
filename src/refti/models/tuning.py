"""The numbers by which models are made and evaluated."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class ModelTuning:
    """How densities are batched, and how they are seen to be deterministic."""

    batch: int = tuned(256, "points of one call where only values are wanted; more bring nothing")
    chains: int = tuned(16, "chains of a rung, or fewer, for which matrices are counted")
    operations: int = tuned(
        200_000, "operations from which jaxlib splits a batch of matrices over threads, measured"
    )
    operations_each: int = tuned(
        10, "operations a matrix takes at most, in units of the cube of its size"
    )
    kept_programs: int = tuned(
        16,
        "kinds of densities whose programs each compiled function keeps: a model has one to three, "
        "of some 15 MB in all, so these are up to 250 MB",
    )
    largest_noise: float = tuned(1e-8, "difference of two log densities that is put to rounding")
    trials: int = tuned(
        16, "points at which two programs of one function are compared; one inside is enough"
    )
    trial_radius: float = tuned(
        2.0, "largest unconstrained coordinate of these points, as NumPyro chooses its starts"
    )


TUNING = ModelTuning()
