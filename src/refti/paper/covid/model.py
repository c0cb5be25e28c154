"""COVID-19 in South Korea: the paper's renewal model, one model with sixteen variants.

Days t = 1…N have cases y_t ~ NegativeBinomial(mean f_t, dispersion φ), where f is the renewal
equation's and R_t = exp(ε_{⌈t/W⌉}) its reproduction numbers; ε is an autoregressive process. R₀ is
declared by the paper and enters nothing but its own prior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import refti
from refti.paper.covid.cases import Cases, south_korea
from refti.paper.covid.negative_binomial import Counts
from refti.paper.covid.priors import Truncated, log_normal, stationary_share
from refti.paper.covid.renewal import expected_cases, lags_that_count, rate_of_mean

SIGMA = Truncated(0.0, 0.2)
PHI = Truncated(0.0, 5.0)
RATE = Truncated(0.01, 0.001)
R0 = Truncated(3.28, 1.0)
STRONG = Truncated(0.8, 0.05, high=1.0)
SECOND = Truncated(0.1, 0.05, high=1.0)  # the other coefficient of AR(2)
WEAK = Truncated(0.05, 0.05, high=1.0)  # the others of AR(3) and AR(4)

FIRST_HALF_YEAR = 183  # days, to 30 June 2020: the data behind some of the printed numbers


@dataclass(frozen=True)
class Variant:
    """What one variant of the model assumes.

    Attributes:
        name: what the paper calls it.
        generation_interval: its mean in days; None where its rate is a parameter.
        order: how many days, or windows, the autoregressive process looks back.
        window: for how many days a reproduction number holds.
        days: how many days of data are used; None for all.
        strong_lag: the lag whose coefficient has prior mean 0.8.
        normalised: whether the prior integrates to one; as printed it lacks the mass that
            truncation and stationarity take away.
    """

    name: str
    generation_interval: float | None = None
    order: int = 2
    window: int = 1
    days: int | None = None
    strong_lag: int = 1
    normalised: bool = True

    @property
    def coefficients(self) -> tuple[Truncated, ...]:
        """The priors of ρ, by lag."""
        other = SECOND if self.order == 2 else WEAK
        lags = range(1, self.order + 1)
        return tuple(STRONG if lag == self.strong_lag else other for lag in lags)


GENERATION_INTERVALS = (5, 6, 6.5, 7, 8, 9, 10, 20)
ORDERS = (2, 3, 4)
WINDOWS = (1, 2, 3, 4, 7)
VARIANTS = {
    made.name: made
    for made in (
        *(Variant(f"GI={k}", generation_interval=k) for k in GENERATION_INTERVALS),
        *(Variant(f"AR({k})", order=k) for k in ORDERS),
        *(Variant(f"W={k}", window=k) for k in WINDOWS),
    )
}
_ON_FEWER_DAYS = ("GI=5", "GI=6", "GI=6.5", "GI=7", "GI=8", "AR(2)", "AR(3)")


def variant(name: str) -> Variant:
    """A variant of the paper as it is meant: all days, lags in order, normalised priors."""
    if name not in VARIANTS:
        raise refti.ModelError(f"No variant {name!r}; expected one of {', '.join(VARIANTS)}.")
    return VARIANTS[name]


def variant_as_printed(name: str) -> Variant:
    """A variant exactly as it stood behind the printed number."""
    return replace(
        variant(name),
        days=FIRST_HALF_YEAR if name in _ON_FEWER_DAYS else None,
        strong_lag=2 if name == "AR(4)" else 1,
        normalised=False,
    )


def log_prior_mass(variant: Variant) -> float:
    """The log integral of the prior as printed: what normalising it divides by."""
    cut = [SIGMA, PHI, R0, *variant.coefficients]
    cut += [RATE] if variant.generation_interval is None else []
    mass = sum(np.log(prior.mass) for prior in cut)
    if variant.order == 2:
        mass += np.log(stationary_share(*variant.coefficients))
    return float(mass)


def model(variant: Variant, cases: Cases | None = None) -> refti.Model:
    """The variant's model of a series of cases, South Korea's if not given."""
    counts = (south_korea() if cases is None else cases).counts[: variant.days]
    windows = -(-len(counts) // variant.window)
    supports = {
        "sigma": refti.positive(),
        "phi": refti.positive(),
        "rho": refti.interval(0, 1, shape=(variant.order,)),
        "R0": refti.positive(),
        "eps": refti.real(shape=(windows + 1,)),
    }
    start: dict[str, Any] = {"sigma": 0.2, "phi": 5.0, "R0": R0.mean}
    start |= {"rho": [prior.mean for prior in variant.coefficients], "eps": np.zeros(windows + 1)}
    if variant.generation_interval is None:
        supports["r"], start["r"] = refti.positive(), RATE.mean
    return refti.Model(
        log_prior=_LogPrior(variant),
        log_likelihood=_LogLikelihood(variant, counts),
        parameters=supports,
        start=start,
    )


@dataclass(frozen=True)
class _LogPrior:
    """The log prior of a variant's parameters."""

    variant: Variant

    def __call__(self, values: dict[str, Array]) -> Float[Array, ""]:
        total = SIGMA(values["sigma"]) + PHI(values["phi"]) + R0(values["R0"])
        rho = values["rho"]
        total += sum(prior(rho[i]) for i, prior in enumerate(self.variant.coefficients))
        if "r" in values:
            total += RATE(values["r"])
        missing = log_prior_mass(self.variant) if self.variant.normalised else 0.0
        return total - missing + self._process(values["eps"], rho, values["sigma"])

    def _process(
        self, eps: Float[Array, " window"], rho: Float[Array, " lag"], sigma: Float[Array, ""]
    ) -> Float[Array, ""]:
        """The log density of ε; zero density where AR(2) is not stationary."""
        order, share = self.variant.order, jnp.ones(())
        if order == 2:
            # The share of the process's variance that is new each day, in factors of which one,
            # 1 - ρ₁ - ρ₂, changes its sign inside the unit square.
            share = (1 + rho[1]) * (1 - rho[0] - rho[1]) * (1 + rho[0] - rho[1]) / (1 - rho[1])
        inside = share > 0
        scale = sigma * jnp.sqrt(jnp.where(inside, share, 1.0))
        mean = sum(rho[i] * eps[order - 1 - i : -1 - i] for i in range(order))
        path = log_normal(eps[0], -1.0, 0.1) + jnp.sum(log_normal(eps[1:order], -1.0, scale))
        path += jnp.sum(log_normal(eps[order:], mean, scale))
        return jnp.where(inside, path, -jnp.inf)


class _LogLikelihood:
    """The log likelihood of the counts."""

    def __init__(self, variant: Variant, counts: np.ndarray) -> None:
        self.window, self.counts, self.lags = variant.window, Counts.of(counts), len(counts)
        self.rate = None
        if variant.generation_interval is not None:
            rate = rate_of_mean(variant.generation_interval)
            self.lags = lags_that_count(rate, len(counts))
            # An array is data and a number is part of the program, which variants should share.
            self.rate = np.array([rate])

    def __call__(self, values: dict[str, Array]) -> Float[Array, ""]:
        rate = values["r"] if self.rate is None else jnp.asarray(self.rate)[0]
        by_window = jnp.exp(values["eps"][:-1, None])
        held = jnp.broadcast_to(by_window, (len(by_window), self.window)).reshape(-1)
        mean = expected_cases(held[: len(self.counts.counts)], rate, lags=self.lags)
        return self.counts.log_likelihood(mean, values["phi"])
