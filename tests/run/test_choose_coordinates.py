"""The choice of coordinates: where it is made, where it is left alone, and what comes of it.

Seeds are fixed. A z-score beyond 4 is a false alarm once in 16,000.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.coordinates.affine import affine
from refti.coordinates.map import Map
from refti.coordinates.power_tails import PowerTails
from refti.coordinates.shapes import LINKS
from refti.run.choose_coordinates import _may_be_worth_it, choose_coordinates
from refti.run.problem import Problem
from refti.run.settings import Settings

HEAVY = Map(
    (PowerTails(np.array([0.0]), np.array([0.9])), affine(np.zeros(1), np.ones(1))), "heavy"
)
LIGHT = Map((PowerTails(np.array([0.0]), np.array([0.01])),), "light")
ROUND = Map((affine(np.zeros(1), np.ones(1)),), LINKS)


def cauchy_by_normal() -> refti.Model:
    """log z is log 3 pi + log 2 pi / 2."""
    return refti.Model(
        lambda a, b: -jnp.log1p(((a - 2) / 3) ** 2) - 0.5 * (b + 1) ** 2,
        {"a": refti.real(), "b": refti.real()},
    )


def test_heavy_tails_get_coordinates_of_their_own_and_draws_are_told_in_the_models():
    found = refti.evidence(cauchy_by_normal(), progress=False)
    assert "heavy tails" in found.found["coordinates"]
    assert found.trusted, str(found)
    truth = np.log(3 * np.pi) + 0.5 * np.log(2 * np.pi)
    assert abs(found.value - truth) < 4 * found.error < 0.2
    # The quartiles of a Cauchy are one scale from its middle; draws are worth some hundreds.
    quartiles = np.quantile(found.posterior["a"].values, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(quartiles, [-1.0, 2.0, 5.0], atol=1.0)


@pytest.mark.parametrize(
    "asked",
    [
        {"reference": "covariance"},
        {"reference": ["auto", cauchy_by_normal()]},  # a density of the model's own coordinates
        {"reference": ["auto", 4]},
    ],
)
def test_what_was_asked_for_leaves_coordinates_alone(asked: dict[str, Any]):
    problem = Problem(refti.Evidence, (cauchy_by_normal(),), Settings(**asked))
    # Without a pilot and an engine, since nothing is to be measured.
    reshaped = choose_coordinates(problem, None, None)  # type: ignore[arg-type]
    assert reshaped.problem is problem
    assert reshaped.reason is None


def test_maps_that_would_not_be_used_are_not_measured():
    for way in (HEAVY, LIGHT, ROUND):
        assert _may_be_worth_it(way, own=5.0, unsettled=False)
    assert _may_be_worth_it(HEAVY, own=0.5, unsettled=False)
    assert not _may_be_worth_it(LIGHT, own=0.5, unsettled=False)
    assert not _may_be_worth_it(ROUND, own=0.5, unsettled=False)
    assert _may_be_worth_it(ROUND, own=0.5, unsettled=True)
    assert not _may_be_worth_it(LIGHT, own=0.5, unsettled=True)
