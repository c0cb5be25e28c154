"""What the paper's recipe costs on two of its COVID-19 models, beside refti's runs of them.

    python -m benchmarks.covid_cost -o cost.jsonl --runs runs

The recipe: 11 equal rungs of q_ref^(1-λ) q^λ on unconstrained coordinates, q_ref the Gaussian with
the moments of posterior draws, NUTS at NumPyro's defaults with 4 chains of 2,000 iterations, half
of them burn-in. The draws behind the reference are not charged to it, and every chain starts at
one of them. Three rungs are measured, the large model's with fewer iterations: gradients are
interpolated between rungs, linearly in λ, and scaled to 2,000 iterations. Every rung is a line of
the file, and is not run again.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.nuts import Sampled, Whitening, curvature_at_mode, sample
from refti.paper.covid import model as covid
from refti.studies import append_record, read_records

RUNGS = np.linspace(0.0, 1.0, 11)
CHAINS, ITERATIONS = 4, 2000


@dataclass(frozen=True)
class Plan:
    """Which rungs of a variant are measured, and with how many iterations."""

    variant: str
    rungs: tuple[float, ...]
    iterations: int


PLANS = (
    Plan("W=7", (0.0, 0.5, 1.0), ITERATIONS),
    Plan("GI=8", (0.0, 0.5, 1.0), 200),
)


@dataclass(frozen=True)
class Rung:
    """What one rung took; `computed` gradients are more, as chains wait for the slowest."""

    variant: str
    rung: float
    iterations: int
    gradients: int
    computed: int
    seconds: float


def main() -> None:
    """Measures what is missing and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-o", type=Path, required=True, help="JSON lines, read and added to")
    parser.add_argument("--runs", type=Path, help="refti's runs, NAME/result.json")
    parser.add_argument("--variants", nargs="+", default=[plan.variant for plan in PLANS])
    asked = parser.parse_args()
    plans = [plan for plan in PLANS if plan.variant in asked.variants]
    for plan in plans:
        _measure(plan, asked.o)
    print(table(plans, _finished(asked.o), asked.runs))


def _measure(plan: Plan, path: Path) -> None:
    """Runs the rungs of a plan that the file does not hold."""
    done = {(r.variant, r.rung, r.iterations) for r in _finished(path)}
    missing = [r for r in plan.rungs if (plan.variant, r, plan.iterations) not in done]
    if not missing:
        return
    model = covid.model(covid.variant(plan.variant))
    with jax.enable_x64(True):
        draws = _posterior_draws(model.log_density, model.start)
        for rung in missing:
            began = time.perf_counter()
            ran = _rung(model.log_density, draws, rung, plan.iterations)
            seconds = time.perf_counter() - began
            record = Rung(plan.variant, rung, plan.iterations, ran.gradients, ran.computed, seconds)
            append_record(path, asdict(record))


def _posterior_draws(log_density: Any, start: np.ndarray) -> np.ndarray:
    whitening, _ = curvature_at_mode(log_density, start)
    drawn = sample(log_density, whitening, chains=8, warmup=400, kept=400, seed=1)
    return drawn.x.reshape(-1, len(start))


def _rung(log_density: Any, draws: np.ndarray, rung: float, iterations: int) -> Sampled:
    """The recipe's chains at one rung, in the model's own coordinates."""
    centre = jnp.asarray(draws.mean(axis=0))
    precision = jnp.asarray(np.linalg.inv(np.cov(draws, rowvar=False)))

    def tempered(x: Any) -> Any:
        reference = -0.5 * (x - centre) @ precision @ (x - centre)
        # Where q is zero it is so at every rung but the first, which is the reference alone.
        return reference if rung == 0 else (1 - rung) * reference + rung * log_density(x)

    return sample(
        tempered,
        Whitening(np.zeros(len(centre)), np.eye(len(centre))),
        chains=CHAINS,
        warmup=iterations // 2,
        kept=iterations - iterations // 2,
        seed=2,
        starts=draws[:: len(draws) // CHAINS][:CHAINS],
    )


def _finished(path: Path) -> list[Rung]:
    return read_records(path, lambda record: Rung(**record))


def recipe_total(rungs: list[Rung], name: str) -> float:
    """A count of all 11 rungs of 2,000 iterations, from those that were measured."""
    ordered = sorted(rungs, key=lambda rung: rung.rung)
    each = [getattr(r, name) * ITERATIONS / r.iterations for r in ordered]
    return float(np.interp(RUNGS, [r.rung for r in ordered], each).sum())


def table(plans: list[Plan], rungs: list[Rung], runs: Path | None) -> str:
    """The Markdown table of the recipe's cost and refti's."""
    lines = [_HEAD, "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for plan in plans:
        own = [r for r in rungs if r.variant == plan.variant and r.iterations == plan.iterations]
        gradients, seconds = (recipe_total(own, name) for name in ("gradients", "seconds"))
        whole = plan.iterations == ITERATIONS and len(own) == len(RUNGS)
        how = "all" if whole else f"{len(own)} rungs × {plan.iterations}, extrapolated"
        per = seconds / gradients
        cells = [plan.variant, how, f"{gradients:,.0f}", f"{seconds:,.0f}", f"{1e6 * per:.0f}"]
        lines.append("| " + " | ".join(cells + _beside(plan.variant, gradients, per, runs)) + " |")
    return "\n".join([*lines, "", _CLOSING])


def _beside(variant: str, gradients: float, per: float, runs: Path | None) -> list[str]:
    """refti's cells of a row."""
    result = runs / variant / "result.json" if runs else None
    if result is None or not result.exists():
        return ["—"] * 5
    record = json.loads(result.read_text(encoding="utf-8"))
    cost = record["cost"]
    own = cost["seconds"] / cost["gradient_evaluations"]
    return [
        f"{cost['gradient_evaluations']:,}",
        f"{cost['seconds']:,.0f}",
        f"{1e6 * own:.0f}",
        f"{gradients / cost['gradient_evaluations']:.1f}",
        f"{per / own:.2f}",
    ]


_HEAD = (
    "| variant | measured | recipe: gradients | seconds | µs a gradient | refti: gradients "
    "| seconds | µs a gradient | ratio of gradients | ratio of seconds a gradient |"
)
_CLOSING = (
    "Seconds include compiling on both sides; the recipe's and refti's are comparable only if both "
    "ran on the same machine with the same load."
)


if __name__ == "__main__":
    main()
