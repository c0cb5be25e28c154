"""The height of a reference: about that of the posterior, whatever a few draws say."""

from __future__ import annotations

import numpy as np
import pytest

import refti
from refti.references.family import FitInputs
from refti.references.level import match_level
from refti.references.mixture import mixture
from refti.search.mode import Mode

DIM, HEIGHT = 3, 7.0
DRAWS = np.random.default_rng(0).normal(size=(2000, DIM))


def level_of(lowest: float) -> float:
    """The log z of a reference of a standard normal times e⁷, one of whose draws lies so low."""

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = HEIGHT - 0.5 * np.sum(x**2, axis=1)
        values[5] = min(values[5], lowest)
        return values, -x

    mode = Mode(np.zeros(DIM), HEIGHT, -np.eye(DIM), 0.0)
    model = refti.Model(lambda x: HEIGHT - 0.5 * (x**2).sum(), dim=DIM)
    inputs = FitInputs(model, evaluate, mode, DRAWS)
    one = mixture(np.zeros(1), np.zeros((1, DIM)), np.eye(DIM)[None], 0.0)
    return float(match_level(one, inputs).log_z)


@pytest.mark.parametrize("lowest", [0.0, -1e22, -np.inf])
def test_it_is_about_the_posteriors_own(lowest: float):
    assert level_of(lowest) == pytest.approx(HEIGHT + 0.5 * DIM * np.log(2 * np.pi), abs=1.0)
