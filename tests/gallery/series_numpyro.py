"""Series, curves and mixtures after NumPyro's examples.

Lynx and hare are the public data of the Hudson's Bay Company; the others are simulated.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import numpyro
from jax import lax
from jax.experimental.ode import odeint
from jax.typing import ArrayLike
from numpyro.distributions import (
    Categorical,
    Dirichlet,
    Exponential,
    GaussianRandomWalk,
    HalfNormal,
    LogNormal,
    MultivariateNormal,
    Normal,
    StudentT,
    TruncatedNormal,
)

import refti

PELTS = np.array(
    [
        [30.0, 4.0],
        [47.2, 6.1],
        [70.2, 9.8],
        [77.4, 35.2],
        [36.3, 59.4],
        [20.6, 41.7],
        [18.1, 19.0],
        [21.4, 13.0],
        [22.0, 8.3],
        [25.4, 9.1],
        [27.1, 7.4],
    ]
)


def predators_numpyro() -> refti.Model:
    """Lotka and Volterra's equations by JAX's solver, of the first eleven years."""
    years = np.arange(len(PELTS), dtype=float)

    def change(z: ArrayLike, _: ArrayLike, theta: ArrayLike) -> ArrayLike:
        hare, lynx = z[0], z[1]
        return jnp.stack(
            [(theta[0] - theta[1] * lynx) * hare, (-theta[2] + theta[3] * hare) * lynx]
        )

    def lotka_volterra() -> None:
        begin = numpyro.sample("z_init", LogNormal(jnp.log(10.0), jnp.ones(2)).to_event(1))
        middle, width = jnp.array([1.0, 0.05, 1.0, 0.05]), jnp.array([0.5, 0.05, 0.5, 0.05])
        theta = numpyro.sample("theta", TruncatedNormal(middle, width, low=0.0).to_event(1))
        states = odeint(change, begin, years, theta, rtol=1e-6, atol=1e-5, mxstep=1000)
        noise = numpyro.sample("sigma", LogNormal(-1, jnp.ones(2)).to_event(1))
        # A solver may undershoot zero, of which there is no logarithm.
        numpyro.sample("y", LogNormal(jnp.log(jnp.maximum(states, 1e-9)), noise), obs=PELTS)

    return refti.from_numpyro(lotka_volterra)


def prices_data() -> np.ndarray:
    """Daily returns whose volatility wanders."""
    rng = np.random.default_rng(61)
    return np.exp(np.cumsum(0.15 * rng.normal(size=40)) - 0.5) * rng.standard_t(10, 40)


def prices_numpyro() -> refti.Model:
    """Stochastic volatility."""
    y = prices_data()

    def volatility() -> None:
        step = numpyro.sample("sigma", Exponential(10.0))
        walk = numpyro.sample("s", GaussianRandomWalk(scale=step, num_steps=len(y)))
        nu = numpyro.sample("nu", Exponential(0.1))
        numpyro.sample("r", StudentT(nu, 0.0, jnp.exp(walk)), obs=y)

    return refti.from_numpyro(volatility)


def lags_data() -> np.ndarray:
    """An autoregression of order two."""
    rng = np.random.default_rng(62)
    y = [0.3, 0.1]
    for noise in 0.4 * rng.normal(size=60):
        y.append(0.1 + 0.6 * y[-1] - 0.3 * y[-2] + noise)
    return np.array(y)


def lags_numpyro() -> refti.Model:
    """AR(2)."""
    y = lags_data()

    def ar2() -> None:
        first, second = (
            numpyro.sample("alpha_1", Normal(0, 1)),
            numpyro.sample("alpha_2", Normal(0, 1)),
        )
        constant, sigma = (
            numpyro.sample("const", Normal(0, 1)),
            numpyro.sample("sigma", HalfNormal(1)),
        )
        mean = constant + first * y[1:-1] + second * y[:-2]
        numpyro.sample("y", Normal(mean, sigma), obs=y[2:])

    return refti.from_numpyro(ar2)


def process_data() -> tuple[np.ndarray, np.ndarray]:
    """A smooth curve with noise."""
    rng = np.random.default_rng(63)
    x = np.linspace(-1, 1, 25)
    return x, x + 0.4 * np.sin(6 * x) + 0.1 * rng.normal(size=25)


def process_numpyro() -> refti.Model:
    """A Gaussian process."""
    x, y = process_data()

    def process() -> None:
        variance = numpyro.sample("kernel_var", LogNormal(0.0, 2.0))
        noise = numpyro.sample("kernel_noise", LogNormal(-2.0, 2.0))
        length = numpyro.sample("kernel_length", LogNormal(0.0, 2.0))
        apart = (x[:, None] - x[None, :]) / length
        covariance = variance * jnp.exp(-0.5 * apart**2) + (noise + 1e-6) * jnp.eye(len(x))
        numpyro.sample("y", MultivariateNormal(jnp.zeros(len(x)), covariance), obs=y)

    return refti.from_numpyro(process)


def states_data() -> np.ndarray:
    """Values of two hidden states that last."""
    rng = np.random.default_rng(64)
    state, y = 0, []
    for _ in range(40):
        state = state if rng.uniform() < 0.85 else 1 - state
        y.append(rng.normal((-1.0, 1.5)[state], 0.6))
    return np.array(y)


def clusters_numpyro() -> refti.Model:
    """A mixture whose memberships are discrete sites, summed out by NumPyro's enumeration."""
    y = states_data()

    def clusters() -> None:
        weight = numpyro.sample("weights", Dirichlet(jnp.full(2, 2.0)))
        spread = numpyro.sample("scale", LogNormal(0.0, 1.0))
        with numpyro.plate("components", 2):
            mean = numpyro.sample("locs", Normal(0.0, 3.0))
        with numpyro.plate("data", len(y)):
            assignment = numpyro.sample("assignment", Categorical(weight))
            numpyro.sample("obs", Normal(mean[assignment], spread), obs=y)

    return refti.from_numpyro(clusters)


