"""What Bambi builds of three formulas, written in PyMC with Bambi's names; the data are simulated.

Bambi names a group's effects "1|g" and "x|g", their spreads "1|g_sigma", and draws them
non-centred from "1|g_offset".
"""

from __future__ import annotations

import numpy as np
import pymc as pm


def sleep_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Subjects, days without sleep and reaction times."""
    rng = np.random.default_rng(41)
    subject, day = np.repeat(np.arange(9), 6), np.tile(np.arange(6.0), 9)
    level, slope = 2.5 + 0.3 * rng.normal(size=9), 0.10 + 0.06 * rng.normal(size=9)
    return subject, day, level[subject] + slope[subject] * day + 0.25 * rng.normal(size=54)


def sleep_bambi() -> pm.Model:
    """reaction ~ 1 + days + (1 + days | subject)."""
    subject, day, y = sleep_data()
    with pm.Model(coords={"subject__factor_dim": [f"s {i}" for i in range(9)]}) as model:
        intercept, slope = pm.Normal("Intercept", 2.75, 1.5), pm.Normal("days", 0.0, 0.8)
        spreads = pm.HalfNormal("1|subject_sigma", 1.5), pm.HalfNormal("days|subject_sigma", 0.8)
        line = intercept + slope * day
        for name, spread, by in zip(("1", "days"), spreads, (np.ones(54), day), strict=True):
            offset = pm.Normal(f"{name}|subject_offset", 0, 1, dims="subject__factor_dim")
            effect = pm.Deterministic(
                f"{name}|subject", offset * spread, dims="subject__factor_dim"
            )
            line = line + effect[subject] * by
        pm.Normal("reaction", line, pm.HalfStudentT("sigma", 4, 0.5), observed=y)
    return model


def batting_data() -> tuple[np.ndarray, np.ndarray]:
    """Hits and turns at bat of 15 players."""
    rng = np.random.default_rng(42)
    at_bat = rng.integers(20, 60, 15)
    return rng.binomial(at_bat, 1 / (1 + np.exp(1.0 - 0.4 * rng.normal(size=15)))), at_bat


def batting_bambi() -> pm.Model:
    """p(hits, at_bat) ~ 1 + (1 | player), binomial."""
    hits, at_bat = batting_data()
    with pm.Model(coords={"player__factor_dim": np.arange(15)}) as model:
        intercept = pm.Normal("Intercept", 0.0, 1.5)
        spread = pm.HalfNormal("1|player_sigma", 1.0)
        offset = pm.Normal("1|player_offset", 0.0, 1.0, dims="player__factor_dim")
        effect = pm.Deterministic("1|player", offset * spread, dims="player__factor_dim")
        p = pm.Deterministic("p", pm.math.invlogit(intercept + effect))
        pm.Binomial("p(hits, at_bat)", n=at_bat, p=p, observed=hits)
    return model


def drugs_data() -> tuple[np.ndarray, np.ndarray]:
    """A design of an intercept and four traits, and a score."""
    rng = np.random.default_rng(43)
    x = np.column_stack([np.ones(60), rng.normal(size=(60, 4))])
    return x, x @ np.array([2.2, 0.3, 0.0, -0.2, 0.5]) + 0.8 * rng.normal(size=60)


def drugs_bambi() -> pm.Model:
    """drugs ~ o + c + e + a: a plain regression."""
    x, y = drugs_data()
    with pm.Model() as model:
        line = pm.Normal("Intercept", 2.0, 2.5)
        for column, name in enumerate("ocea", start=1):
            line = line + pm.Normal(name, 0.0, 1.5) * x[:, column]
        pm.Normal("drugs", line, pm.HalfStudentT("sigma", 4, 1.0), observed=y)
    return model
