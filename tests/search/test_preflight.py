"""Preflight: wrong models are refused before any sampling, and right ones are not."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.distributions import Bernoulli

import refti
from refti.models.rejections import Rejections
from refti.search.preflight import preflight
from targets import TARGETS, Target, cut_gaussian, evaluate, quartic


def with_gradient(wrong: Callable[[jax.Array], jax.Array]) -> refti.Model:
    """A standard normal in two dimensions whose gradient is not its own."""

    @jax.custom_vjp
    def log_density(x):
        return -0.5 * jnp.sum(x**2)

    log_density.defvjp(lambda x: (log_density(x), x), lambda x, g: (g * wrong(x),))
    return refti.Model(lambda x: log_density(x), dim=2)


def starts(model: refti.Model, seed: int = 0) -> np.ndarray:
    return preflight(model, evaluate(model), np.random.default_rng(seed))


class TestRefused:
    """Models that no sampler should be given."""

    @pytest.mark.parametrize(
        "wrong",
        [lambda x: x, lambda x: -1.01 * x, lambda x: -x + jnp.array([0.0, 0.01]), jnp.zeros_like],
        ids=["sign", "1 percent", "one coordinate", "zero"],
    )
    def test_a_wrong_gradient(self, wrong):
        with pytest.raises(refti.ModelError, match="gradient"):
            starts(with_gradient(wrong))

    def test_a_wrong_gradient_by_evidence_before_it_samples(self):
        with pytest.raises(refti.ModelError, match="compiled gradient disagrees") as caught:
            refti.evidence(with_gradient(lambda x: x), progress=_must_not_run)
        assert "custom derivatives" in str(caught.value)
        assert "--xla_cpu_max_isa=AVX" in str(caught.value)

    def test_not_a_number_at_every_start(self):
        model = refti.Model(lambda x: jnp.sqrt(-1 - x[0] ** 2), dim=1)
        with pytest.raises(refti.ModelError, match="not finite at any of 32 start points"):
            starts(model)

    def test_what_the_models_own_code_said_of_the_starts_is_told(self):
        nowhere = refti.Model(lambda x: jnp.sqrt(-1 - x[0] ** 2), dim=1)
        looks = iter([Rejections(3, "earlier", (0.0,)), Rejections(35, "bad type", (0.5,))])
        model = refti.Model.assembled(
            nowhere.space, nowhere.density, source="a test", rejections=lambda: next(looks)
        )
        with pytest.raises(refti.ModelError, match=r"model rejected 32 points.*'bad type'"):
            starts(model)

    def test_a_support_that_no_start_meets_tells_where_it_looked(self):
        model = refti.Model(
            lambda x: jnp.where(x[0] > 1e3, -jnp.sum(x**2), -jnp.inf), dim=2, start=[7.25, 3.5]
        )
        with pytest.raises(refti.ModelError) as caught:
            starts(model)
        assert "[7.25 3.5 ]" in str(caught.value)
        assert "start=" in str(caught.value)

    @pytest.mark.parametrize(
        "log_density",
        [lambda x: 3.0 + 0 * x[0], lambda x: 1.0, lambda x: -jnp.floor(jnp.sum(x**2))],
        ids=["constant", "without x", "steps"],
    )
    def test_a_density_without_gradient(self, log_density):
        with pytest.raises(refti.ModelError, match="gradient of the log density is zero"):
            starts(refti.Model(log_density, dim=2))


class TestAccepted:
    """Right models, whatever their scale, height and corners."""

    @pytest.mark.parametrize("target", TARGETS, ids=str)
    def test_every_target(self, target: Target):
        assert len(starts(target.model())) == 32

    @pytest.mark.parametrize("offset", [0.0, 1e6, -1e6])
    @pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
    def test_any_scale_and_height(self, scale: float, offset: float):
        model = refti.Model(
            lambda x: offset - 0.5 * jnp.sum(((x - 3 * scale) / scale) ** 2) - x[0] / scale, dim=3
        )
        for seed in range(3):
            assert len(starts(model, seed)) == 32

    @pytest.mark.parametrize("at", [0.0, 1e-7, 3e-6, 1e-5])
    def test_a_kink_near_a_start(self, at: float):
        model = refti.Model(lambda x: -jnp.sum(jnp.abs(x - at)) - 0.1 * x[0], dim=2)
        for seed in range(5):
            assert len(starts(model, seed)) == 32

    def test_a_kink_at_the_default_start(self):
        model = refti.Model(lambda x: -jnp.sum(jnp.abs(x) / 2), dim=2)
        assert len(starts(model)) == 32

    def test_a_derivative_that_is_wrong_at_one_point(self):
        # NumPyro writes the likelihood of a logit by cases, and the derivative is wrong at 0.
        y = np.array([1, 1, 0, 1, 1])
        model = refti.Model(
            lambda x: Bernoulli(logits=x[0]).log_prob(y).sum() - 50 * x[0] ** 2, dim=1
        )
        slope = jax.grad(model.log_density)(jnp.zeros(1))
        assert abs(float(slope[0]) - 1.5) > 0.1
        found = starts(model)
        assert len(found) == 32
        assert not (found == 0).any()

    @pytest.mark.parametrize("at", [-1e-6, 0.0, 1e-6, 3e-6])
    def test_an_edge_near_a_start(self, at: float):
        model = refti.Model(
            lambda x: jnp.where(x[0] >= at, -0.5 * jnp.sum(x**2) - x[1], -jnp.inf), dim=2
        )
        for seed in range(5):
            assert len(starts(model, seed)) > 5

    def test_many_dimensions(self):
        assert len(starts(quartic(200))) == 32

    def test_starts_are_inside_and_best_first(self):
        model = cut_gaussian()
        found = starts(model)
        assert (found[:, 0] >= 0.3).all()
        values, _ = evaluate(model)(found)
        assert np.isfinite(values).all()
        assert (np.diff(values) <= 0).all()

    def test_other_starts_for_other_seeds(self):
        model = cut_gaussian()
        assert not np.array_equal(starts(model, 1), starts(model, 2))


def _must_not_run(stage: str, done: int, total: int) -> None:
    raise AssertionError("sampling began")
