"""Models whose density is not the same each time are refused in words, before any sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import refti

Y = np.array([0.3, 1.2, -0.4, 0.8, 1.9])
TWICE = r"the same number for the same values; got .* and then .* draw them once, outside"


def in_the_mean() -> None:
    pm.Normal("y", pm.Normal("a", 0, 1) + pm.Normal.dist(0, 1), 1, observed=Y)


def in_the_prior() -> None:
    pm.Normal("y", pm.Normal("a", pt.random.normal(), 1), 1, observed=Y)


@pytest.mark.parametrize("write", [in_the_mean, in_the_prior])
def test_random_numbers_inside_a_pymc_model(write: Callable[[], None]):
    with pm.Model() as model:
        write()
    with pytest.raises(refti.ModelError, match=r'no variables of it.*pm\.Normal\("name", 0, 1\)'):
        refti.from_pymc(model)


class Remembering:
    """A log density that depends on where it was asked before, as a solver's warm start does."""

    def __init__(self) -> None:
        self.last = 0.0

    def __call__(self, a: Any) -> float:
        value = -0.5 * a**2 - 0.1 * abs(self.last)
        self.last = float(a)
        return value


def test_a_function_that_remembers_where_it_was():
    model = refti.from_callable(Remembering(), {"a": refti.real()}, processes=1)
    with pytest.raises(refti.ModelError, match=rf"(?s){TWICE}.*reset that each time"):
        refti.evidence(model, progress=lambda *told: None)


def test_randomness_that_jax_does_not_see():
    rng = np.random.default_rng(1)

    @jax.custom_vjp
    def noise(x: Any) -> Any:
        shape = jax.ShapeDtypeStruct((), jnp.float64)
        return jax.pure_callback(lambda v: rng.normal(), shape, x, vmap_method="sequential")

    noise.defvjp(lambda x: (noise(x), None), lambda kept, slope: (jnp.zeros(1) * slope,))
    model = refti.Model(lambda x: -0.5 * jnp.sum(x**2) + noise(x), dim=1)
    with pytest.raises(refti.ModelError, match=TWICE):
        refti.evidence(model, progress=False)
