"""The heaviest tail of many coordinates: what is so by chance is taken off, what is heavy stays."""

from __future__ import annotations

import numpy as np
import pytest

from refti.checks.pareto import pareto_shape
from refti.checks.tuning import TUNING
from refti.run.finish import _heaviest


def of_each(x: np.ndarray) -> float:
    """The largest shape of the coordinates, as it is."""
    flat = x.reshape(-1, x.shape[2])
    return max(pareto_shape(c) for c in np.log(np.abs(flat - np.median(flat, axis=0))).T)


def exponentials(dim: int, seed: int) -> np.ndarray:
    """Draws [chain, draw, dim] of a skewed density, as logarithms of bounded parameters have."""
    return np.random.default_rng(seed).exponential(size=(8, 175, dim)) ** 1.5


@pytest.mark.parametrize("dim", [1, TUNING.coordinates_of_tails])
def test_a_few_coordinates_are_judged_as_they_are(dim: int):
    assert _heaviest(exponentials(dim, 0)) == of_each(exponentials(dim, 0))


def test_the_heaviest_of_many_is_that_of_a_few_but_for_chance():
    few = np.mean([_heaviest(exponentials(20, seed)) for seed in range(8)])
    raw, many = (np.mean([f(exponentials(400, s)) for s in range(8)]) for f in (of_each, _heaviest))
    assert raw - few > 0.06
    assert abs(many - few) < 0.6 * (raw - few)


def test_one_heavy_tail_among_hundreds_is_seen():
    x = np.random.default_rng(1).normal(size=(8, 175, 208))
    assert _heaviest(x) < TUNING.heaviest_coordinate
    x[..., 7] = np.random.default_rng(2).standard_cauchy(size=x.shape[:2])
    assert _heaviest(x) > 1.3 * TUNING.heaviest_coordinate
