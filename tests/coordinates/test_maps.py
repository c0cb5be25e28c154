"""Maps of coordinates: what goes there comes back, and no mass is lost on the way."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.coordinates.affine import affine
from refti.coordinates.links import Links
from refti.coordinates.map import Map, from_latent, to_latent
from refti.coordinates.power_tails import PowerTails, RadialTail
from refti.coordinates.reshape import reshape

pytestmark = pytest.mark.usefixtures("x64")

RNG = np.random.default_rng(3)


def links() -> Links:
    """The second follows the first, and the third both of them."""
    steps = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    slopes, bends, levels, steepness, scales, hinges = (
        np.random.default_rng(4).uniform(-0.3, 0.3, (6, 3, 2)) * steps
    )
    return Links(
        parents=np.array([0, 1]),
        mean=np.array([0.3, -0.2, 0.7]),
        slopes=slopes,
        bends=bends,
        levels=levels,
        steepness=steepness,
        log_scale=np.array([0.5, -0.4, 0.1]),
        scale_slopes=scales,
        scale_hinges=hinges,
        depth=2,
    )


FACTOR = np.array([[2.0, 0.0, 0.0], [0.5, 0.3, 0.0], [-1.0, 0.2, 4.0]])
TAILS = PowerTails(np.array([0.0, 0.4, 1.0]), np.array([0.7, 0.0, 0.2]))
MAPS = {
    "affine": Map((affine(np.array([1.0, -2.0, 0.5]), FACTOR),), "affine"),
    "scales": Map((affine(np.array([1.0, -2.0, 0.5]), np.array([0.1, 3.0, 7.0])),), "scales"),
    "power tails": Map((TAILS,), "power tails"),
    "radial tail": Map((RadialTail(np.asarray(0.6)),), "radial tail"),
    "links": Map((links(),), "links"),
    "all": Map(
        (PowerTails(0.1 * TAILS.left, 0.1 * TAILS.right), links(), affine(np.zeros(3), FACTOR)),
        "all",
    ),
}
POINTS = np.concatenate([RNG.normal(size=(40, 3)), 3 * RNG.normal(size=(10, 3)), np.zeros((1, 3))])


@pytest.mark.parametrize("way", MAPS.values(), ids=MAPS)
def test_what_goes_there_comes_back(way: Map):
    x, _ = from_latent(way, POINTS)
    np.testing.assert_allclose(to_latent(way, x), POINTS, rtol=1e-8, atol=1e-8)


# Where each takes long to compile, two that have a layer of every kind stand for the others.
FOR_ALL = {"all", "radial tail"}
EVERY_KIND = pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, id=name, marks=() if name in FOR_ALL else pytest.mark.long)
        for name, way in MAPS.items()
    ],
)


@EVERY_KIND
def test_the_log_jacobian_is_that_of_the_derivatives(way: Map):
    _, log_jacobian = from_latent(way, POINTS[:-1])
    derivatives = jax.vmap(jax.jacfwd(lambda v: way.forward(v)[0]))(jnp.asarray(POINTS[:-1]))
    expected = np.linalg.slogdet(np.asarray(derivatives))[1]
    np.testing.assert_allclose(log_jacobian, expected, rtol=1e-7, atol=1e-7)


def test_tails_of_a_normal_become_those_of_a_student():
    # The log density of a Student-t of 2 degrees falls by 3 for every factor e of the distance.
    way = Map((PowerTails(np.array([0.5]), np.array([0.5])),), "heavy")
    x = np.array([[1e6], [1e8]])
    v = to_latent(way, x)
    _, log_jacobian = from_latent(way, v)
    fall = np.diff(-0.5 * v[:, 0] ** 2 - log_jacobian) / np.diff(np.log(x[:, 0]))
    assert float(fall[0]) == pytest.approx(-3, abs=0.05)


@EVERY_KIND
def test_a_reshaped_model_has_the_density_times_the_jacobian_and_the_same_parameters(way: Map):
    model = refti.Model(
        lambda a, b: -0.5 * jnp.sum((a - 1) ** 2) - 2 * b + jnp.log(b),
        {"a": refti.real(shape=(2,)), "b": refti.positive()},
    )
    seen = reshape(model, way)
    v = 0.3 * POINTS[:5]
    x, log_jacobian = from_latent(way, v)
    np.testing.assert_allclose(seen.log_densities(v), model.log_densities(x) + log_jacobian)
    np.testing.assert_allclose(seen.constrain(v[0])["b"], model.constrain(x[0])["b"])
    np.testing.assert_allclose(to_latent(way, model.start[None])[0], seen.start)
    assert list(seen.parameters) == list(model.parameters)
