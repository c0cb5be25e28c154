"""The search for modes by itself, without any sampling, and the points it sets out from."""

from __future__ import annotations

import numpy as np

from refti.models.model import Model
from refti.results.result import Evidence
from refti.run.pilot import search_alone
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.run.suitability import adapted_to_models
from refti.sampling.computing import computing
from refti.sampling.engine import open_engine
from refti.sampling.metering import Meter
from refti.search.known_peaks import KnownPeaks
from refti.search.peaks import Modes
from refti.search.searched import Effort
from refti.search.wanderers import draw_flattened


def search_modes(model: Model, *, seed: int = 0, search: Effort | int = "default") -> Modes:
    """The modes of a model as a run would find them, and the record of the search."""
    settings = adapted_to_models(Settings(seed=seed, search=search), [model])
    problem = Problem(Evidence, (model,), settings)
    with (
        computing(),
        open_engine(
            chains=problem.settings.chains,
            kernel=problem.settings.kernel,
            block_length=problem.block_length,
            seed=seed,
            meter=Meter(),
        ) as engine,
    ):
        return search_alone(problem, problem.ends[0], engine)


def points_about_a_mode(dim: int, count: int, seed: int = 0) -> np.ndarray:
    """Points x[n, dim] of the flattened density about a standard normal, as wanderers' starts."""
    one, eye = np.zeros(1), np.eye(dim)[None]
    known = KnownPeaks(np.zeros((1, dim)), one, eye, one == 0, np.zeros(1, dtype=int))
    return draw_flattened(known, np.zeros(1, dtype=int), count, np.random.default_rng(seed)).x
