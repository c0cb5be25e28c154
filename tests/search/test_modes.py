"""Modes: every mode of mixtures is found from anywhere, and improper densities are refused."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti import suite
from refti.paper.covid import model as covid
from refti.paths.path import Leg
from refti.references import registry
from refti.run.pilot import Exploration
from refti.sampling.computing import computing
from refti.sampling.engine import engine
from refti.sampling.evaluation import value_and_gradient
from refti.sampling.metering import Meter
from refti.search.mode import Mode, find_mode
from refti.search.peaks import Modes
from refti.search.preflight import preflight
from refti.search.proper import require_proper


def mixture(
    means: np.ndarray, scales: np.ndarray, weights: list[float], start: np.ndarray
) -> refti.Model:
    """Normals with diagonal covariances, means[mode, dim]; all of one shape are one program."""
    heights = np.log(weights) - np.log(scales).sum(axis=1)

    def log_density(x):
        return jax.nn.logsumexp(heights - 0.5 * jnp.sum(((x - means) / scales) ** 2, axis=1))

    return refti.Model(log_density, dim=means.shape[1], start=start)


def modes_of(model: refti.Model, seed: int = 0) -> Modes:
    """The modes of a model, as a run comes to it."""
    with (
        computing(),
        engine(chains=8, kernel="hmc", stretch=25, seed=seed, meter=Meter()) as means,
    ):
        leg = Leg(registry.placeholder("auto", model), model.density)
        return Exploration(model, leg, 1.0, means, 300, lambda *_: None).landscape


def two_modes(dim: int, distance: float) -> tuple[np.ndarray, np.ndarray]:
    """Means, which are modes, and scales of two normals; the first has the unit covariance."""
    direction = np.linspace(1.0, 2.0, dim)
    direction /= np.linalg.norm(direction)
    means = distance * np.array([[-0.4], [0.6]]) * direction
    return means, np.stack([np.ones(dim), np.geomspace(0.8, 1.4, dim)])


@pytest.mark.parametrize("where", [0.0, 0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("distance", [10.0, 30.0])
@pytest.mark.parametrize("dim", [2, 10])
def test_both_modes_are_found_from_either_and_from_between(dim: int, distance: float, where: float):
    means, scales = two_modes(dim, distance)
    start = means[0] + where * (means[1] - means[0])
    found = modes_of(mixture(means, scales, [0.9, 0.1], start), seed=int(10 * where))
    assert found.peaks.shape == (2, dim)
    assert found.peaks == pytest.approx(means, abs=0.05)
    # The higher mode is the mode, wherever the first climb ended.
    assert found.mode.x == pytest.approx(means[0], abs=1e-3)
    assert found.mode.log_density == pytest.approx(np.log(0.9), abs=1e-6)
    assert found.factor @ found.factor.T == pytest.approx(np.eye(dim), abs=1e-3)


@pytest.mark.parametrize("at", [0, 1], ids=["from the wide one", "from the narrow one"])
def test_a_narrow_mode_far_from_a_wide_one(at: int):
    means, scales = np.array([[0.0, 0.0], [14.0, -6.0]]), np.array([[1.0, 1.0], [0.3, 0.3]])
    found = modes_of(mixture(means, scales, [0.7, 0.3], means[at]))
    # Three tenths of the mass are the higher peak, for it is eleven times narrower.
    assert found.peaks.shape == (2, 2)
    assert found.peaks == pytest.approx(means[::-1], abs=0.05)


def test_four_modes():
    means = np.array([[-12.0, -10.0], [-9.0, 11.0], [10.0, 8.0], [12.0, -13.0]])
    found = modes_of(mixture(means, np.ones((4, 2)), [0.05, 0.1, 0.25, 0.6], np.zeros(2)))
    assert found.peaks.shape == (4, 2)
    assert found.peaks == pytest.approx(means[::-1], abs=0.05)


def test_a_mode_with_next_to_nothing_of_the_mass_is_left_out():
    means = np.array([[0.0, 0.0], [20.0, 0.0]])
    for weight, count in ((1e-3, 2), (1e-12, 1)):
        model = mixture(means, np.ones((2, 2)), [1 - weight, weight], means[0])
        assert len(modes_of(model).peaks) == count


@pytest.mark.parametrize("name", ["log_gamma", "student_multivariate"])
def test_one_mode_is_one_peak(name: str):
    model = suite.find(name).model()
    for seed in range(3):
        found = modes_of(model, seed)
        assert found.peaks.shape == (1, model.dim)
        np.testing.assert_array_equal(found.peaks[0], found.mode.x)
        with jax.enable_x64(True):
            slope = np.asarray(jax.grad(model.log_density)(jnp.asarray(found.mode.x)))
        assert np.abs(slope @ found.factor).max() < 1e-4


def test_where_there_is_no_curvature_starts_stand_in_for_peaks():
    found = modes_of(refti.Model(lambda x: -jnp.sum(jnp.abs(x)), dim=2, start=[0.5, -0.7]))
    assert len(found.peaks) > 8
    assert np.ptp(found.peaks, axis=0).min() > 1
    np.testing.assert_array_equal(found.factor, np.eye(2))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [17, 31])
def test_the_mode_of_a_hierarchy_is_found_from_every_start(seed: int):
    """From the start of seed 31 the first climb ends 46 nats below, led astray by curvature."""
    mode = mode_of_proper(covid.model(covid.variant("AR(2)")), seed)
    assert mode.factor() is not None
    assert mode.log_density == pytest.approx(-544.8548, abs=0.001)


def mode_of_proper(model: refti.Model, seed: int = 0) -> Mode:
    """The mode uphill of the best start, after the density was seen to be proper."""
    with computing():
        leg = Leg(registry.placeholder("auto", model), model.density)
        evaluate = value_and_gradient(leg, 1.0, 8, Meter())
        mode = find_mode(evaluate, preflight(model, evaluate, np.random.default_rng(seed))[0])
        require_proper(model, evaluate, mode, np.random.default_rng(seed))
        return mode


def of(log_density: Callable, **supports: object) -> Callable[[], refti.Model]:
    return lambda: refti.Model(log_density, supports)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (of(lambda a, b: -0.5 * a**2 + 0 * b, a=refti.real(), b=refti.real()), "'b'"),
        (of(lambda a, b: -0.5 * (a + b - 1) ** 2, a=refti.real(), b=refti.real()), "'a'"),
        (
            of(
                lambda a, w: -0.5 * a**2 - 0.5 * (w[0] + w[1]) ** 2 - 0.5 * w[2] ** 2,
                a=refti.real(),
                w=refti.real(shape=(3,)),
            ),
            r"'w\[[01]\]'",
        ),
        (
            of(lambda a, s: -0.5 * a**2 - jnp.log(s), a=refti.real(), s=refti.positive()),
            "'s'",
        ),
        (
            of(
                lambda a, s: -0.5 * a**2 - jnp.log(s) - 0.5 * (jnp.log(s) > 0) * jnp.log(s) ** 2,
                a=refti.real(),
                s=refti.positive(),
            ),
            "'s'",
        ),
        (
            of(
                lambda a, s: -0.5 * a**2 - 3 / s,
                a=refti.real(),
                s=refti.positive(),
            ),
            "'s'",
        ),
        (
            of(
                lambda p, c: jnp.log(p) - jnp.log1p(c**2) / 2,
                p=refti.interval(0, 1),
                c=refti.real(),
            ),
            "'c'",
        ),
    ],
    ids=[
        "flat axis",
        "only a sum is known",
        "only a sum in a vector is known",
        "log-uniform",
        "log-uniform towards zero",
        "flat towards infinity",
        "falls like 1 / x",
    ],
)
def test_improper_densities_are_refused_by_the_name_of_a_parameter(
    make: Callable[[], refti.Model], named: str
):
    with pytest.raises(refti.ModelError, match=rf"does not exist.*parameter {named}"):
        mode_of_proper(make())


def test_density_that_rises_until_it_overflows_is_refused_by_the_name_of_a_parameter():
    # Flat in s is rising in log s, to where s itself is no longer a number.
    model = of(lambda a, s: -0.5 * a**2 + 0 * s, a=refti.real(), s=refti.positive())()
    with pytest.raises(refti.ModelError, match=r"does not exist.*parameter 's'"):
        modes_of(model)


@pytest.mark.parametrize(
    "make",
    [
        of(lambda x: -jnp.log1p((x - 2) ** 2), x=refti.real()),
        of(lambda x: -1.5 * jnp.log1p(jnp.sum(x**2)), x=refti.real(shape=(2,))),
        of(lambda x: -jnp.sum(jnp.log1p(x**2)), x=refti.real(shape=(2,))),
        of(lambda x: -2 * jnp.sum(jnp.log1p(x**2 / 3)), x=refti.real(shape=(2,))),
        of(lambda x: -0.5 * jnp.sum((x / jnp.array([1e-3, 1e3])) ** 2), x=refti.real(shape=(2,))),
        of(lambda a, u: -0.5 * a**2 + 0 * u, a=refti.real(), u=refti.interval(-3, 8)),
        of(lambda s: -jnp.log1p(s**2), s=refti.positive()),
        of(lambda s: -s, s=refti.positive()),
        of(lambda p: 0.3 * jnp.log(p[0]) + p[1], p=refti.simplex(3)),
        of(lambda x: -jnp.sum(jnp.abs(x)), x=refti.real(shape=(2,))),
        of(lambda x: -0.5 * x**2 - 0.5 * jnp.log(jnp.abs(x)), x=refti.real()),
    ],
    ids=[
        "Cauchy",
        "joint Cauchy",
        "two Cauchys",
        "Student 3",
        "scales of 1e-3 and 1e3",
        "bounded uniform",
        "half-Cauchy",
        "exponential",
        "simplex",
        "Laplace",
        "spike of finite mass",
    ],
)
def test_proper_densities_are_not_refused(make: Callable[[], refti.Model]):
    model = make()
    assert mode_of_proper(model).x.shape == (model.dim,)
