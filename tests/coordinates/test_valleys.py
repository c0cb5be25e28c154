"""Valleys that bend, along the coordinates or at a slant, straightened by curvatures."""

from __future__ import annotations

import numpy as np
import pytest

import refti
from refti import suite
from refti.coordinates.curvature import Curvature, measure_curvature
from refti.coordinates.links import Links
from refti.coordinates.map import Layer, Map, from_latent, to_latent
from refti.coordinates.parabolas import Parabolas
from refti.coordinates.slanting import fit_slanting
from refti.coordinates.tuning import TUNING
from refti.coordinates.valleys import fit_valleys
from refti.models.model import Model
from targets import evaluate

pytestmark = pytest.mark.usefixtures("x64")


def rosenbrock_draws(dim: int, count: int, seed: int = 0) -> np.ndarray:
    """Exact draws of the suite's target: x[1] about x[0]^2 / 2, x[2] about x[1]^2 / 2, ..."""
    noise = np.random.default_rng(seed).normal(size=(count, dim))
    widths = np.geomspace(0.6, 0.3, dim - 1)
    x = 1 + noise
    for k in range(1, dim):
        parent = 0 if k % 2 else k - 1
        x[:, k] = 0.5 * x[:, parent] ** 2 + widths[k - 1] * noise[:, k]
    return x


def slanting(dim: int) -> tuple[Model, np.ndarray]:
    """The same, turned, and the turn: its own coordinates are x @ turn.T."""
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(dim, dim)))[0]
    return suite.rosenbrock(dim, slanting=True).model(), turn


def log_density_of_latent(model: Model, layers: tuple[Layer, ...], v: np.ndarray) -> np.ndarray:
    x, log_jacobian = from_latent(Map(layers, ""), v)
    return evaluate(model)(x)[0] + log_jacobian


def is_normal(model: Model, layers: tuple[Layer, ...], draws: np.ndarray, v: np.ndarray) -> bool:
    """Whether the density is normal in latent coordinates: its log a quadratic function there.

    The function is fitted at draws, and holds at v, which are further out.
    """
    latent = to_latent(Map(layers, ""), draws)
    dim = latent.shape[1]
    pairs = np.triu_indices(dim)

    def features(u: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(u)), u, (u[:, :, None] * u[:, None, :])[:, *pairs]])

    values = log_density_of_latent(model, layers, latent)
    fitted = np.linalg.lstsq(features(latent), values, rcond=None)[0]
    beyond = log_density_of_latent(model, layers, v)
    off = np.abs(features(v) @ fitted - beyond)
    return bool(off.max() < 0.05 * (beyond.max() - beyond.min()))


class TestAlongTheCoordinates:
    @pytest.mark.parametrize("dim", [2, 5, 20])
    def test_valleys_come_out_in_the_order_in_which_they_hang_on_each_other(self, dim: int):
        model, draws = suite.rosenbrock(dim).model(), rosenbrock_draws(dim, 300)
        layers = fit_valleys(draws, measure_curvature(evaluate(model), draws))
        assert layers is not None
        assert isinstance(layers[0], Links)
        links = layers[0]
        followed = {
            k: np.asarray(links.parents)[np.flatnonzero(links.bends[k])].tolist()
            for k in range(dim)
        }
        assert followed == {0: []} | {k: [0 if k % 2 else k - 1] for k in range(1, dim)}
        assert links.depth == min(2, dim - 1)

    def test_they_are_straight_far_beyond_the_draws(self):
        model, draws = suite.rosenbrock(5).model(), rosenbrock_draws(5, 300)
        draws = draws[draws[:, 0] < 2]  # as of chains that do not get to the ends
        layers = fit_valleys(draws, measure_curvature(evaluate(model), draws))
        assert layers is not None
        far = np.random.default_rng(2).normal(size=(50, 5)) * 3
        assert is_normal(model, layers, draws, far)

    @pytest.mark.parametrize("target", ["gaussian", "skewed_20", "eight_schools"])
    def test_what_does_not_bend_has_none(self, target: str):
        model = suite.find(target).model()
        draws = np.random.default_rng(1).normal(size=(200, model.dim))
        curvature = measure_curvature(evaluate(model), draws)
        assert fit_valleys(draws, curvature) is None
        assert fit_slanting(draws, curvature) is None


class TestAtASlant:
    @pytest.mark.parametrize("dim", [5, *(pytest.param(d, marks=pytest.mark.long) for d in (2, 8))])
    def test_they_are_straight_far_beyond_the_draws(self, dim: int):
        model, turn = slanting(dim)
        own = rosenbrock_draws(dim, 600)
        own = own[own[:, 0] < 2.5]
        draws = own @ turn
        layers = fit_slanting(draws, measure_curvature(evaluate(model), draws))
        assert layers is not None
        assert isinstance(layers[0], Parabolas)
        latent = to_latent(Map(layers, ""), draws)
        far = latent.mean(axis=0) + 2 * (latent[:50] - latent.mean(axis=0))
        assert is_normal(model, layers, draws, far)

    def test_bananas_of_the_suite(self):
        model = suite.find("banana_10").model()
        draws = np.random.default_rng(0).normal(size=(300, 10))
        layers = fit_slanting(draws, measure_curvature(evaluate(model), draws))
        assert layers is not None
        far = 3 * np.random.default_rng(2).normal(size=(50, 10))
        assert is_normal(model, layers, draws, far)

    def test_too_few_points_tell_nothing(self):
        model, turn = slanting(5)
        draws = rosenbrock_draws(5, 300) @ turn
        whole = measure_curvature(evaluate(model), draws)
        assert whole is not None
        few = Curvature(whole.x[:8], whole.gradient[:8], whole.hessian[:8])
        assert fit_slanting(draws, few) is None
        assert fit_slanting(draws, None) is None


@pytest.mark.long
def test_a_run_goes_to_the_ends_of_slanting_valleys():
    """In its own coordinates the run is trusted and low by two errors, 2 % of the mass unseen."""
    model, turn = slanting(5)
    result = refti.evidence(model, seed=2, search="quick", progress=False)
    assert result.trusted
    assert "valleys" in result.found["coordinates"]
    assert result.log_z == pytest.approx(suite.rosenbrock(5).log_z, abs=0.02)
    stem = np.asarray(result.posterior["x"]).reshape(-1, 5) @ turn[0]
    assert np.mean(stem > 3) == pytest.approx(0.0228, abs=0.015)


def test_no_valleys_are_looked_for_in_more_dimensions_than_a_program_can_chain():
    dim = TUNING.most_in_valleys + 1
    x = np.random.default_rng(1).normal(size=(8, dim))
    flat = Curvature(x, -x, np.broadcast_to(-np.eye(dim), (8, dim, dim)).copy())
    flat.hessian[:, 0, 1] = flat.hessian[:, 1, 0] = x[:, 0]  # x[1] about x[0]^2 / 2
    assert fit_valleys(x, flat) is None
    fewer = Curvature(x[:, :2], -x[:, :2], flat.hessian[:, :2, :2])
    assert fit_valleys(x[:, :2], fewer) is not None


def test_curvatures_that_do_not_change_or_are_beyond_numbers_tell_of_no_valley():
    draws = np.random.default_rng(0).standard_cauchy((400, 4))
    same = np.broadcast_to(-np.eye(4), (60, 4, 4)).copy()
    assert fit_slanting(draws, Curvature(draws[:60], -draws[:60], same)) is None
    far = same.copy()
    far[0, 0, 0] = -1e200
    assert fit_slanting(draws, Curvature(draws[:60], -draws[:60], far)) is None
