"""The truncated Gaussian: its mass and draws at 40 standard deviations, its integral everywhere."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from refti.models import supports
from refti.models.model import Model
from refti.references import normal_intervals
from refti.references.arrays import from_arrays, to_arrays
from refti.references.truncated import TruncatedGaussian

# Compiled as in use, and much the quicker for it.
log_normal_mass = jax.jit(normal_intervals.log_normal_mass)
log_lower_tail = jax.jit(normal_intervals.log_lower_tail)
truncated_standard_normal = jax.jit(normal_intervals.truncated_standard_normal)
INFINITY = float("inf")
PAIR = {"a": supports.positive(), "b": supports.positive()}
# log(Phi(b) - Phi(a)) by mpmath at 400 digits, of the exact binary values of a and b.
EXACT_LOG_MASS = [
    (-40.0, -39.0, -765.08315656437754),
    (30.0, INFINITY, -454.3212439563432),
    (-INFINITY, -40.0, -804.60844201375379),
    (38.0, 40.0, -726.55721601882013),
    (30.0, 30.25, -454.32177574482901),
    (-20.0, -19.984375, -204.91754980860159),
    (-1.0, 1.0, -0.38171514630212607),
    (-0.5, 40.0, -0.36894641528865639),
    (-30.0, 30.0, -9.8134278542963741e-198),
    (-INFINITY, 12.0, -1.776482112077679e-33),
    (-3.0, 5.5, -0.0013508289799794635),
    (0.0, 0.0009765625, -7.8504104977498351),
    (3.0, 3.0000000001, -28.444789380554762),
    (-37.0, -1.0, -1.8410216450092635),
    (5.0, 5.375, -15.208385601081695),
    (-INFINITY, INFINITY, 0.0),
]


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def truncated(supports_by_name, mean, scale, log_height=0.0):
    """The reference of parameters on supports of the package, and the model that has them."""
    model = Model(lambda values: jnp.zeros(()), supports_by_name)
    bounds = [(support.lower, support.upper) for support in supports_by_name.values()]
    lower, upper = jnp.asarray(bounds).T
    return TruncatedGaussian(
        jnp.asarray(mean, float),
        jnp.asarray(scale, float),
        lower,
        upper,
        jnp.asarray(log_height, float),
        model.supported_space.constrain_flat,
        model.supported_space.unconstrain_flat,
    )


@jax.jit
def sample(reference, keys):
    return jax.vmap(reference.sample)(keys)


def test_log_mass_is_exact_to_rounding_also_reflected():
    a, b, expected = np.array(EXACT_LOG_MASS).T
    np.testing.assert_allclose(log_normal_mass(a, b), expected, rtol=1e-12, atol=0)
    np.testing.assert_array_equal(log_normal_mass(-b, -a), log_normal_mass(a, b))


def test_log_mass_adds_up_over_a_cut_of_the_line():
    # Cuts of many widths cross every border between the forms; shares must still sum to one.
    edges = np.concatenate([[-INFINITY], np.linspace(-39.9, 39.7, 937), [INFINITY]])
    shares = np.exp(log_normal_mass(jnp.asarray(edges[:-1]), jnp.asarray(edges[1:])))
    assert np.sum(shares) == pytest.approx(1.0, abs=1e-14)
    # Below -37 the shares themselves are smaller than any normal number.
    below, edges = np.cumsum(shares)[:-1], edges[1:-1]
    np.testing.assert_allclose(below[edges > -37], stats.norm.cdf(edges[edges > -37]), rtol=1e-12)


def test_lower_tail_agrees_with_scipy():
    x = np.linspace(-60.0, 0.0, 601)
    np.testing.assert_allclose(log_lower_tail(jnp.asarray(x)), stats.norm.logcdf(x), rtol=2e-14)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (-INFINITY, INFINITY),
        (-1.5, 0.5),
        (-0.3, INFINITY),
        (30.0, INFINITY),
        (-INFINITY, -30.0),
        (30.0, 30.02),
        (-40.0, 38.0),
        (-41.0, -40.0),
        (200.0, INFINITY),
    ],
)
def test_quantiles_cut_off_the_shares_asked_for(a, b):
    u = np.concatenate([[2.0**-53], np.linspace(0.001, 0.999, 101), [1 - 2.0**-53]])
    x = truncated_standard_normal(jnp.asarray(u), jnp.full(len(u), a), jnp.full(len(u), b))
    assert np.all((x >= a) & (x <= b) & np.isfinite(x))
    assert np.all(np.diff(x) >= 0)
    below = log_normal_mass(jnp.full(len(u), a), x)[1:-1]
    share = np.exp(below - log_normal_mass(jnp.array(a), jnp.array(b)))
    # At 200 standard deviations one unit of rounding of x moves the share by 6e-12.
    np.testing.assert_allclose(share, u[1:-1], rtol=0, atol=2e-11)


def test_draws_follow_the_exact_distribution():
    mean_and_scale = {
        "real": (supports.real(), -2.0, 3.0),
        "lower": (supports.lower(1.0), 1.5, 2.0),
        "upper": (supports.upper(-1.0), 0.5, 2.0),
        "interval": (supports.interval(-1.0, 2.0), 1.7, 0.8),
        "wide interval": (supports.interval(-100.0, 100.0), 1.0, 2.0),
        "far below": (supports.lower(0.0), -30.0, 1.0),
        "far above": (supports.upper(0.0), 30.0, 1.0),
        "far interval": (supports.interval(5.0, 6.0), -25.0, 1.0),
    }
    kinds, mean, scale = zip(*mean_and_scale.values(), strict=True)
    reference = truncated(dict(zip(mean_and_scale, kinds, strict=True)), mean, scale)
    x = sample(reference, jax.random.split(jax.random.key(7), 20_000))
    theta = np.asarray(jax.jit(jax.vmap(reference.constrain))(x)[0])
    low, high = reference._standard_bounds()
    value = (theta - np.asarray(mean)) / np.asarray(scale)
    whole = log_normal_mass(low, high)
    share = np.exp(log_normal_mass(jnp.broadcast_to(low, value.shape), jnp.asarray(value)) - whole)
    for name, column in zip(mean_and_scale, share.T, strict=True):
        # Kolmogorov-Smirnov with a fixed seed; false alarms 1 in 10,000 for each of the eight.
        assert stats.kstest(column, stats.uniform.cdf).pvalue > 1e-4, name
    # The same by another program, where it is exact.
    assert stats.kstest(theta[:, 0], stats.norm(-2.0, 3.0).cdf).pvalue > 1e-4
    assert stats.kstest(theta[:, 3], stats.truncnorm(-3.375, 0.375, 1.7, 0.8).cdf).pvalue > 1e-4
    # A correlation of independent draws has standard error 1/sqrt(20000); of the 28, one in
    # 3,000 sets has any beyond 4.4 of them.
    correlations = np.corrcoef(share.T) - np.eye(len(kinds))
    assert np.abs(correlations).max() < 4.4 / np.sqrt(20_000)


def test_draws_pressed_onto_a_bound_stay_finite():
    pressed = {
        "positive": supports.positive(),
        "interval's end": supports.interval(-1.0, 0.7),
        "interval's start": supports.interval(-1.0, 0.7),
        "upper": supports.upper(3.0),
    }
    reference = truncated(pressed, [-1e6, 1e6, -1e6, 1e6], [1e-3] * 4)
    x = sample(reference, jax.random.split(jax.random.key(1), 200))
    assert np.all(np.isfinite(x))
    assert np.all(np.isfinite(jax.jit(jax.vmap(reference.log_density))(x)))


CUT = {
    "real": (supports.real(), 1.0, 2.0, (-40.0, 40.0)),
    "lower": (supports.lower(1.0), 1.5, 2.0, (-60.0, 5.0)),
    "far below": (supports.lower(1.0), -29.0, 1.0, (-60.0, 3.0)),
    "upper": (supports.upper(-1.0), 0.5, 2.0, (-60.0, 5.0)),
    "interval": (supports.interval(-1.0, 2.0), 1.7, 0.8, (-60.0, 35.0)),
    "far interval": (supports.interval(-1.0, 2.0), 30.0, 1.0, (-60.0, 35.0)),
}


def test_log_z_is_the_log_integral_in_unconstrained_coordinates():
    kinds, means, scales, ranges = zip(*CUT.values(), strict=True)
    reference = truncated(dict(zip(CUT, kinds, strict=True)), means, scales, log_height=-1.25)
    # Parameters are independent: the integral is the product of those along the axes through a
    # point, each over the height there.
    centre, axes = np.zeros(len(CUT)), np.array([np.linspace(*ends, 40_001) for ends in ranges])
    points = np.zeros((len(CUT), axes.shape[1], len(CUT)))
    for index, axis in enumerate(axes):
        points[index, :, index] = axis
    log_density = jax.jit(jax.vmap(jax.vmap(reference.log_density)))
    values, height = np.asarray(log_density(points)), float(log_density(centre[None, None])[0, 0])
    highest = values.max(axis=1)
    # The trapezoid rule converges faster than any power for smooth integrands with light tails.
    integrals = np.trapezoid(np.exp(values - highest[:, None]), axes, axis=1)
    log_z = height + np.sum(np.log(integrals) + highest - height)
    assert float(reference.log_z) == pytest.approx(log_z, abs=1e-9)


def test_comes_back_with_the_maps_of_a_model_that_was_made_again():
    reference = truncated(PAIR, [0.5, -1.0], [1.0, 3.0], log_height=0.7)
    again = from_arrays(*to_arrays(reference), Model(lambda values: jnp.zeros(()), PAIR))
    assert again.constrain != reference.constrain
    x = jnp.array([0.3, -0.2])
    assert float(again.log_density(x)) == float(reference.log_density(x))
    assert float(again.log_z) == float(reference.log_z)


def test_log_z_adds_up_over_parameters_and_counts_half_a_normal_as_a_half():
    reference = truncated(PAIR, [0.0, 0.0], [1.0, 3.0], log_height=0.7)
    expected = 0.7 + np.log(2 * np.pi * 3.0) + 2 * np.log(0.5)
    assert float(reference.log_z) == pytest.approx(expected, abs=1e-14)
