"""The data of the case studies, made up under fixed seeds: `python data.py` writes the files."""

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
