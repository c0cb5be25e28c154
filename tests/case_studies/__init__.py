"""Stan programs in the style of published case studies, small enough to be run in a test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Study:
    """A program, its data and what it shows.

    Attributes:
        name: of the program's file.
        shows: what it has that others have not.
        after: the published program whose structure it has.
    """

    name: str
    shows: str
    after: str

    @property
    def program(self) -> Path:
        """The path of the Stan program."""
        return HERE / f"{self.name}.stan"

    @property
    def data(self) -> Path:
        """The path of its data."""
        return HERE / f"{self.name}.json"


STUDIES = (
    Study("sir", "an ODE by ode_rk45, a bounded initial state", "Stan case study, boarding school"),
    Study(
        "predators",
        "an ODE by the older integrate_ode_rk45, arrays of parameters",
        "Stan case study, Lotka–Volterra",
    ),
    Study(
        "process",
        "a Gaussian process, transformed data, truncated priors",
        "Stan user's guide, posteriordb gp_regr",
    ),
    Study(
        "hidden_states",
        "a hidden Markov model, a user's _lpdf, arrays of simplexes, ordered",
        "Stan case study, posteriordb hmm_example",
    ),
    Study(
        "fishing",
        "zero-inflated counts, a user's _lpmf, random generated quantities",
        "Stan user's guide, zero inflation",
    ),
    Study("survival", "censored survival times, target +=", "Stan user's guide, Weibull survival"),
    Study("items", "a two-parameter item response model", "posteriordb irt_2pl"),
    Study(
        "changepoint",
        "a change-point summed out, a discrete generated quantity",
        "Stan user's guide, coal mining disasters",
    ),
    Study(
        "slopes",
        "correlated effects, a Cholesky factor with an LKJ prior, matrices",
        "Stan user's guide, multivariate priors",
    ),
    Study("missing", "missing data as parameters, a covariance matrix", "Stan user's guide"),
    Study("thermometer", "measurement error, offset and multiplier", "Stan user's guide"),
    Study("votes", "multinomial counts, a simplex, a random walk", "election forecasts"),
    Study(
        "lynx_hare", "a solver at coarse tolerances, public data", "posteriordb hudson_lynx_hare"
    ),
    Study("falcons", "45 parameters, centred, implicit uniform priors", "posteriordb GLMM_Poisson"),
    Study(
        "two_heaps", "scales that may collapse, two modes", "posteriordb low_dim_gauss_mix_collapse"
    ),
    Study("five_heaps", "120 modes that are one by another numbering", "Stan case study, mixtures"),
    Study("schools", "non-centred, a half-Cauchy, public data", "posteriordb eight_schools"),
    Study("effects", "random effects, target +=", "bridgesampling, hierarchical normal vignette"),
    Study("turtles", "probit, a prior by target += alone", "bridgesampling, turtles vignette"),
    Study("scores", "regression with an interaction", "posteriordb kidscore_interaction"),
    Study("radon", "33 parameters, centred", "posteriordb radon_partially_pooled_centered"),
    Study("dogs", "750 Bernoulli trials that remember", "posteriordb dogs"),
    Study("lags", "an autoregression", "posteriordb arK"),
    Study("returns", "bounds that depend on parameters", "posteriordb garch11"),
    Study("seeds", "random effects on logits", "BUGS and posteriordb seeds"),
    Study("coin", "no parameters at all: a point null", "bridgesampling, null models"),
    Study(
        "moving_average",
        "errors that explode on one side, in canyons that hold nothing",
        "posteriordb arma11",
    ),
)
