"""Functions that draw random numbers while JAX traces them are noticed, and no others."""

import itertools
import random
import time
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.models.determinism import is_same_program, run_afresh

GLOBAL = np.random.default_rng(1)
COUNT = itertools.count()


def of_numpy(x):
    return -0.5 * jnp.sum((x - np.random.normal()) ** 2)


def of_python(x):
    return -0.5 * jnp.sum((x - random.random()) ** 2)


def of_a_generator(x):
    return -0.5 * jnp.sum((x - GLOBAL.normal(size=2)) ** 2)


def of_the_clock(x):
    key = jax.random.key(time.perf_counter_ns() % 2**31)
    return -0.5 * jnp.sum((x - jax.random.normal(key, (2,))) ** 2)


@jax.jit
def in_a_jitted_function(x):
    return -0.5 * jnp.sum((x - np.random.normal(size=2)) ** 2)


def in_a_loop(x):
    noise = np.random.normal()
    return jax.lax.fori_loop(0, 3, lambda _, total: total - jnp.sum((x - noise) ** 2), 0.0)


def in_its_choice_of_a_branch(x):
    return jnp.sum(-(x**2)) if next(COUNT) % 2 else jnp.sum(-(x**4))


@pytest.mark.parametrize(
    "function",
    [
        of_numpy,
        of_python,
        of_a_generator,
        of_the_clock,
        in_a_jitted_function,
        in_a_loop,
        in_its_choice_of_a_branch,
    ],
)
def test_a_function_that_draws_random_numbers_is_refused(function):
    for _ in range(2):  # what JAX remembers of the first refusal must not hide the second
        with pytest.raises(refti.ModelError, match=r"log_density must give the same number"):
            refti.Model(function, dim=2)


def test_the_factor_that_draws_them_is_named():
    with pytest.raises(refti.ModelError, match=r"^log_likelihood must give the same number"):
        refti.Model(log_prior=lambda x: -x @ x, log_likelihood=of_numpy, dim=2)


def fixed_seed(x):
    return -0.5 * jnp.sum((x - np.random.default_rng(0).normal(size=2)) ** 2)


def fixed_key(x):
    return -0.5 * jnp.sum((x - jax.random.normal(jax.random.key(3), (2,))) ** 2)


def written_otherwise(x):
    return -jnp.sum(x**2) if next(COUNT) % 2 else jnp.sum(x * (-x))


def with_a_rule_of_its_own(x):
    @jax.custom_jvp
    def square(x):
        return x**2

    square.defjvps(lambda t, value, x: 2 * x * t)
    return -jnp.sum(square(x))


@pytest.mark.parametrize(
    "function", [fixed_seed, fixed_key, written_otherwise, with_a_rule_of_its_own]
)
def test_what_is_the_same_each_time_is_taken(function, x64):
    model = refti.Model(function, dim=2)
    x = np.array([0.5, -1.0])
    assert float(model.log_density(x)) == pytest.approx(float(function(x)), rel=1e-12)


def test_a_warning_of_the_function_is_given_once():
    def doubtful(x):
        warnings.warn("mind the gap", stacklevel=1)
        return -jnp.sum(x**2)

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        refti.Model(doubtful, dim=2)
    assert [str(warning.message) for warning in given] == ["mind the gap"]


def test_programs_with_other_numbers_inside_are_told_apart():
    def program(shift):
        inner = jax.jit(lambda x: x - shift)
        return jax.make_jaxpr(lambda x: inner(x))(jnp.zeros(2))

    one = program(np.array([1.0, 2.0]))
    assert is_same_program(one, program(np.array([1.0, 2.0])))
    assert not is_same_program(one, program(np.array([1.0, 3.0])))


@pytest.mark.parametrize("setting", ["allow", "warn", "raise"])
def test_whatever_the_users_settings_functions_are_run_afresh(setting: str):
    runs = []

    @jax.jit
    def remembered(x):
        runs.append(1)
        return x

    with jax.numpy_rank_promotion(setting):
        jax.make_jaxpr(remembered)(1.0)
        with run_afresh():
            jax.make_jaxpr(remembered)(1.0)
        assert jax.config.jax_numpy_rank_promotion == setting
    assert len(runs) == 2
