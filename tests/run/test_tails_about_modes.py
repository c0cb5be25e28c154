"""Tails are judged about each mode by itself."""

from __future__ import annotations

import numpy as np

from refti.checks.tuning import TUNING
from refti.run.finish import _heaviest

MODES = np.array([[0.0], [60.0]])


def about_modes(noise: np.ndarray) -> np.ndarray:
    """Draws [chain, draw, dim], of which one in 160 lies about the second mode."""
    second = np.arange(len(noise)) % 160 == 0
    return (noise + np.where(second, MODES[1, 0], 0.0))[None, :, None]


def test_a_light_mode_far_off_is_no_tail_of_the_other():
    points = about_modes(np.random.default_rng(0).normal(size=16_000))
    assert _heaviest(points, MODES) < TUNING.most_tail_shape
    assert _heaviest(points) > TUNING.most_tail_shape


def test_heavy_tails_about_modes_are_still_heavy():
    points = about_modes(np.random.default_rng(0).standard_cauchy(size=16_000))
    assert _heaviest(points, MODES) > TUNING.most_tail_shape
