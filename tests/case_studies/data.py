"""The data of the case studies: `python data.py` writes the files.

All are made up under fixed seeds but those of the lynx and the hare, which are the pelts that the
Hudson's Bay Company counted from 1900 to 1920, in thousands, and the eight schools.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

HERE = Path(__file__).parent


def sir(rng: np.random.Generator) -> dict[str, Any]:
    day, people = np.arange(1.0, 15.0), 760
    state = _solved(
        lambda t, s: [-1.6 * s[0] * s[1], 1.6 * s[0] * s[1] - 0.5 * s[1]], [0.996, 0.004], day
    )
    y = rng.poisson(people * state[1] * rng.gamma(20, 1 / 20, size=len(day)))
    return {"T": len(day), "population": people, "day": day, "y": y}


def predators(rng: np.random.Generator) -> dict[str, Any]:
    year = np.arange(1.0, 16.0)
    n = _solved(
        lambda t, n: [(0.5 - 0.3 * n[1]) * n[0], (0.2 * n[0] - 0.5) * n[1]], [3.0, 2.0], year
    )
    return {"T": len(year), "year": year, "y": (n * rng.lognormal(0, 0.15, size=n.shape)).T}


def process(rng: np.random.Generator) -> dict[str, Any]:
    x = np.sort(rng.uniform(-3, 3, size=20))
    return {"N": 20, "x": x, "y": np.sin(1.5 * x) + rng.normal(scale=0.3, size=20)}


def hidden_states(rng: np.random.Generator) -> dict[str, Any]:
    state = np.cumsum(rng.random(60) < 0.15) % 2
    return {"T": 60, "y": np.where(state, 2.0, -1.0) + rng.normal(scale=0.8, size=60)}


def fishing(rng: np.random.Generator) -> dict[str, Any]:
    people = rng.normal(size=60)
    y = rng.poisson(np.exp(0.8 + 0.5 * people)) * (rng.random(60) > 0.4)
    return {"N": 60, "people": people, "y": y}


def survival(rng: np.random.Generator) -> dict[str, Any]:
    x = rng.normal(size=(50, 2))
    time = np.exp(1 + x @ [0.4, -0.2]) * rng.weibull(1.5, size=50)
    return {
        "N": 50,
        "K": 2,
        "x": x,
        "time": np.minimum(time, 4.0),
        "failed": (time < 4.0).astype(int),
    }


def items(rng: np.random.Generator) -> dict[str, Any]:
    ability, difficulty = rng.normal(size=25), np.linspace(-1.5, 1.5, 8)
    person, item = (index.ravel() for index in np.indices((25, 8)))
    y = rng.random(200) < 1 / (1 + np.exp(difficulty[item] - ability[person]))
    counts = {"I": 8, "P": 25, "N": 200}
    return {**counts, "item": item + 1, "person": person + 1, "y": y.astype(int)}


def changepoint(rng: np.random.Generator) -> dict[str, Any]:
    return {"T": 40, "y": rng.poisson(np.where(np.arange(40) < 22, 4.0, 1.2))}


def slopes(rng: np.random.Generator) -> dict[str, Any]:
    group = np.repeat(np.arange(1, 11), 8)
    effect = rng.multivariate_normal([1.0, -0.5], [[0.5, 0.2], [0.2, 0.3]], size=10)[group - 1]
    x = rng.normal(size=80)
    y = effect[:, 0] + effect[:, 1] * x + rng.normal(scale=0.5, size=80)
    return {"N": 80, "J": 10, "group": group, "x": x, "y": y}


def missing(rng: np.random.Generator) -> dict[str, Any]:
    both = rng.multivariate_normal([1.0, 2.0], [[1.0, 0.7], [0.7, 1.5]], size=30)
    order = rng.permutation(30)
    gone, seen = np.sort(order[:8]), np.sort(order[8:])
    where = {"where_missing": gone + 1, "where_seen": seen + 1}
    return {"N": 30, "M": 8, **where, "first": both[:, 0], "second_seen": both[seen, 1]}


def thermometer(rng: np.random.Generator) -> dict[str, Any]:
    truth = rng.normal(0.5, 1.0, size=20)
    measured = truth + rng.normal(scale=0.4, size=20)
    y = 1.0 + 0.8 * truth + rng.normal(scale=0.3, size=20)
    return {"N": 20, "measured": measured, "error": 0.4, "y": y}


def votes(rng: np.random.Generator) -> dict[str, Any]:
    walk = np.cumsum(0.2 * rng.normal(size=(6, 3)), axis=0) + np.array([0.5, 0.2, 0.0])
    share = np.exp(walk) / np.exp(walk).sum(axis=1, keepdims=True)
    return {"T": 6, "K": 3, "votes": np.array([rng.multinomial(200, each) for each in share])}


def lynx_hare(rng: np.random.Generator) -> dict[str, Any]:
    del rng
    hare = "30 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22 25.4 27.1 40.3 57 76.6 52.3 19.5 11.2 7.6 14.6"
    lynx = "4 6.1 9.8 35.2 59.4 41.7 19 13 8.3 9.1 7.4 8 12.3 19.5 45.7 51.1 29.7 15.8 9.7"
    pelts = np.array(
        [[*line.split(), *rest] for line, rest in ((hare, (16.2, 24.7)), (lynx, (10.1, 8.6)))]
    )
    y = pelts.astype(float).T
    return {"N": 20, "ts": np.arange(1.0, 21.0), "y_init": y[0], "y": y[1:]}


def falcons(rng: np.random.Generator) -> dict[str, Any]:
    year = np.linspace(-1, 1, 40)
    rate = 4.3 + 1.2 * year + 0.1 * year**2 - 0.3 * year**3 + 0.1 * rng.normal(size=40)
    return {"n": 40, "count": rng.poisson(np.exp(rate)), "year": year}


def two_heaps(rng: np.random.Generator) -> dict[str, Any]:
    first = rng.random(200) < 0.4
    y = np.where(first, rng.normal(-1.5, 1.0, size=200), rng.normal(1.7, 0.8, size=200))
    return {"N": 200, "y": y}


def five_heaps(rng: np.random.Generator) -> dict[str, Any]:
    centre = rng.choice([-9.0, -4.0, 0.0, 4.5, 10.0], size=150)
    return {"N": 150, "K": 5, "y": centre + rng.normal(scale=0.6, size=150)}


def schools(rng: np.random.Generator) -> dict[str, Any]:
    del rng
    y, sigma = [28, 8, -3, 7, -1, 1, 18, 12], [15, 10, 16, 11, 9, 11, 10, 18]
    return {"J": 8, "y": np.array(y), "sigma": np.array(sigma)}


def effects(rng: np.random.Generator) -> dict[str, Any]:
    y = rng.normal(0, np.sqrt(0.5), size=20) + rng.normal(size=20)
    return {"n": 20, "y": y, "alpha": 1, "beta": 1, "sigma2": 1}


def turtles(rng: np.random.Generator) -> dict[str, Any]:
    clutch = np.sort(np.concatenate([np.arange(1, 32), rng.integers(1, 32, size=213)]))
    x = rng.normal(size=244)
    utility = -0.3 + 0.35 * x + 0.25 * rng.normal(size=31)[clutch - 1] + rng.normal(size=244)
    return {"N": 244, "C": 31, "y": (utility > 0).astype(int), "x": x, "clutch": clutch}


def scores(rng: np.random.Generator) -> dict[str, Any]:
    schooling = (rng.random(120) < 0.75).astype(float)
    mother = rng.normal(size=120)
    mean = 7.5 + 0.6 * schooling + 0.9 * mother - 0.4 * schooling * mother
    return {
        "N": 120,
        "score": mean + 1.8 * rng.normal(size=120),
        "schooling": schooling,
        "mother": mother,
    }


def radon(rng: np.random.Generator) -> dict[str, Any]:
    county = np.sort(rng.integers(1, 31, size=200))
    alpha = 1.3 + 0.35 * rng.normal(size=30)
    return {
        "N": 200,
        "J": 30,
        "county": county,
        "log_radon": alpha[county - 1] + 0.8 * rng.normal(size=200),
    }


def dogs(rng: np.random.Generator) -> dict[str, Any]:
    y = np.zeros((30, 25), dtype=int)
    for dog in y:
        for trial in range(25):
            shocks = dog[:trial].sum()
            logit = 1.8 - 0.36 * (trial - shocks) - 0.21 * shocks
            dog[trial] = rng.random() < 1 / (1 + np.exp(-logit))
    return {"n_dogs": 30, "n_trials": 25, "y": y}


def lags(rng: np.random.Generator) -> dict[str, Any]:
    y = np.zeros(125)
    for t in range(5, 125):
        y[t] = 0.1 + y[t - 5 : t][::-1] @ [0.5, -0.2, 0.1, 0.2, -0.3] + 0.15 * rng.normal()
    return {"K": 5, "T": 120, "y": y[5:]}


def returns(rng: np.random.Generator) -> dict[str, Any]:
    y, variance = np.zeros(200), 1.5
    for t in range(200):
        variance = 0.5 + 0.3 * (y[t - 1] - 0.4) ** 2 + 0.4 * variance if t else variance
        y[t] = 0.4 + np.sqrt(variance) * rng.normal()
    return {"T": 200, "y": y, "sigma1": 1.2}


def moving_average(rng: np.random.Generator) -> dict[str, Any]:
    y, errors = np.zeros(80), 0.5 * rng.normal(size=80)
    for t in range(1, 80):
        y[t] = 0.4 + 0.6 * y[t - 1] + 0.3 * errors[t - 1] + errors[t]
    return {"T": 80, "y": y}


def seeds(rng: np.random.Generator) -> dict[str, Any]:
    x1, x2 = (
        np.repeat([0.0, 0.0, 1.0, 1.0], [5, 6, 5, 5]),
        np.repeat([0.0, 1.0, 0.0, 1.0], [5, 6, 5, 5]),
    )
    sown = rng.integers(4, 80, size=21)
    logit = -0.5 + 0.1 * x1 + 1.3 * x2 - 0.8 * x1 * x2 + 0.3 * rng.normal(size=21)
    return {
        "I": 21,
        "n": rng.binomial(sown, 1 / (1 + np.exp(-logit))),
        "N": sown,
        "x1": x1,
        "x2": x2,
    }


def coin(rng: np.random.Generator) -> dict[str, Any]:
    return {"n": 50, "k": int(rng.binomial(50, 0.6))}


def _solved(change: Any, start: list[float], times: np.ndarray) -> np.ndarray:
    span = (0.0, float(times[-1]))
    return solve_ivp(change, span, start, t_eval=times, rtol=1e-8, atol=1e-10).y


STUDIES = (
    sir,
    predators,
    process,
    hidden_states,
    fishing,
    survival,
    items,
    changepoint,
    slopes,
    missing,
    thermometer,
    votes,
    lynx_hare,
    falcons,
    two_heaps,
    five_heaps,
    schools,
    effects,
    turtles,
    scores,
    radon,
    dogs,
    lags,
    returns,
    seeds,
    coin,
    moving_average,
)


def main() -> None:
    """Writes one JSON file a study."""
    for seed, study in enumerate(STUDIES):
        made = study(np.random.default_rng(seed))
        plain = {
            k: np.round(v, 6).tolist() if isinstance(v, np.ndarray) else v for k, v in made.items()
        }
        (HERE / f"{study.__name__}.json").write_text(json.dumps(plain) + "\n")


if __name__ == "__main__":
    main()
