"""What a result keeps for its figures alone: draws of the reference, the modes, the versions."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from refti.references.base import Reference
from refti.results.datasets import free_name
from refti.results.late import LateDataset, NamedArrays
from refti.run.rounds import RunState
from refti.run.tuning import SHOWN
from refti.sampling.engine import Engine
from refti.sampling.exact_start import exact_draws
from refti.sampling.streams import KeyStream


def draw_reference(state: RunState, engine: Engine) -> np.ndarray:
    """Exact draws x[draw, dim] of the path's start; none where it cannot be drawn exactly."""
    start = state.plan.path.legs[0].start
    dim = state.problem.model.dim
    if not isinstance(start, Reference):
        return np.zeros((0, dim))
    # As many as a block has, since the program for that number is there already.
    count = engine.chains * engine.block_length
    points = np.asarray(exact_draws(start, engine.key(KeyStream.REFERENCE_SHOWN), count))
    return points[: max(SHOWN.fewest_draws, min(SHOWN.draws, SHOWN.numbers // dim))]


def name_shown(state: RunState, reference: np.ndarray) -> tuple[LateDataset, dict[str, Any]]:
    """The reference's draws by the user's names, and a record of the modes and the versions."""
    problem, modes = state.problem, state.plan.pilot.modes
    peaks = modes.peaks[: SHOWN.modes] if modes.are_separate else modes.mode.x[None]
    # Outside of its support a reference may reach where numbers end.
    points = np.concatenate([reference, peaks])
    with np.errstate(all="ignore"):
        values = problem.model.space.constrain_all(points)
    draws = {name: value[: len(reference)] for name, value in values.items()}
    shares: list[float | None] = [None] * len(peaks)
    if modes.are_separate and modes.log_masses is not None:
        masses = np.exp(modes.log_masses - modes.log_masses.max())
        shares = [float(mass) for mass in (masses / masses.sum())[: len(peaks)]]
    found: dict[str, Any] = {"versions": {name: version(name) for name in PACKAGES}}
    if problem.model.dim <= SHOWN.dimensions_of_modes:
        found["peaks"] = [
            {
                "share": share,
                "at": {
                    free_name(name): np.asarray(value[len(reference) + i]).tolist()
                    for name, value in values.items()
                },
            }
            for i, share in enumerate(shares)
        ]
    return NamedArrays(draws, ("draw",)), found


PACKAGES = ("refti", "jax", "blackjax", "numpyro", "numpy", "scipy")
