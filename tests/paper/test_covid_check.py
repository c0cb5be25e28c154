"""The pieces of the independent check of the COVID-19 evidences, on integrals that are known."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.covid_check import finished
from benchmarks.covid_cost import Rung, recipe_total
from benchmarks.log_cases import Coordinates
from benchmarks.nested_bridge import Nested, Whole, bridge, fixed_point
from benchmarks.skewed import Margin, Skewed
from scipy.stats import gamma

from refti.paper.covid import model as covid

INNER = np.array([False, False, True, True, True, True])
LOG_Z = 3.7
SHAPES = np.array([2.0, 4.0])
CORRELATED = np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4))))


def log_density(x):
    """Two log-gamma coordinates; given them four correlated ones whose width is the first's."""
    outer, inner = x[:2], x[2:]
    u = jnp.linalg.solve(CORRELATED, inner - outer[1]) / jnp.exp(outer[0])
    log_gamma = jnp.sum(SHAPES * outer - jnp.exp(outer) - jax.scipy.special.gammaln(SHAPES))
    log_normal = -0.5 * jnp.sum(u**2 + jnp.log(2 * jnp.pi)) - 4 * outer[0]
    return LOG_Z + log_gamma + log_normal - np.log(np.diag(CORRELATED)).sum()


def exact_draws(rng: np.random.Generator, chains: int, kept: int) -> np.ndarray:
    outer = np.log(gamma.rvs(SHAPES, size=(chains, kept, 2), random_state=rng))
    u = rng.normal(size=(chains, kept, 4)) * np.exp(outer[..., :1])
    return np.concatenate([outer, outer[..., 1:] + u @ CORRELATED.T], axis=-1)


def test_a_density_of_known_integral_with_skewed_margins_is_bridged_within_its_error() -> None:
    rng = np.random.default_rng(1)
    x = exact_draws(rng, 16, 60)
    with jax.enable_x64(True):
        found = bridge(Nested.of(log_density, INNER, x[:8]), x[8:], rng)
    assert abs(found.value - LOG_Z) < 4 * found.error
    assert 0 < found.error < 0.03  # 0.15 is asked for; only the two outer coordinates are guessed
    assert found.overlap > 0.9


def test_few_coordinates_can_be_bridged_whole() -> None:
    rng = np.random.default_rng(8)
    x = exact_draws(rng, 16, 400)
    with jax.enable_x64(True):
        found = bridge(Whole.of(log_density, x[:8]), x[8:], rng)
    assert abs(found.value - LOG_Z) < 4 * found.error
    assert 0 < found.error < 0.1
    assert found.gradients == 0


def test_two_samples_of_gaussians_give_the_ratio_of_their_integrals() -> None:
    rng = np.random.default_rng(4)
    # q = exp(1.5) N(0.5, 1) against g = N(0, 1): log q - log g = 1.5 + x / 2 - 1 / 8.
    at_draws, at_proposed = (1.375 + 0.5 * rng.normal(mean, 1, 20_000) for mean in (0.5, 0.0))
    assert fixed_point(at_draws, at_proposed) == pytest.approx(1.5, abs=0.02)


def test_a_skewed_proposal_integrates_to_one_and_draws_what_it_says() -> None:
    x = exact_draws(np.random.default_rng(5), 1, 4000)[0, :, :2]
    fitted = Skewed.of(x)
    drawn = fitted.draw(np.random.default_rng(6), 20_000)
    spread = Skewed(fitted.margins, fitted.centre, 1.3 * fitted.scale)
    ratio = np.exp(spread.log_density(drawn) - fitted.log_density(drawn))
    assert ratio.mean() == pytest.approx(1.0, abs=4 * ratio.std() / np.sqrt(len(ratio)))
    assert drawn.mean(axis=0) == pytest.approx(x.mean(axis=0), abs=0.06)


def test_a_margin_undoes_itself() -> None:
    margin = Margin(centre=1.0, width=2.0, skew=-0.4, tail=0.8)
    x = np.linspace(-20.0, 20.0, 9)
    assert margin.back(margin.normalised(x)[0]) == pytest.approx(x)


@pytest.mark.parametrize("name", ["GI=8", "AR(3)"])
def test_the_coordinates_of_log_cases_keep_volume_and_give_back_the_point(name: str) -> None:
    variant = covid.variant(name)
    model = covid.model(variant)
    x = model.start + 0.1 * np.random.default_rng(7).normal(size=(2, model.dim))
    with jax.enable_x64(True):
        coordinates = Coordinates.of(model, variant)
        y = coordinates.to_y(x)
        back = jax.jit(jax.vmap(coordinates.to_x))(jnp.asarray(y))
        jacobian = jax.jit(jax.jacfwd(coordinates.to_x))(jnp.asarray(y[0]))
    assert np.asarray(back) == pytest.approx(x, abs=1e-8)
    assert np.linalg.slogdet(jacobian)[1] == pytest.approx(0.0, abs=1e-9)
    assert not np.allclose(x, y)


def test_a_line_cut_short_is_measured_again_and_the_others_are_not(tmp_path) -> None:
    path = tmp_path / "check.jsonl"
    path.write_text('{"name": "W=7", "value": -1.5}\n{"name": "GI=8", "val', encoding="utf-8")
    assert finished(path) == {"W=7": {"name": "W=7", "value": -1.5}}
    assert finished(tmp_path / "none.jsonl") == {}


def test_rungs_left_out_are_interpolated_and_short_ones_scaled_to_the_recipe() -> None:
    measured = [
        Rung("GI=8", rung, 200, gradients, gradients, 1.0)
        for rung, gradients in ((1.0, 300), (0.0, 100), (0.5, 100))
    ]
    # At 2,000 iterations: 1,000 on six rungs, then 1,400, 1,800, 2,200, 2,600 and 3,000.
    assert recipe_total(measured, "gradients") == pytest.approx(17_000)
