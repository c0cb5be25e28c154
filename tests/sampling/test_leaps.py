"""Leaps leave a rung's density as it is, stay inside the support, and have keys of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import refti
from refti.paths.path import Leg
from refti.references.gaussian import Gaussian, gaussian
from refti.sampling.block import Rung
from refti.sampling.density_along_leg import whitened
from refti.sampling.kernels import gradient_kernel
from refti.sampling.kernels.chains import Chains, Moved
from refti.sampling.kernels.leap import Leaps, draw_leaps, no_leaps, take_leaps
from refti.sampling.kernels.step_size import fresh_step_size
from refti.sampling.leg import LegState, Scan, choose_leaps
from refti.sampling.metering import Meter
from refti.sampling.whitening import whitening
from targets import CUT, cut_gaussian

pytestmark = pytest.mark.usefixtures("x64")

CHAINS = 4000
SHAPES = np.array([1.5, 4.0])
START = gaussian(np.array([0.2, 1.0]), np.array([[1.1, 0.0], [0.3, 0.7]]), 0.4)
# In coordinates that are neither the reference's nor the model's.
WHITENING = whitening(np.array([0.1, 1.2]), np.array([[0.9, 0.0], [0.4, 0.6]]))
INVERSE = np.linalg.inv(np.asarray(WHITENING.factor))


@cache
def log_gamma_leg() -> Leg:
    return Leg(START, refti.Model(lambda x: jnp.sum(SHAPES * x - jnp.exp(x)), dim=2).density)


class After(NamedTuple):
    """Chains after some leaps, and the share of them that was taken."""

    x: np.ndarray
    state: Chains
    taken: float


def leaps(leg: Leg, lam: float, x: np.ndarray, *, by: float | None = None) -> After:
    """Chains after six leaps each on the rung lam, accepted by the power `by`."""
    u = jnp.asarray((x - WHITENING.location) @ INVERSE.T)
    drawn = draw_leaps(leg.start, WHITENING, jax.random.key(3), INVERSE, count=6, chains=len(x))
    power = jnp.asarray(lam if by is None else by)
    state, taken = _six_leaps(leg, jnp.asarray(lam), power, u, drawn)
    x = np.asarray(WHITENING.location + state.u @ WHITENING.factor.T)
    return After(x, state, float(taken.mean()))


@jax.jit
def _six_leaps(
    leg: Leg, lam: jax.Array, by: jax.Array, u: jax.Array, drawn: tuple[jax.Array, jax.Array]
) -> tuple[Chains, jax.Array]:
    density = whitened(leg, lam, *WHITENING)
    at = jax.vmap(lambda u: Chains(u, *density(u)))

    def once(state: Chains, drawn: tuple[jax.Array, jax.Array]) -> tuple[Chains, jax.Array]:
        there, luck = drawn
        after = take_leaps(Leaps(at(there), luck), by, state)
        return after, jnp.any(after.u != state.u, axis=1).mean()

    return jax.lax.scan(once, at(u), drawn)


class RungOnGrid:
    """The density between the ends, by a grid fine beside what draws can tell."""

    def __init__(self, lam: float):
        self.axes = np.linspace(-12, 6, 601), np.linspace(-7, 6, 601)
        points = np.stack(np.meshgrid(*self.axes, indexing="ij"), -1).reshape(-1, 2)
        start = stats.multivariate_normal(START.mean, START.factor @ START.factor.T).logpdf(points)
        logs = (1 - lam) * start + lam * np.sum(SHAPES * points - np.exp(points), axis=1)
        self.shares = np.exp(logs - np.logaddexp.reduce(logs)).reshape(601, 601)

    def draw(self, count: int) -> np.ndarray:
        rng = np.random.default_rng(5)
        at = rng.choice(self.shares.size, size=count, p=self.shares.ravel())
        jitter = rng.random((count, 2)) - 0.5
        rows = np.stack(np.unravel_index(at, self.shares.shape), axis=1)
        return np.stack(
            [a[i] + (a[1] - a[0]) * j for a, i, j in zip(self.axes, rows.T, jitter.T, strict=True)],
            axis=1,
        )

    def p_value(self, x: np.ndarray) -> float:
        """The smallest of the two marginals' Kolmogorov-Smirnov tests."""
        found = []
        for k, axis in enumerate(self.axes):
            share = np.cumsum(self.shares.sum(axis=1 - k))
            middles = axis + 0.5 * (axis[1] - axis[0])
            cdf = lambda v, m=middles, c=share: np.interp(v, m, c)  # noqa: E731
            found.append(stats.kstest(x[:, k], cdf).pvalue)
        return min(found)


@pytest.mark.parametrize("lam", [0.3, 1.0])
def test_exact_draws_stay_exact_draws_and_a_wrong_power_would_be_seen(lam: float):
    leg, rung = log_gamma_leg(), RungOnGrid(lam)
    exact = rung.draw(CHAINS)
    right = leaps(leg, lam, exact)
    # One in a hundred thousand for each of eight tests.
    assert rung.p_value(exact) > 1e-5
    assert rung.p_value(right.x) > 1e-5
    assert 0.3 < right.taken < 0.999
    for wrong in (0.0, 2 * lam):
        assert rung.p_value(leaps(leg, lam, exact, by=wrong).x) < 1e-5


