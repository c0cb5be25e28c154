"""The evidences of the published models by other ways, by the names of the models."""

from __future__ import annotations

from collections.abc import Callable

from tests.case_studies.integrals import Exact

from . import exact_curves as curves
from . import exact_groups as groups

EXACT: dict[str, Callable[[], Exact]] = {
    "schools_pymc": groups.schools,
    "schools_centred_pymc": groups.schools,
    "radon_intercepts_pymc": groups.radon_intercepts,
    "radon_slopes_pymc": groups.radon_slopes,
    "rats_pymc": groups.rats,
    "answers_pymc": groups.answers,
    "two_groups_pymc": curves.two_groups,
    "heaps_pymc": curves.heaps,
    "logistic_pymc": curves.logistic,
    "robust_pymc": curves.robust,
    "sneezes_pymc": curves.sneezes,
    "smooth_pymc": curves.smooth,
    "mining_pymc": curves.mining,
    "lifetimes_pymc": curves.lifetimes,
    "censored_pymc": curves.censored,
    "prices_pymc": curves.prices_pymc,
    "sleep_bambi": groups.sleep,
    "batting_bambi": groups.batting,
    "drugs_bambi": groups.drugs,
    "baseball_numpyro": groups.baseball,
    "baseball_logits_numpyro": groups.baseball_logits,
    "schools_numpyro": groups.schools,
    "schools_centred_numpyro": groups.schools,
    "admissions_numpyro": groups.admissions,
    "horseshoe_numpyro": groups.horseshoe,
    "funnel_numpyro": groups.funnel,
    "network_numpyro": groups.network,
    "predators_numpyro": curves.predators,
    "prices_numpyro": curves.prices_numpyro,
    "lags_numpyro": curves.lags,
    "process_numpyro": curves.process,
    "clusters_numpyro": curves.clusters,
    "states_numpyro": curves.states,
    "small_numpyro": curves.small,
}
