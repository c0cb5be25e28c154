"""Targets: densities whose evidence is known in closed form, asymmetric on purpose.

A symmetric target hides errors of sign, and a unit scale hides a missing Jacobian or determinant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import lgamma, log, pi

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import distributions
from scipy import stats
from scipy.special import betaln, logsumexp

import refti
from refti import suite
from refti.models.model import ValueAndGradient
from refti.suite import gaussians, tails

LOG_2_PI = log(2 * pi)


@dataclass(frozen=True)
class Target:
    """A model, made when asked for, and the exact log of its integral."""

    name: str
    model: Callable[[], refti.Model]
    log_z: float

    def __str__(self) -> str:
        return self.name


# Those of the suite that are asked for by name.
GAUSSIAN_MEAN, GAUSSIAN_FACTOR = gaussians.GAUSSIAN_MEAN, gaussians.GAUSSIAN_FACTOR
SHAPES = tails.SHAPES
gaussian = suite.find("gaussian").model
log_gamma = suite.find("log_gamma").model
ordered = suite.find("ordered").model
lkj = suite.find("lkj").model


def quartic(dim: int = 20) -> refti.Model:
    """A smooth density with lighter tails than any Gaussian."""
    return suite.quartic(dim).model()


def quartic_log_z(dim: int = 20) -> float:
    """Its evidence."""
    return suite.quartic(dim).log_z


def half_normal(scale: float = 0.8) -> refti.Model:
    """A normal cut at its centre, without its factor 2."""
    return refti.Model(lambda s: -0.5 * (s / scale) ** 2, {"s": refti.positive()})


def beta(a: float = 2.0, b: float = 5.0) -> refti.Model:
    """A Beta density without its constant."""
    return refti.Model(
        lambda p: (a - 1) * jnp.log(p) + (b - 1) * jnp.log1p(-p), {"p": refti.interval(0, 1)}
    )


def gamma_below() -> refti.Model:
    """(3 - u)^1.5 exp(-2 (3 - u)) below 3."""
    return refti.Model(lambda u: 1.5 * jnp.log(3 - u) - 2 * (3 - u), {"u": refti.upper(3)})


def gamma_above() -> refti.Model:
    """(u + 1)^2 exp(-(u + 1) / 2) above -1."""
    return refti.Model(lambda u: 2 * jnp.log(u + 1) - 0.5 * (u + 1), {"u": refti.lower(-1)})


def dirichlet() -> refti.Model:
    """A normalised Dirichlet density on the simplex."""
    return refti.Model(
        lambda p: distributions.Dirichlet(np.array([2.0, 3.0, 4.5])).log_prob(p),
        {"p": refti.simplex(3)},
    )


def product() -> refti.Model:
    """A half-normal, a Beta on (2, 5) twice and a scaled normal, independent of each other."""

    def log_density(values):
        share = values["share"]
        return (
            -0.5 * (values["scale"] / 0.8) ** 2
            + jnp.sum(1.5 * jnp.log(share - 2) + 0.5 * jnp.log(5 - share))
            - 0.5 * ((values["shift"] + 4) / 3) ** 2
        )

    supports = {
        "scale": refti.positive(),
        "share": refti.interval(2, 5, shape=(2,)),
        "shift": refti.real(),
    }
    return refti.Model(log_density, supports)


COVARIATES = np.array([[1.0, x] for x in (-1.4, -0.6, 0.1, 0.5, 1.1, 2.3)])
RESPONSES = np.array([-0.9, 0.3, 1.9, 2.2, 3.1, 6.0])
NOISE = 0.4
PRIOR_MEAN, PRIOR_SCALE = np.array([1.0, 1.0]), np.array([2.0, 1.5])


def regression(*, columns: int = 2, noise: float = NOISE) -> refti.Model:
    """A conjugate linear regression on the first columns, its prior and likelihood apart."""
    design = COVARIATES[:, :columns]

    def log_prior(b):
        return jnp.sum(
            distributions.Normal(PRIOR_MEAN[:columns], PRIOR_SCALE[:columns]).log_prob(b)
        )

    def log_likelihood(b):
        return jnp.sum(distributions.Normal(design @ b, noise).log_prob(RESPONSES))

    return refti.Model(
        log_prior=log_prior,
        log_likelihood=log_likelihood,
        parameters={"b": refti.real(shape=(columns,))},
    )


def regression_log_z(*, columns: int = 2, noise: float = NOISE) -> float:
    """The density of the responses when the coefficients are integrated out."""
    design = COVARIATES[:, :columns]
    spread = design @ np.diag(PRIOR_SCALE[:columns] ** 2) @ design.T
    return stats.multivariate_normal(
        design @ PRIOR_MEAN[:columns], spread + noise**2 * np.eye(len(RESPONSES))
    ).logpdf(RESPONSES)


HALF_NORMAL_LOG_Z = log(0.8) + 0.5 * LOG_2_PI - log(2)
BETA_ON_2_5_LOG_Z = suite.find("beta_on_2_5").log_z

TARGETS = (
    *(
        Target(target.name, target.model, target.log_z)
        for target in map(suite.find, ("gaussian", "log_gamma", "beta_on_2_5", "ordered", "lkj"))
    ),
    Target("half_normal", half_normal, HALF_NORMAL_LOG_Z),
    Target("beta", beta, float(betaln(2, 5))),
    Target("gamma_below", gamma_below, lgamma(2.5) - 2.5 * log(2)),
    Target("gamma_above", gamma_above, lgamma(3) + 3 * log(2)),
    Target("dirichlet", dirichlet, 0.0),
    Target(
        "product",
        product,
        HALF_NORMAL_LOG_Z + 2 * BETA_ON_2_5_LOG_Z + log(3) + 0.5 * LOG_2_PI,
    ),
    Target("regression", regression, float(regression_log_z())),
)

CUT = 0.3


def cut_gaussian(outside: float = -np.inf) -> refti.Model:
    """A correlated Gaussian cut at x[0] >= 0.3, of which only the density's values tell."""

    beyond = np.full(1, outside)  # data, so that all of them are one program

    def log_density(x):
        inside = -0.5 * (x[0] ** 2 + 2 * (x[1] - 0.8 * x[0]) ** 2)
        return jnp.where(x[0] >= CUT, inside, jnp.sum(beyond))

    return refti.Model(log_density, dim=2, start=[1.0, 0.5])