def states_numpyro() -> refti.Model:
    """A hidden Markov model by the forward algorithm, its likelihood a factor."""
    y = states_data()

    def hidden_markov() -> None:
        stay = numpyro.sample("stay", numpyro.distributions.Beta(4.0, 1.0).expand([2]).to_event(1))
        mean = numpyro.sample("mean", Normal(jnp.array([-1.0, 1.0]), 1.0).to_event(1))
        spread = numpyro.sample("spread", HalfNormal(1.0))
        step = jnp.log(jnp.array([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]]))
        seen = Normal(mean, spread).log_prob(y[:, None])

        def onward(forward: ArrayLike, now: ArrayLike) -> tuple[ArrayLike, None]:
            return jnp.logaddexp(forward[0] + step[0], forward[1] + step[1]) + now, None

        forward, _ = lax.scan(onward, seen[0] - jnp.log(2.0), seen[1:])
        numpyro.sample("y", Unnormalised(jnp.logaddexp(forward[0], forward[1])), obs=0.0)

    return refti.from_numpyro(hidden_markov)


class Unnormalised(numpyro.distributions.Distribution):
    """A log likelihood that was worked out by hand, as an observed site."""

    support = numpyro.distributions.constraints.real

    def __init__(self, log_likelihood: ArrayLike):
        self.log_likelihood = log_likelihood
        super().__init__(batch_shape=(), event_shape=())

    def sample(self, key: ArrayLike, sample_shape: tuple[int, ...] = ()) -> ArrayLike:
        """Nothing is ever drawn of it."""
        return jnp.zeros(sample_shape)

    def log_prob(self, value: ArrayLike) -> ArrayLike:
        """The log likelihood, whatever the value."""
        return self.log_likelihood


def small_data() -> np.ndarray:
    """A few values."""
    return np.random.default_rng(65).normal(3.0, 0.8, 30)


def small_numpyro() -> refti.Model:
    """The location and scale of minipyro's example."""
    y = small_data()

    def minipyro() -> None:
        location = numpyro.sample("loc", Normal(0.0, 20.0))
        scale = numpyro.sample("scale", LogNormal(0.0, 1.0))
        numpyro.sample("obs", Normal(location, scale), obs=y)

    return refti.from_numpyro(minipyro)
