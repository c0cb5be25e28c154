"""Layers and maps: there and back, Jacobians, gradients, and the tails they say they make."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from refti.coordinates.affine import affine
from refti.coordinates.links import Links
from refti.coordinates.map import Layer, Map, from_latent, to_latent
from refti.coordinates.parabolas import Parabolas
from refti.coordinates.pooling import NONE, Pooling
from refti.coordinates.power_tails import PowerTails, RadialTail, log_shrink, log_stretch, shrink
from refti.models.density import QUICK_COMPILE

pytestmark = pytest.mark.usefixtures("x64")

DIM = 4
LEFT, RIGHT = np.array([0.3, 0.0, 1.5, 0.1]), np.array([1.0, 0.5, 0.0, 0.2])
FACTOR = np.array([[2.0, 0, 0, 0], [-0.4, 0.3, 0, 0], [0.1, 0.5, -7.0, 0], [1.0, -2.0, 0.2, 0.9]])
LOCATION = np.array([3.0, -0.2, 10.0, 0.5])


def links(wires: dict[tuple[int, int], dict[str, float]], depth: int, parents: list[int]) -> Links:
    """The layer in which (to, from) are linked by these numbers, its parents in any order."""
    names = ("slopes", "bends", "levels", "steepness", "scale_slopes", "scale_hinges")
    parts: dict[str, Any] = {name: np.zeros((DIM, len(parents))) for name in names}
    for (to, of), numbers in wires.items():
        for name, value in numbers.items():
            parts[name][to, parents.index(of)] = value
    return Links(
        parents=np.array(parents),
        mean=np.array([0.2, -0.5, 1.0, 0.0]),
        log_scale=np.array([0.1, -0.7, 0.4, 0.0]),
        depth=depth,
        **parts,
    )


SCALE = {"scale_slopes": 0.6, "scale_hinges": -0.4, "levels": 1.3, "steepness": 1.2}
MEAN = {"slopes": -0.8, "bends": 0.3}
ONE_DEEP = links({(1, 3): SCALE, (0, 3): MEAN, (2, 3): SCALE | MEAN}, 1, [3])
# 3 -> 1 -> 0 and 3 -> 0; the coordinates' own order tells nothing.
TWO_DEEP = links({(1, 3): SCALE, (0, 1): MEAN, (0, 3): SCALE}, 2, [3, 1])
THREE_DEEP = links({(0, 2): SCALE, (3, 0): MEAN, (1, 3): SCALE, (1, 2): MEAN}, 3, [3, 2, 0])
# The first is held twice, once with a strength that goes with the last two.
POOLED = replace(
    TWO_DEEP,
    pooling=Pooling(
        offset=np.array([0.4, NONE, NONE, NONE]),
        steepness=np.array([[-1.5, 0.8], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
        lead=np.array([2.0, 0.0, 0.0, 0.0]),
        lead_slopes=np.array([[0.0, -0.6], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
    ),
)

LAYERS: dict[str, Layer] = {
    "scales": affine(LOCATION, np.array([2.0, -0.3, 1e-3, 40.0])),
    "factor": affine(LOCATION, FACTOR),
    "power tails": PowerTails(LEFT, RIGHT),
    "radial tail": RadialTail(np.asarray(0.4)),
    "no radial tail": RadialTail(np.asarray(0.0)),
    "links": ONE_DEEP,
    "links of links": TWO_DEEP,
    "links of links of links": THREE_DEEP,
    "pooling": POOLED,
    "parabolas": Parabolas(
        LOCATION,
        np.tril(FACTOR, -1),
        np.stack([np.pad(0.3 * FACTOR[:k, :k], (0, DIM - k)) for k in range(DIM)]),
        np.array([0.1, -0.7, 0.4, 0.0]),
    ),
    "a map": Map((PowerTails(0.2 * LEFT, 0.2 * RIGHT), TWO_DEEP, affine(LOCATION, FACTOR)), ""),
    "a round map": Map((RadialTail(np.asarray(0.4)), affine(LOCATION, FACTOR)), ""),
}
ORDINARY = np.random.default_rng(3).normal(size=(6, DIM)) * [1.0, 2.0, 0.5, 1.5]
EVERY = pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)


class Told(NamedTuple):
    """What a layer tells of a point, and what its derivatives say of it."""

    x: jax.Array
    log_jacobian: jax.Array
    back: jax.Array
    derivatives: jax.Array
    slope_of_log_jacobian: jax.Array


@partial(jax.jit, compiler_options=QUICK_COMPILE)
def ask(layer: Layer, points: jax.Array) -> Told:
    """All that a layer tells of points[n, dim]; one program a layer."""

    def one(v: jax.Array) -> Told:
        (x, log_jacobian), slopes = layer.forward(v), jax.jacrev(layer.forward)(v)
        return Told(x, log_jacobian, layer.inverse(x), *slopes)

    return jax.vmap(one)(points)


def points(*sizes: float) -> np.ndarray:
    """Points of these sizes, no two coordinates alike."""
    return np.array([[-1.0, 0.4, 0.7, -0.2]]) * np.array(sizes)[:, None]


EXTREME = points(0.0, 1e-300, 1e-200, 1e-160, 1e-20, 1e-3, 1.0, 8.0)
SMALL_AND_LARGE = points(1e-300, 1e-200, 1e-160, 1e-20, 1e-9, 1e-3, 6.0, 15.0)[:, [1, 2, 0, 3]]


@EVERY
def test_there_and_back_and_the_jacobian_of_the_way(layer: Layer):
    v = np.concatenate([ORDINARY, points(1e-5, 4.0)])
    told = ask(layer, v)
    np.testing.assert_allclose(told.back, v, rtol=1e-9, atol=1e-9)
    by_derivatives = np.linalg.slogdet(told.derivatives)[1]
    np.testing.assert_allclose(told.log_jacobian, by_derivatives, rtol=1e-8, atol=1e-8)


@EVERY
def test_gradients_are_finite_wherever_chains_may_go(layer: Layer):
    for values in ask(layer, EXTREME):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("name", ["power tails", "radial tail", "no radial tail"])
def test_tails_go_there_and_back_however_small_or_large(name: str):
    # Fifteen deviations to the left a heaviness of 1.5 makes exp(170) of them.
    told = ask(LAYERS[name], SMALL_AND_LARGE)
    np.testing.assert_allclose(told.back, SMALL_AND_LARGE, rtol=1e-9)


@pytest.mark.parametrize("name", ["power tails", "radial tail"])
def test_tails_come_back_from_points_whose_squares_overflow(name: str):
    layer, x = LAYERS[name], np.array([[-1.0], [1e160], [1e300]]) * [1.0, -1.0, -0.7, 0.2]
    x[:, 1] = np.abs(x[:, 1])  # every coordinate to a side that is heavy

    def there(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        v = layer.inverse(x)
        return v, layer.forward(v)[0]

    v, back = jax.jit(jax.vmap(there))(x)
    np.testing.assert_array_equal(np.sign(v), np.sign(x))
    np.testing.assert_allclose(np.log(np.abs(back)), np.log(np.abs(x)), rtol=1e-9, atol=1e-9)


def log_density_of_power_tails(h: float, w: np.ndarray) -> np.ndarray:
    """The log density at w of a standard normal pushed through the map, to the right."""
    layer = PowerTails(np.zeros(1), np.full(1, h))
    v = jax.vmap(layer.inverse)(jnp.asarray(w)[:, None])
    _, log_jacobian = jax.vmap(layer.forward)(v)
    return np.asarray(stats.norm.logpdf(v[:, 0]) - log_jacobian)


@pytest.mark.parametrize("h", [0.2, 0.5, 1.0, 2.0])
def test_a_normal_gets_the_tail_index_that_is_asked_for(h: float):
    # The density of a Student-t of 1 / h degrees falls as the power -(1 / h + 1).
    w = np.geomspace(1e20, 1e40, 3)
    slopes = np.diff(log_density_of_power_tails(h, w)) / np.diff(np.log(w))
    # The root of the logarithm that is left changes by less than log(2) / log(1e20).
    np.testing.assert_allclose(slopes, -(1 / h + 1), atol=0.02)


def test_no_heaviness_is_the_identity_and_sides_do_not_mix():
    layer = PowerTails(np.array([0.8, 0.0]), np.array([0.0, 0.8]))
    x, log_jacobian = layer.forward(jnp.asarray([1.7, -2.3]))
    np.testing.assert_allclose(x, [1.7, -2.3], rtol=1e-14)
    assert float(log_jacobian) == pytest.approx(0.0, abs=1e-14)
    x, _ = layer.forward(jnp.asarray([-1.7, 2.3]))
    w = np.sqrt(np.expm1(0.8 * np.array([1.7, 2.3]) ** 2) / 0.8)
    np.testing.assert_allclose(x, w * [-1, 1], rtol=1e-12)


@pytest.mark.parametrize("h", [0.3, 1.0])
def test_a_round_normal_gets_the_tail_of_a_multivariate_student(h: float):
    # log density -(1 / h + dim) log distance far out, in every direction alike.
    layer = RadialTail(np.asarray(h))
    direction = np.array([0.6, 0.0, -0.8])
    points = np.geomspace(1e20, 1e40, 3)[:, None] * direction
    v = jax.vmap(layer.inverse)(jnp.asarray(points))
    _, log_jacobian = jax.vmap(layer.forward)(v)
    values = np.asarray(-0.5 * jnp.sum(v**2, axis=1) - log_jacobian)
    slopes = np.diff(values) / np.diff(np.log(np.linalg.norm(points, axis=1)))
    # Across, each of two directions adds the root of a logarithm.
    np.testing.assert_allclose(slopes, -(1 / h + 3), atol=0.04)


def test_logs_of_stretch_and_shrink_where_they_change_over():
    t = np.array([0.0, 1e-12, 0.99e-3, 1.01e-3, 0.3, 50.0])
    t_safe = np.maximum(t, 1e-300)
    exact = np.where(t > 0, np.log(np.expm1(t_safe) / t_safe), 0.0)
    np.testing.assert_allclose(log_stretch(jnp.asarray(t)), exact, rtol=1e-6, atol=1e-12)
    assert float(log_stretch(jnp.asarray(1e4))) == pytest.approx(1e4 - np.log(1e4), rel=1e-12)
    for h, d in [(1.0, 0.99e-2), (1.0, 1.01e-2), (1e-9, 1.0), (0.5, 3.0), (2.0, 1e30)]:
        exact = np.log(np.log1p(h * d**2) / (h * d**2))
        found = float(log_shrink(jnp.asarray(h), jnp.asarray(d)))
        assert found == pytest.approx(exact, rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("h", [0.1, 1.0, 2.0])
def test_what_fits_use_is_the_same_map(h: float):
    layer, w = PowerTails(np.full(1, h), np.full(1, h)), np.array([-1e9, -3.0, -1e-8, 0.2, 40.0])
    v, slope = shrink(np.full(5, h), w)
    there = jax.vmap(layer.inverse)(jnp.asarray(w)[:, None])
    _, log_jacobian = jax.vmap(layer.forward)(there)
    np.testing.assert_allclose(v, there[:, 0], rtol=1e-6)
    np.testing.assert_allclose(slope, -np.asarray(log_jacobian), rtol=1e-6, atol=1e-6)


class TestLinks:
    """Means and scales that follow others, against the formula written out by hand."""

    def test_two_deep(self):
        v = np.array([0.7, -1.2, 0.4, 1.6])
        y3 = v[3]
        sigmoid, softplus = 1 / (1 + np.exp(-1.2 * y3)), np.log1p(np.exp(y3))
        scale = 0.6 * y3 - 0.4 * softplus
        y1 = -0.5 + 1.3 * sigmoid + v[1] * np.exp(-0.7 + scale)
        y0 = 0.2 - 0.8 * y1 + 0.3 * y1**2 + 1.3 * sigmoid + v[0] * np.exp(0.1 + scale)
        y2 = 1.0 + v[2] * np.exp(0.4)
        x, log_jacobian = TWO_DEEP.forward(jnp.asarray(v))
        np.testing.assert_allclose(x, [y0, y1, y2, y3], rtol=1e-12)
        assert float(log_jacobian) == pytest.approx(0.1 - 0.7 + 0.4 + 2 * scale, rel=1e-12)

    def test_precisions_add_up_and_means_lie_between(self):
        x = np.array([0.9, -0.4, 0.3, 1.1])  # of which the second and the last are followed
        first, ratio = -2 * (0.1 + 0.6 * 1.1 - 0.4 * np.log1p(np.exp(1.1))), 0.4 - 1.5 * 1.1 - 0.32
        alone, other = np.exp(first), np.exp(first + ratio)
        own = 0.2 + 0.8 * 0.4 + 0.3 * 0.16 + 1.3 / (1 + np.exp(-1.2 * 1.1))
        mean = (alone * own + other * (own + 2.0 + 0.6 * 0.4)) / (alone + other)
        assert POOLED.inverse(jnp.asarray(x))[0] == pytest.approx(
            (x[0] - mean) * np.sqrt(alone + other), rel=1e-12
        )

    def test_the_order_of_parents_does_not_matter(self):
        wires = {(0, 2): SCALE, (3, 0): MEAN, (1, 3): SCALE, (1, 2): MEAN}
        other = links(wires, 3, [0, 2, 3])
        v = jnp.asarray(ORDINARY[0])
        for a, b in zip(THREE_DEEP.forward(v), other.forward(v), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)

    def test_a_depth_too_small_would_be_seen(self):
        wires = {(0, 2): SCALE, (3, 0): MEAN, (1, 3): SCALE, (1, 2): MEAN}
        shallow, v = links(wires, 2, [3, 2, 0]), jnp.asarray(ORDINARY[0])
        assert np.abs(shallow.inverse(shallow.forward(v)[0]) - v).max() > 1e-3


def test_many_points_at_once_are_each_alone():
    way = LAYERS["a map"]
    assert isinstance(way, Map)
    x, log_jacobian = from_latent(way, ORDINARY)
    for v, one, told in zip(ORDINARY, x, log_jacobian, strict=True):
        alone, alone_told = way.forward(jnp.asarray(v))
        np.testing.assert_allclose(one, alone, rtol=1e-12)
        assert told == pytest.approx(float(alone_told), rel=1e-12)
    np.testing.assert_allclose(to_latent(way, x), ORDINARY, rtol=1e-9, atol=1e-9)
