"""The choice of coordinates: where it is left alone, and which maps are measured at all."""

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
    return refti.Model(
        lambda a, b: -jnp.log1p(((a - 2) / 3) ** 2) - 0.5 * (b + 1) ** 2,
        {"a": refti.real(), "b": refti.real()},
    )


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
