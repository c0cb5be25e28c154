"""Ridge mixtures: Gaussians along a ridge that winds, also where no draw of the chains has been."""

from __future__ import annotations

from functools import cache

import jax
import numpy as np
import pytest

import refti
from refti.errors import ReferenceFitError
from refti.references import registry, ridge_mixture
from refti.references.broad_mixture import Parts
from refti.references.family import FitInputs
from refti.references.mixture import Mixture
from refti.references.ridge_growth import grow
from refti.references.ridge_mixture import learn, log_mixture, parts_of
from refti.search.mode import Mode

# The density is the normal of coordinates u, the second of them small, bent by u_2 + u_1 squared.
WIDTHS = np.array([2.0, 0.1])
LOG_Z = float(np.log(2 * np.pi) + np.log(WIDTHS).sum())


def bow(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A normal bent to a parabola, eight deviations high at its ends, and its gradient."""
    off = x[:, 1] - 0.5 * x[:, 0] ** 2
    values = -0.5 * (x[:, 0] / WIDTHS[0]) ** 2 - 0.5 * (off / WIDTHS[1]) ** 2
    fall = -off / WIDTHS[1] ** 2
    return values, np.stack([-x[:, 0] / WIDTHS[0] ** 2 - fall * x[:, 0], fall], axis=1)


def exact(count: int, seed: int) -> np.ndarray:
    """Exact draws [n, dim] of it."""
    u = np.random.default_rng(seed).normal(size=(count, 2)) * WIDTHS
    return np.stack([u[:, 0], u[:, 1] + 0.5 * u[:, 0] ** 2], axis=1)


def short_of_an_end(count: int, seed: int) -> np.ndarray:
    """Draws of chains that have left out the right one of its arms."""
    x = exact(2 * count, seed)
    return x[x[:, 0] < 1.0][:count]


def inputs() -> FitInputs:
    model = refti.Model(lambda x: 0.0 * x[0], dim=2)
    mode = Mode(np.zeros(2), 0.0, -np.diag(WIDTHS**-2), 0.0)
    return FitInputs(model, bow, mode, short_of_an_end(1000, 0))


@cache
def fitted() -> Mixture:
    found = registry.fit("ridge_mixture", inputs())
    assert isinstance(found, Mixture)
    return found


def log_ratio(x: np.ndarray) -> np.ndarray:
    """By how much the density is above the fitted mixture at points x[n, dim]."""
    with jax.enable_x64(True):
        return bow(x)[0] - np.asarray(jax.vmap(fitted().log_density)(x))


def test_it_goes_on_to_the_end_of_an_arm_that_the_draws_left_out():
    # The draws lack three tenths of the mass.
    x = exact(4000, 1)
    assert (log_ratio(x) < np.log(100)).mean() > 0.998
    assert np.mean(log_ratio(x)) < 0.3


def test_it_is_at_the_level_of_the_density():
    assert float(fitted().log_z) == pytest.approx(LOG_Z, abs=0.1)


def test_its_draws_are_not_beside_the_ridge():
    with jax.enable_x64(True):
        x = jax.vmap(fitted().sample)(jax.random.split(jax.random.key(0), 2000))
    weights = np.exp(log_ratio(np.asarray(x)))
    assert weights.sum() ** 2 / (weights**2).sum() > 0.6 * len(weights)


def test_only_ends_are_added_to_what_is_known_well():
    rng = np.random.default_rng(0)
    parts, level = learn(parts_of(exact(2000, 2)), bow, rng)
    known, level = learn(parts, bow, rng)
    grown = grow(known, level, bow, exact(2000, 2).std(axis=0))
    new = Parts(*(field[len(known.means) :] for field in grown))
    shares = np.exp(grown.log_weights) / np.exp(grown.log_weights).sum()
    assert shares[len(known.means) :].sum() < 0.02
    assert (np.abs(new.means[:, 0]) > 2.3 * WIDTHS[0]).all()


def test_what_is_outside_the_support_is_left_out():
    def half(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = bow(x)
        inside = x[:, 0] < 1.0
        return np.where(inside, values, -np.inf), np.where(inside[:, None], gradients, np.nan)

    rng, draws = np.random.default_rng(0), short_of_an_end(1000, 0)
    parts, level = learn(parts_of(draws), half, rng)
    parts, level = learn(grow(parts, level, half, draws.std(axis=0)), half, rng)
    assert np.isfinite(np.concatenate([field.ravel() for field in parts])).all()
    x = exact(4000, 1)
    share = (x[:, 0] < 1.0).mean()
    assert level == pytest.approx(LOG_Z + np.log(share), abs=0.1)
    outside = half(parts.means)[0] == -np.inf
    assert np.exp(parts.log_weights)[outside].sum() < 0.05
    assert np.isfinite(log_mixture(parts, x)).all()


def test_a_ridge_too_thin_for_numbers_gets_no_reference_but_no_crash(
    monkeypatch: pytest.MonkeyPatch,
):
    def flat(*given: object) -> Parts:
        raise np.linalg.LinAlgError("Matrix is not positive definite")

    monkeypatch.setattr(ridge_mixture, "grow", flat)
    with pytest.raises(ReferenceFitError, match="too thin"):
        registry.fit("ridge_mixture", inputs())
