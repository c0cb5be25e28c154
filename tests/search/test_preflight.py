"""Preflight: wrong models are refused before any sampling, and right ones are not."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.models.model import ValueAndGradient
from refti.models.rejections import Rejections
from refti.search.preflight import preflight
from targets import cut_gaussian, evaluate, product


def made_of(value: Callable, gradient: Callable) -> ValueAndGradient:
    """A density of two parameters and what it gives for its gradient, in NumPy."""
    return lambda x: (np.apply_along_axis(value, 1, x), np.apply_along_axis(gradient, 1, x))


def family(log_density: Callable) -> Callable[..., ValueAndGradient]:
    """Densities of x that differ in some numbers only: one program serves them all."""
    program = jax.jit(
        lambda x, *numbers: jax.vmap(jax.value_and_grad(lambda one: log_density(one, *numbers)))(x)
    )

    def of(*numbers: float) -> ValueAndGradient:
        def both(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            with jax.enable_x64(True):
                values, gradients = program(jnp.asarray(x), *numbers)
            return np.asarray(values), np.asarray(gradients)

        return both

    return of


def starts(
    model: refti.Model | None = None, density: ValueAndGradient | None = None, seed: int = 0
) -> np.ndarray:
    """The starts of a model, or of a density of two parameters in its place."""
    model = NORMAL if model is None else model
    density = evaluate(model) if density is None else density
    return preflight(model, density, np.random.default_rng(seed))


NORMAL = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=2)
# A loop of no fixed length, as solvers have.
SOLVED = refti.Model(
    lambda x: jax.lax.while_loop(lambda y: y > 1e9, lambda y: y / 2, -0.5 * jnp.sum(x**2)), dim=2
)
SCALED = family(lambda x, c, h: h - 0.5 * jnp.sum(((x - 3 * c) / c) ** 2) - x[0] / c)
KINKED = family(lambda x, at: -jnp.sum(jnp.abs(x - at)) - 0.1 * x[0])
NOWHERE = made_of(lambda x: np.nan, lambda x: np.zeros(2))
CUT = family(lambda x, at: jnp.where(x[0] >= at, -0.5 * jnp.sum(x**2) - x[1], -jnp.inf))


def test_a_gradient_through_a_coarse_solver_is_no_wrong_gradient():
    # Off by 0.3 %, as Stan's is for Lotka and Volterra at tolerances of 1e-5 and 1e-3.
    noisy = made_of(lambda x: -0.5 * np.sum(x**2), lambda x: -x * [1.003, 0.998])
    assert len(starts(SOLVED, noisy)) > 1


def test_a_solver_may_give_a_wrong_gradient_at_two_points_of_three():
    def right_at(count: int) -> ValueAndGradient:
        """Right at so many of the best starts, wrong at the others."""
        distances = np.append(-1.0, np.sort(np.sum(starts() ** 2, axis=1)))
        farthest = np.mean(distances[count : count + 2])
        return made_of(
            lambda x: -0.5 * np.sum(x**2), lambda x: -x if np.sum(x**2) < farthest else 3 * x + 1
        )

    assert len(starts(SOLVED, right_at(1))) > 3
    with pytest.raises(refti.ModelError, match="disagrees with central differences"):
        starts(SOLVED, right_at(0))
    with pytest.raises(refti.ModelError, match="disagrees with central differences"):
        starts(NORMAL, right_at(2))


def test_a_custom_derivative_of_a_plain_program_may_not_be_off_by_a_hundredth():
    @jax.custom_vjp
    def squares(x):
        return jnp.sum(x**2)

    squares.defvjp(lambda x: (squares(x), x), lambda x, slope: (2.02 * slope * x,))
    wrong = refti.Model(lambda x: -0.5 * squares(x), dim=2)
    with pytest.raises(refti.ModelError, match="Check custom derivatives"):
        starts(wrong)


class TestRefused:
    """Models that no sampler should be given."""

    @pytest.mark.parametrize(
        "wrong",
        [lambda x: x, lambda x: -1.1 * x, lambda x: -x + np.array([0.0, 0.3])],
        ids=["sign", "10 percent", "one coordinate"],
    )
    def test_a_wrong_gradient(self, wrong):
        with pytest.raises(refti.ModelError, match="gradient disagrees with central differences"):
            starts(density=made_of(lambda x: -0.5 * np.sum(x**2), wrong))

    def test_a_wrong_gradient_by_evidence_before_it_samples(self):
        @jax.custom_vjp
        def log_density(x):
            return -0.5 * jnp.sum(x**2)

        log_density.defvjp(lambda x: (log_density(x), x), lambda x, g: (g * x,))
        model = refti.Model(lambda x: log_density(x), dim=2)
        with pytest.raises(refti.ModelError, match="compiled gradient disagrees") as caught:
            refti.evidence(model, progress=_must_not_run)
        assert "custom derivatives" in str(caught.value)
        assert "--xla_cpu_max_isa=AVX" in str(caught.value)

    def test_not_a_number_at_every_start(self):
        with pytest.raises(refti.ModelError, match="not finite at any of 32 start points"):
            starts(density=NOWHERE)

    def test_what_the_models_own_code_said_of_the_starts_is_told(self):
        looks = iter([Rejections(3, "earlier", (0.0,)), Rejections(35, "bad type", (0.5,))])
        model = refti.Model.assembled(
            NORMAL.space, NORMAL.density, source="a test", rejections=lambda: next(looks)
        )
        with pytest.raises(refti.ModelError, match=r"model rejected 32 points.*'bad type'"):
            starts(model, NOWHERE)

    def test_a_support_that_no_start_meets_tells_where_it_looked(self):
        model = refti.Model(lambda x: -jnp.sum(x**2), dim=2, start=[7.25, 3.5])
        with pytest.raises(refti.ModelError) as caught:
            starts(model, NOWHERE)
        assert "[7.25 3.5 ]" in str(caught.value)
        assert "start=" in str(caught.value)

    @pytest.mark.parametrize(
        "value",
        [lambda x: 3.0, lambda x: -np.floor(np.sum(x**2))],
        ids=["constant", "steps"],
    )
    def test_a_density_without_gradient(self, value):
        with pytest.raises(refti.ModelError, match="gradient of the log density is zero"):
            starts(density=made_of(value, np.zeros_like))

    def test_another_value_when_asked_again(self):
        # Known by values alone: its gradients are NaN, and its own values differ from these.
        by_values = made_of(lambda x: -0.5 * np.sum(x**2) - 0.01, lambda x: np.full(2, np.nan))
        with pytest.raises(refti.ModelError, match="The log density"):
            starts(density=by_values)


class TestAccepted:
    """Right models, whatever their scale, height and corners."""

    def test_bounded_parameters(self):
        assert len(starts(product())) == 32

    @pytest.mark.parametrize("height", [0.0, 1e6, -1e6])
    @pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
    def test_any_scale_and_height(self, scale: float, height: float):
        for seed in range(3):
            assert len(starts(density=SCALED(scale, height), seed=seed)) == 32

    @pytest.mark.parametrize("at", [0.0, 1e-7, 3e-6, 1e-5])
    def test_a_kink_near_a_start(self, at: float):
        for seed in range(5):
            assert len(starts(density=KINKED(at), seed=seed)) == 32

    def test_a_kink_at_the_default_start(self):
        kinked = made_of(lambda x: -np.sum(np.abs(x)) / 2, lambda x: -np.sign(x) / 2)
        assert len(starts(density=kinked)) == 32

    def test_a_derivative_that_is_wrong_at_one_point(self):
        # As NumPyro's Bernoulli, written by cases of the logit, has it at 0.
        found = starts(
            density=made_of(
                lambda x: x[0] - np.sum(x**2),
                lambda x: np.where(x == 0, 7.0, np.array([1.0, 0.0]) - 2 * x),
            )
        )
        assert len(found) == 32
        assert not (found == 0).any()

    @pytest.mark.parametrize("at", [-1e-6, 0.0, 1e-6, 3e-6])
    def test_an_edge_near_a_start(self, at: float):
        for seed in range(5):
            assert len(starts(density=CUT(at), seed=seed)) > 5

    def test_many_dimensions(self):
        model = refti.Model(lambda x: -jnp.sum(x**4), dim=200)
        assert len(starts(model, lambda x: (-np.sum(x**4, axis=1), -4 * x**3))) == 32

    def test_starts_are_inside_and_best_first(self):
        model = cut_gaussian()
        found = starts(model)
        assert (found[:, 0] >= 0.3).all()
        values, _ = evaluate(model)(found)
        assert np.isfinite(values).all()
        assert (np.diff(values) <= 0).all()

    def test_other_starts_for_other_seeds(self):
        density = made_of(lambda x: -0.5 * np.sum(x**2), lambda x: -x)
        assert not np.array_equal(starts(density=density, seed=1), starts(density=density, seed=2))

    def test_posterior_draws_in_place_of_starts(self):
        draws = np.random.default_rng(0).normal(size=(70, 2))
        density = made_of(lambda x: -0.5 * np.sum(x**2), lambda x: -x)
        found = preflight(NORMAL, density, np.random.default_rng(0), draws)
        assert 16 <= len(found) <= 32
        assert set(map(tuple, found)) <= set(map(tuple, draws))


def _must_not_run(stage: str, done: int, total: int) -> None:
    raise AssertionError("sampling began")
