"""Published models of PyMC, Bambi and NumPyro, their structure written anew, small to run."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import refti


@dataclass(frozen=True)
class Published:
    """A model after a published one.

    Attributes:
        place: the module of this package and the function in it that returns the model.
        after: the published model whose structure it has.
    """

    place: str
    after: str

    @property
    def name(self) -> str:
        """The function's name, which ends in the language."""
        return self.place.rpartition(":")[2]

    def model(self) -> refti.Model:
        """The model, of whatever language."""
        module, _, function = self.place.partition(":")
        made = getattr(import_module(f"{__name__}.{module}"), function)()
        return made if isinstance(made, refti.Model) else refti.from_pymc(made)


PYMC = "PyMC gallery, "
NUMPYRO = "NumPyro examples, "
PUBLISHED = (
    Published("groups_pymc:schools_pymc", PYMC + "eight schools, non-centred"),
    Published("groups_pymc:schools_centred_pymc", PYMC + "eight schools, centred"),
    Published("groups_pymc:radon_intercepts_pymc", PYMC + "multilevel modelling, intercepts"),
    Published("groups_pymc:radon_slopes_pymc", PYMC + "LKJ Cholesky covariance priors"),
    Published("groups_pymc:rugby_pymc", PYMC + "rugby prediction"),
    Published("groups_pymc:rats_pymc", PYMC + "hierarchical binomial, rat tumours"),
    Published("groups_pymc:answers_pymc", PYMC + "item response, Rasch"),
    Published("curves_pymc:two_groups_pymc", PYMC + "BEST"),
    Published("curves_pymc:heaps_pymc", PYMC + "Gaussian mixture, ordered means"),
    Published("curves_pymc:logistic_pymc", PYMC + "logistic regression"),
    Published("curves_pymc:robust_pymc", PYMC + "robust regression"),
    Published("curves_pymc:sneezes_pymc", PYMC + "negative binomial regression"),
    Published("curves_pymc:smooth_pymc", PYMC + "marginal Gaussian process"),
    Published("curves_pymc:latent_pymc", PYMC + "latent Gaussian process"),
    Published("curves_pymc:mining_pymc", PYMC + "coal mining change point"),
    Published("curves_pymc:lifetimes_pymc", PYMC + "parametric survival"),
    Published("curves_pymc:censored_pymc", PYMC + "censored regression"),
    Published("curves_pymc:prices_pymc", PYMC + "stochastic volatility"),
    Published("formulas_bambi:sleep_bambi", "Bambi examples, sleep study"),
    Published("formulas_bambi:batting_bambi", "Bambi examples, hierarchical logistic"),
    Published("formulas_bambi:drugs_bambi", "Bambi examples, multiple regression"),
    Published("groups_numpyro:baseball_numpyro", NUMPYRO + "baseball, partially pooled"),
    Published("groups_numpyro:baseball_logits_numpyro", NUMPYRO + "baseball, logits, centred"),
    Published("groups_numpyro:schools_numpyro", NUMPYRO + "eight schools, reparametrised"),
    Published("groups_numpyro:schools_centred_numpyro", NUMPYRO + "eight schools, centred"),
    Published("groups_numpyro:admissions_numpyro", NUMPYRO + "UCBadmit, centred"),
    Published("groups_numpyro:horseshoe_numpyro", NUMPYRO + "horseshoe regression"),
    Published("groups_numpyro:funnel_numpyro", NUMPYRO + "Neal's funnel"),
    Published("groups_numpyro:network_numpyro", NUMPYRO + "Bayesian neural network"),
    Published("series_numpyro:predators_numpyro", NUMPYRO + "Lotka–Volterra"),
    Published("series_numpyro:prices_numpyro", NUMPYRO + "stochastic volatility"),
    Published("series_numpyro:lags_numpyro", NUMPYRO + "AR(2)"),
    Published("series_numpyro:process_numpyro", NUMPYRO + "Gaussian process"),
    Published("series_numpyro:clusters_numpyro", NUMPYRO + "mixture by enumeration"),
    Published("series_numpyro:states_numpyro", NUMPYRO + "hidden Markov model"),
    Published("series_numpyro:small_numpyro", NUMPYRO + "minipyro"),
)
