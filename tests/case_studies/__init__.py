"""Stan programs in the style of published case studies, small enough to be run in a test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Study:
    """A program, its data and what it shows."""

    name: str
    shows: str

    @property
    def program(self) -> Path:
        """The path of the Stan program."""
        return HERE / f"{self.name}.stan"

    @property
    def data(self) -> Path:
        """The path of its data."""
        return HERE / f"{self.name}.json"


STUDIES = (
    Study("sir", "an ODE by ode_rk45, a bounded initial state"),
    Study("predators", "an ODE by the older integrate_ode_rk45, arrays of parameters"),
    Study("process", "a Gaussian process, transformed data, truncated priors"),
    Study("hidden_states", "a hidden Markov model, a user's _lpdf, arrays of simplexes, ordered"),
    Study("fishing", "zero-inflated counts, a user's _lpmf, random generated quantities"),
    Study("survival", "censored survival times, target +="),
    Study("items", "a two-parameter item response model"),
    Study("changepoint", "a change-point summed out, a discrete generated quantity"),
    Study("slopes", "correlated effects, a Cholesky factor with an LKJ prior, matrices"),
    Study("missing", "missing data as parameters, a covariance matrix"),
    Study("thermometer", "measurement error, offset and multiplier"),
    Study("votes", "multinomial counts, a simplex, a random walk"),
)