def declared_cut_gaussian() -> refti.Model:
    """The same density with its bound declared."""
    return refti.Model(
        lambda a, b: -0.5 * (a**2 + 2 * (b - 0.8 * a) ** 2),
        {"a": refti.lower(CUT), "b": refti.real()},
    )


CUT_LOG_Z = LOG_2_PI - 0.5 * log(2) + float(stats.norm.logsf(CUT))


def evaluate(model: refti.Model) -> ValueAndGradient:
    """Values and gradients of a model at points x[n, dim], -inf and 0 outside."""
    program = jax.jit(jax.vmap(jax.value_and_grad(model.log_density)))

    def both(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with jax.enable_x64(True):
            values, gradients = (np.asarray(a) for a in program(jnp.asarray(x)))
        usable = np.isfinite(values) & np.isfinite(gradients).all(axis=1)
        return (
            np.where(np.isfinite(values), values, -np.inf),
            np.where(usable[:, None], gradients, 0.0),
        )

    return both


@dataclass(frozen=True)
class Grid:
    """Points of a box in one or two dimensions, the log density at each and the log of a cell."""

    points: np.ndarray
    log_density: np.ndarray
    log_cell: float

    @property
    def log_integral(self) -> float:
        """The integral by the trapezoid rule, exact to rounding where the density has decayed."""
        return float(logsumexp(self.log_density) + self.log_cell)

    @property
    def shares(self) -> np.ndarray:
        """The share of the integral about each point."""
        return np.exp(self.log_density + self.log_cell - self.log_integral)

    def where_it_counts(self) -> Grid:
        """The points with any share of the integral to speak of."""
        counts = self.log_density > self.log_density.max() - 60
        return Grid(self.points[counts], self.log_density[counts], self.log_cell)

    def moments(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the standard deviation of values[n, ...] under the density."""
        mean = self.shares @ values
        return mean, np.sqrt(self.shares @ (values - mean) ** 2)


def grid(
    log_density: Callable[[jax.Array], jax.Array], low: np.ndarray, high: np.ndarray, count: int
) -> Grid:
    """The density on an even grid over a box; at the box's faces it must have vanished."""
    points, log_cell = box(low, high, count)
    values = np.asarray(jax.jit(jax.vmap(log_density))(jnp.asarray(points)))
    return Grid(points, np.where(np.isfinite(values), values, -np.inf), log_cell)


def box(low: np.ndarray, high: np.ndarray, count: int) -> tuple[np.ndarray, float]:
    """The points of an even grid over a box, so many a side, and the log of a cell."""
    axes = [np.linspace(a, b, count) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    return points, sum(log(axis[1] - axis[0]) for axis in axes)