def test_the_state_after_a_leap_is_that_of_its_point():
    leg, lam = log_gamma_leg(), 0.3
    after = leaps(leg, lam, RungOnGrid(lam).draw(CHAINS))
    end = np.sum(SHAPES * after.x - np.exp(after.x), axis=1)
    start = np.asarray(jax.vmap(START.log_density)(jnp.asarray(after.x)))
    np.testing.assert_allclose(after.state.delta, end - start, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(after.state.log_density, (1 - lam) * start + lam * end, rtol=1e-9)
    precision = np.linalg.inv(START.factor @ START.factor.T)
    slope = -(1 - lam) * (after.x - START.mean) @ precision + lam * (SHAPES - np.exp(after.x))
    np.testing.assert_allclose(after.state.gradient, slope @ WHITENING.factor, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("lam", [0.4, 1.0])
def test_leaps_stay_inside_the_support(lam: float):
    # Two fifths of the reference's draws lie outside.
    start = gaussian(np.array([0.5, 0.3]), np.array([[1.0, 0.0], [0.6, 0.8]]), 0.0)
    leg = Leg(start, cut_gaussian().density)
    x = np.array([5.0, 2.0]) + np.random.default_rng(1).normal(size=(500, 2))
    x[:, 0] = np.maximum(x[:, 0], CUT)
    after = leaps(leg, lam, x)
    assert after.taken > 0.2
    assert (after.x[:, 0] >= CUT).all()
    assert after.x[:, 0].min() < CUT + 0.1
    assert np.isfinite(after.state.log_density).all()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class KeysDrawn(Gaussian):
    """A reference whose draws are the keys that it draws by."""

    def sample(self, key: jax.Array) -> jax.Array:
        return bits(key)


def bits(key: jax.Array) -> jax.Array:
    return jax.random.key_data(key).astype(jnp.float64)


def test_keys_of_leaps_are_none_of_those_of_moves():
    """A key that was folded in once equalled one that a split gave: each leap then repeated the
    randomness of a move, which biased every estimate.
    """

    def move(key, chain, look_at, size, length, most_steps):
        told = Moved(jnp.ones(()), jnp.zeros((), bool), jnp.zeros(()), jnp.zeros((), int))
        first, second = bits(jax.random.split(key)[0])  # as a trajectory draws its momentum
        return Chains(bits(key), first, chain.gradient, second), told

    chains, count = 3, 5
    none = Chains(np.zeros((chains, 2)), np.zeros(chains), np.zeros((chains, 2)), np.zeros(chains))
    unit = whitening(np.zeros(2), np.eye(2))
    one, zero = jnp.ones(()), jnp.zeros(())
    _, _, trace = gradient_kernel._advance(
        *(log_gamma_leg(), one, unit, none, fresh_step_size(0.5, Meter()), jax.random.key(4)),
        *(one, jnp.asarray(8), 0.8 * one, zero > 0, zero > 0, no_leaps(count, chains, 2)),
        move=move,
        count=count,
    )
    start = KeysDrawn(START.mean, START.factor, START.inverse_factor, START.log_height)
    u, _ = draw_leaps(start, unit, jax.random.key(4), np.eye(2), count=count, chains=chains)
    of_moves = np.concatenate(
        [
            np.asarray(trace.x).reshape(-1, 2),
            np.stack([trace.log_density, trace.delta], axis=-1).reshape(-1, 2),
        ]
    )
    of_leaps = np.asarray(u).reshape(-1, 2)
    assert len({tuple(key) for key in (*of_moves, *of_leaps)}) == 3 * chains * count


def leg_state(lambdas: tuple[float, ...], delta: np.ndarray) -> LegState:
    """A leg with one scan of delta[rung, chain, draw], the first those of exact draws."""
    nothing = np.zeros(0)
    rungs = tuple(Rung(lam, "hmc", None, None, None) for lam in lambdas)  # type: ignore[arg-type]
    scan = Scan(delta, *(nothing,) * 6)
    return LegState(Leg(START, START), 0, rungs, scans=(scan,))


def normal_deltas(lambdas: tuple[float, ...], size: float) -> np.ndarray:
    """delta of a leg between two Gaussians: normal, its mean moving with lambda by size^2."""
    rng = np.random.default_rng(2)
    means = size**2 * (np.array([0.0, *lambdas]) - 0.5)
    return means[:, None, None] + size * rng.normal(size=(len(means), 8, 250))


class TestChooseLeaps:
    """Leaps are tried where one in twenty would be taken: 2 Phi(-lam size / sqrt 2) of them."""

    @pytest.mark.parametrize(
        ("size", "leaping"),
        [(1.0, [True, True]), (2.5, [True, True]), (3.2, [True, False]), (12.0, [False, False])],
    )
    def test_by_the_share_that_would_be_taken(self, size: float, leaping: list[bool]):
        lambdas = (0.25, 1.0)
        share = 2 * stats.norm.cdf(-np.array(lambdas) * size / np.sqrt(2))
        assert list(share > 0.05) == leaping
        chosen = choose_leaps(leg_state(lambdas, normal_deltas(lambdas, size)))
        assert [rung.leaping for rung in chosen.rungs] == leaping

    def test_points_outside_the_support_do_not_count(self):
        delta = normal_deltas((1.0,), 1.0)
        delta[0, :3], delta[1, 5:] = -np.inf, -np.inf
        assert choose_leaps(leg_state((1.0,), delta)).rungs[0].leaping
        delta[0] = -np.inf
        assert not choose_leaps(leg_state((1.0,), delta)).rungs[0].leaping

    def test_not_without_exact_draws_or_before_the_first_scan(self):
        state = leg_state((1.0,), normal_deltas((1.0,), 1.0))
        before = replace(state, scans=())
        assert choose_leaps(before) is before
        no_reference = replace(state, leg=Leg(log_gamma_leg().end, START))
        assert choose_leaps(no_reference) is no_reference
