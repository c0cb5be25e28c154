"""Grouped models after PyMC's gallery: schools, radon, rugby, rats and item responses.

The priors are those of the published models or close to them; data are simulated but for the eight
schools. Each function returns the model without looking at anything outside this file.
"""

from __future__ import annotations

import numpy as np
import pymc as pm

SCHOOLS = (
    np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]),
    np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]),
)


def schools_data() -> tuple[np.ndarray, np.ndarray]:
    """Rubin's eight schools: effects and their standard errors."""
    return SCHOOLS


def schools_pymc() -> pm.Model:
    """Eight schools, non-centred."""
    y, known = schools_data()
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        offset = pm.Normal("theta_tilde", 0, 1, dims="school")
        theta = pm.Deterministic("theta", mu + tau * offset, dims="school")
        pm.Normal("obs", theta, known, observed=y, dims="school")
    return model


def schools_centred_pymc() -> pm.Model:
    """Eight schools as first written, centred: a funnel."""
    y, known = schools_data()
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.Normal("obs", theta, known, observed=y)
    return model


def radon_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counties, floors and log radon of 70 houses in 12 counties."""
    rng = np.random.default_rng(11)
    county = np.sort(np.concatenate([np.arange(12), rng.integers(0, 12, 58)]))
    floor = rng.binomial(1, 0.3, len(county)).astype(float)
    level = 1.4 + 0.4 * rng.normal(size=12)
    slope = -0.7 + 0.3 * rng.normal(size=12)
    return county, floor, level[county] + slope[county] * floor + 0.7 * rng.normal(size=len(county))


def radon_intercepts_pymc() -> pm.Model:
    """Varying intercepts, centred."""
    county, floor, y = radon_data()
    with pm.Model() as model:
        mu, spread = pm.Normal("mu_a", 0, 10), pm.Exponential("sigma_a", 1)
        level = pm.Normal("alpha", mu, spread, shape=12)
        slope, noise = pm.Normal("beta", 0, 10), pm.Exponential("sigma_y", 1)
        pm.Normal("y", level[county] + slope * floor, noise, observed=y)
    return model


def radon_slopes_pymc() -> pm.Model:
    """Varying intercepts and slopes whose correlation has an LKJ prior, non-centred."""
    county, floor, y = radon_data()
    with pm.Model() as model:
        factor, _, _ = pm.LKJCholeskyCov(
            "chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0, shape=2)
        )
        mean = pm.Normal("mu", 0.0, 5.0, shape=2)
        offset = pm.Normal("z", 0.0, 1.0, shape=(2, 12))
        effects = mean[:, None] + pm.math.dot(factor, offset)
        noise = pm.Exponential("sigma", 1.0)
        pm.Normal("y", effects[0][county] + effects[1][county] * floor, noise, observed=y)
    return model


def rugby_data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Home and away teams of a round robin of five and their points."""
    rng = np.random.default_rng(12)
    pairs = np.array([(i, j) for i in range(5) for j in range(5) if i != j])
    attack, defence = 0.3 * rng.normal(size=5), 0.3 * rng.normal(size=5)
    home, away = pairs.T
    points = rng.poisson(np.exp(2.9 + 0.2 + attack[home] - defence[away]))
    return home, away, points, rng.poisson(np.exp(2.9 + attack[away] - defence[home]))


def rugby_pymc() -> pm.Model:
    """Points of both sides from attacks and defences that sum to zero."""
    home, away, at_home, abroad = rugby_data()
    with pm.Model() as model:
        advantage, intercept = pm.Normal("home", 0, 1), pm.Normal("intercept", 3, 1)
        spread_attack = pm.HalfNormal("sd_att", 2)
        spread_defence = pm.HalfNormal("sd_def", 2)
        attack = pm.Normal("atts_star", 0, spread_attack, shape=5)
        defence = pm.Normal("defs_star", 0, spread_defence, shape=5)
        attack, defence = attack - attack.mean(), defence - defence.mean()
        for_home = pm.math.exp(intercept + advantage + attack[home] - defence[away])
        for_away = pm.math.exp(intercept + attack[away] - defence[home])
        pm.Poisson("home_points", for_home, observed=at_home)
        pm.Poisson("away_points", for_away, observed=abroad)
    return model


def rats_data() -> tuple[np.ndarray, np.ndarray]:
    """Tumours and rats of 20 groups."""
    rng = np.random.default_rng(13)
    rats = rng.integers(15, 30, 20)
    return rng.binomial(rats, rng.beta(2.0, 12.0, 20)), rats


def rats_pymc() -> pm.Model:
    """Rates of tumours, each from a beta distribution of unknown mean and size."""
    tumours, rats = rats_data()
    with pm.Model() as model:
        mean = pm.Beta("mean", 1.0, 1.0)
        size = pm.Pareto("size", alpha=1.5, m=1.0)
        rate = pm.Beta("theta", mean * size, (1 - mean) * size, shape=20)
        pm.Binomial("tumours", n=rats, p=rate, observed=tumours)
    return model


def answers_data() -> np.ndarray:
    """Right answers, [person, item]."""
    rng = np.random.default_rng(14)
    logit = rng.normal(size=(30, 1)) - np.linspace(-1.5, 1.5, 6)
    return rng.binomial(1, 1 / (1 + np.exp(-logit)))


def answers_pymc() -> pm.Model:
    """A Rasch model: the ability of every person, the difficulty of every item."""
    y = answers_data()
    with pm.Model() as model:
        spread = pm.HalfNormal("sigma", 1.5)
        ability = pm.Normal("ability", 0.0, 1.0, shape=30)
        difficulty = pm.Normal("difficulty", 0.0, 2.0, shape=6)
        logit = spread * ability[:, None] - difficulty
        pm.Bernoulli("y", logit_p=logit, observed=y)
    return model
