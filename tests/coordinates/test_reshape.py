"""A model seen through a map: the same evidence and prior, and its parameters by their names."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.coordinates.affine import affine
from refti.coordinates.links import Links
from refti.coordinates.map import Map
from refti.coordinates.power_tails import PowerTails, RadialTail
from refti.coordinates.reshape import reshape
from refti.models.density import ValueOnlyDensity
from targets import LOG_2_PI, Grid, box, cut_gaussian, grid

pytestmark = pytest.mark.usefixtures("x64")

# The second coordinate's mean and scale follow the first.
LINKED = Links(
    parents=np.array([0]),
    mean=np.array([0.0, 0.3]),
    slopes=np.array([[0.0], [0.6]]),
    bends=np.array([[0.0], [-0.1]]),
    levels=np.array([[0.0], [0.9]]),
    steepness=np.array([[0.0], [1.4]]),
    log_scale=np.array([0.2, -0.3]),
    scale_slopes=np.array([[0.0], [-0.1]]),
    scale_hinges=np.array([[0.0], [0.2]]),
    depth=1,
)
WAYS = {
    "tails": Map(
        (
            PowerTails(np.array([0.15, 0.0]), np.array([0.05, 0.2])),
            affine(np.array([0.3, -0.4]), np.array([0.8, 1.3])),
        ),
        "",
    ),
    "radial tail": Map(
        (
            RadialTail(np.asarray(0.1)),
            affine(np.array([0.3, -0.4]), np.array([[0.9, 0], [-0.5, 1.2]])),
        ),
        "",
    ),
    "links": Map((LINKED, affine(np.array([0.3, -0.4]), np.array([0.8, 1.3]))), ""),
}
EVERY = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
SHAPE, RATE = 2.5, 1.7


@cache
def model() -> refti.Model:
    """A rate with a gamma prior and a shift with a normal one, measured together."""

    def log_prior(rate, shift):
        gamma = SHAPE * np.log(RATE) - jax.scipy.special.gammaln(SHAPE)
        gamma += (SHAPE - 1) * jnp.log(rate) - RATE * rate
        return gamma - 0.5 * (shift - 0.5) ** 2 - 0.5 * LOG_2_PI

    def log_likelihood(rate, shift):
        return -0.5 * (1.2 - rate - shift) ** 2 / 0.36

    return refti.Model(
        log_prior=log_prior,
        log_likelihood=log_likelihood,
        parameters={"rate": refti.positive(), "shift": refti.real()},
        start={"rate": 0.7, "shift": -0.2},
    )


def integral(density) -> float:
    """The log integral by an even grid, wide enough for heavy tails turned light."""
    return grid(density.log_density, np.full(2, -14.0), np.full(2, 12.0), 500).log_integral


@EVERY
def test_the_evidence_and_the_priors_integral_stay_as_they_are(way: Map):
    seen = reshape(model(), way)
    assert seen.prior is not None
    assert integral(seen.prior) == pytest.approx(0.0, abs=1e-6)
    assert integral(seen.density) == pytest.approx(integral(model().density), abs=1e-6)


@EVERY
def test_parameters_come_back_by_their_names(way: Map):
    seen = reshape(model(), way)
    assert list(seen.parameters) == ["rate", "shift"]
    v = np.random.default_rng(1).normal(size=(7, 2))
    x = np.stack([np.asarray(way.forward(jnp.asarray(one))[0]) for one in v])
    values = seen.space.constrain_all(v)
    np.testing.assert_allclose(values["rate"], np.exp(x[:, 0]), rtol=1e-12)
    np.testing.assert_allclose(values["shift"], x[:, 1], rtol=1e-12)
    np.testing.assert_allclose(seen.space.unconstrain_all(values), v, rtol=1e-9, atol=1e-9)
    alone = seen.space.constrain(v[3])
    assert float(alone["rate"]) == pytest.approx(values["rate"][3], rel=1e-12)
    start = seen.space.constrain_all(seen.start[None])
    assert (start["rate"][0], start["shift"][0]) == pytest.approx((0.7, -0.2))


def test_a_density_known_by_its_values_alone():
    def log_density(x: np.ndarray) -> float:
        return float(-np.log1p((x[0] - 3) ** 2) - 0.5 * (x[1] / 4) ** 2)

    black_box = refti.from_callable(log_density, dim=2)
    heavy = PowerTails(np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    way = Map((heavy, affine(np.array([3.0, 1.0]), np.array([0.7, 3.0]))), "")
    seen = reshape(black_box, way).density
    assert isinstance(seen, ValueOnlyDensity)
    points, log_cell = box(np.array([-12.0, -9.0]), np.array([12.0, 9.0]), 80)
    found = Grid(points, seen.log_densities(points), log_cell)
    # pi of a Cauchy, whose tails reach exp(70) here, and a normal.
    exact = np.log(np.pi) + np.log(4) + 0.5 * LOG_2_PI
    assert found.log_integral == pytest.approx(exact, abs=1e-4)
    assert seen.log_densities(np.zeros((0, 2))).shape == (0,)


def test_what_is_outside_the_support_stays_outside():
    seen = reshape(cut_gaussian(), WAYS["links"])
    v = np.random.default_rng(2).normal(size=(50, 2))
    inside = [float(WAYS["links"].forward(jnp.asarray(one))[0][0]) >= 0.3 for one in v]
    found = np.asarray(jax.vmap(seen.log_density)(jnp.asarray(v)))
    np.testing.assert_array_equal(np.isfinite(found), inside)
    assert 5 < sum(inside) < 45
