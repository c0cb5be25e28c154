"""Proper densities: those that do not fall away are refused by name, and others are not."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.models.model import ValueAndGradient
from refti.search.mode import Mode, find_mode
from refti.search.preflight import preflight
from refti.search.proper import require_finite_parameters, require_proper


def of(log_density: Callable, **supports: object) -> refti.Model:
    return refti.Model(log_density, supports)


real, vector, positive = refti.real(), refti.real(shape=(2,)), refti.positive()

IMPROPER = {
    "flat axis": (of(lambda a, b: -0.5 * a**2 + 0 * b, a=real, b=real), "'b'"),
    "only a sum is known": (of(lambda a, b: -0.5 * (a + b - 1) ** 2, a=real, b=real), "'a'"),
    "only a sum in a vector is known": (
        of(lambda w: -0.5 * (w[0] + w[1]) ** 2, w=vector),
        r"'w\[[01]\]'",
    ),
    "log-uniform": (of(lambda a, s: -0.5 * a**2 - jnp.log(s), a=real, s=positive), "'s'"),
    "log-uniform towards zero": (
        of(
            lambda a, s: -0.5 * a**2 - jnp.log(s) - 0.5 * (jnp.log(s) > 0) * jnp.log(s) ** 2,
            a=real,
            s=positive,
        ),
        "'s'",
    ),
    "flat towards infinity": (of(lambda a, s: -0.5 * a**2 - 3 / s, a=real, s=positive), "'s'"),
    "falls like 1 / x": (
        of(lambda p, c: jnp.log(p) - jnp.log1p(c**2) / 2, p=refti.interval(0, 1), c=real),
        "'c'",
    ),
}
PROPER = {
    "Cauchy": of(lambda a, x: -0.5 * a**2 - jnp.log1p((x - 2) ** 2), a=real, x=real),
    "joint Cauchy": of(lambda x: -1.5 * jnp.log1p(jnp.sum(x**2)), x=vector),
    "two Cauchys": of(lambda x: -jnp.sum(jnp.log1p(x**2)), x=vector),
    "Student 3": of(lambda x: -2 * jnp.sum(jnp.log1p(x**2 / 3)), x=vector),
    "scales of 1e-3 and 1e3": of(
        lambda x: -0.5 * jnp.sum((x / jnp.array([1e-3, 1e3])) ** 2), x=vector
    ),
    "bounded uniform": of(lambda a, u: -0.5 * a**2 + 0 * u, a=real, u=refti.interval(-3, 8)),
    "half-Cauchy": of(lambda a, s: -0.5 * a**2 - jnp.log1p(s**2), a=real, s=positive),
    "exponential": of(lambda a, s: -0.5 * a**2 - s, a=real, s=positive),
    "simplex": of(lambda p: 0.3 * jnp.log(p[0]) + p[1], p=refti.simplex(3)),
    "Laplace": of(lambda x: -jnp.sum(jnp.abs(x)), x=vector),
    "scales of 1e9 and 1": of(lambda x: -0.5 * jnp.sum((x / jnp.array([1e9, 1])) ** 2), x=vector),
    "scale of 1e12, far from the start": of(
        lambda x: -0.5 * jnp.sum(((x - jnp.array([3e12, 0])) / jnp.array([1e12, 1])) ** 2), x=vector
    ),
    "scales of 1e9 and 1, turned": of(
        lambda x: -0.5 * ((x[0] + 2 * x[1]) / 1e9) ** 2 - 0.5 * (2 * x[0] - x[1]) ** 2, x=vector
    ),
    "exp(-|x|^0.3)": of(lambda a, x: -0.5 * a**2 - jnp.abs(x) ** 0.3, a=real, x=real),
    "spike of finite mass": of(
        lambda a, x: -0.5 * a**2 - 0.5 * x**2 - 0.5 * jnp.log(jnp.abs(x)), a=real, x=real
    ),
}
_DOSES = np.linspace(-2.0, 2.0, 9)
IMPROPER |= {
    "separable data": (
        of(
            lambda w: -jnp.sum(jnp.log1p(jnp.exp(-jnp.sign(_DOSES) * (w[0] + w[1] * _DOSES)))),
            w=vector,
        ),
        r"'w\[[01]\]'",
    ),
    "cosine without decay": (of(lambda a, x: -0.5 * a**2 + jnp.cos(x), a=real, x=real), "'x'"),
}
RISING = of(lambda a, s: -0.5 * a**2 + 0 * s, a=real, s=positive)
MOST = 32  # points at once, so that one program serves
MODELS = [*(model for model, _ in IMPROPER.values()), *PROPER.values(), RISING]


@jax.jit
def values_and_gradients(which, x):
    """All of the models in one program, which is compiled once."""
    branches = [model.log_density for model in MODELS]
    return jax.vmap(jax.value_and_grad(lambda one: jax.lax.switch(which, branches, one)))(x)


def evaluate_one(model: refti.Model) -> ValueAndGradient:
    which = [model is other for other in MODELS].index(True)

    def both(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        padded = np.zeros((MOST, x.shape[1]))
        padded[: len(x)] = x
        with jax.enable_x64(True):
            values, gradients = (
                np.asarray(a)[: len(x)] for a in values_and_gradients(which, padded)
            )
        usable = np.isfinite(values) & np.isfinite(gradients).all(axis=1)
        values = np.where(np.isfinite(values), values, -np.inf)
        return values, np.where(usable[:, None], gradients, 0.0)

    return both


def mode_of(model: refti.Model, density: ValueAndGradient, seed: int = 0) -> Mode:
    """The mode uphill of the best start, after the density was seen to be proper."""
    mode = find_mode(density, preflight(model, density, np.random.default_rng(seed))[0])
    require_proper(model, density, mode, np.random.default_rng(seed))
    return mode


@pytest.mark.parametrize(("model", "named"), IMPROPER.values(), ids=IMPROPER)
def test_improper_densities_are_refused_by_the_name_of_a_parameter(model: refti.Model, named: str):
    with pytest.raises(refti.ModelError, match=rf"does not exist.*parameter {named}"):
        mode_of(model, evaluate_one(model))


@pytest.mark.parametrize("model", PROPER.values(), ids=PROPER)
def test_proper_densities_are_not_refused(model: refti.Model):
    mode = mode_of(model, evaluate_one(model))
    with jax.enable_x64(True):
        require_finite_parameters(model, mode)
    assert mode.x.shape == (2,)


def test_density_that_rises_until_it_overflows_is_refused_by_the_name_of_a_parameter():
    # Flat in s is rising in log s, to where s itself is no longer a number.
    mode = find_mode(evaluate_one(RISING), np.zeros(2))
    refused = pytest.raises(refti.ModelError, match=r"does not exist.*parameter 's'")
    with refused, jax.enable_x64(True):
        require_finite_parameters(RISING, mode)


def test_some_axes_of_very_many_are_looked_along():
    model = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=260)
    looked_at = []

    def density(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        looked_at.append(len(x))
        return -0.5 * np.sum(x**2, axis=1), -x

    mode = Mode(np.zeros(260), 0.0, -np.eye(260), 0.0)
    require_proper(model, density, mode, np.random.default_rng(0))
    assert looked_at == [2 * (256 + 3)] * 4


@pytest.mark.parametrize("scale", [1e-9, pytest.param(1e9, marks=pytest.mark.long), 1e12])
def test_the_evidence_of_a_normal_of_any_scale(scale: float):
    model = refti.Model(lambda x: -0.5 * jnp.sum((x / scale - 3.0) ** 2), dim=1)
    result = refti.evidence(model, search="quick", seed=1, progress=False)
    assert result.trusted
    truth = 0.5 * np.log(2 * np.pi) + np.log(scale)
    assert abs(result.log_z - truth) < 4 * result.error
