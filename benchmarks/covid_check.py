"""Evidences of the COVID-19 models once more, by code that shares the density with refti alone.

    python -m benchmarks.covid_check -o check.jsonl --runs runs

Posterior draws by NumPyro's NUTS, then bridge sampling with the proposals of nested_bridge, those
of daily models in the coordinates of log_cases, each half of the chains with a proposal fitted to
the other half. Beside it the Gaussian bridge, whose proposal has the draws' covariance. Finished
variants are read from the file and not run again; --runs holds refti's runs, NAME/result.json, to
compare with.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import jax
import numpy as np
from numpyro.diagnostics import effective_sample_size, gelman_rubin

from benchmarks.bridge import bridge as gaussian_bridge
from benchmarks.log_cases import Coordinates
from benchmarks.nested_bridge import Nested, Proposal, Whole, bridge
from benchmarks.nuts import curvature_at_mode, sample
from refti.paper.covid import model as covid
from refti.studies import append_record, plus_minus, read_records

VARIANTS = ("GI=8", "AR(2)", "AR(3)", "W=7", "W=7 as printed")
CHAINS, WARMUP, KEPT = 8, 400, 400
BRIDGED = 50  # draws of a chain that the nested bridge uses, each for a curvature's price
KNOWN = {"W=7 as printed": (-812.87, 0.05)}


@dataclass(frozen=True)
class Checked:
    """What was found for one variant.

    Attributes:
        value, error: log evidence, the mean of the two halves, and its standard error by the
            jackknife over chains in each.
        halves: the estimates of the two halves of the chains.
        gaussian: the same from the Gaussian bridge, (value, its own error), for each half.
        overlap: of posterior and proposal, the smaller of the halves'.
        gradients: of the sampling and of the bridge's curvatures.
        fewest, worst: the least effective sample size and the greatest R-hat of a coordinate.
    """

    name: str
    dim: int
    value: float
    error: float
    halves: tuple[float, float]
    gaussian: tuple[tuple[float, float], ...]
    overlap: float
    gradients: int
    divergences: int
    fewest: float
    worst: float


def main() -> None:
    """Runs what is missing and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("-o", type=Path, required=True, help="JSON lines, read and added to")
    parser.add_argument("--runs", type=Path, help="refti's runs, NAME/result.json")
    asked = parser.parse_args()
    done = finished(asked.o)
    for name in asked.variants:
        if name not in done:
            done[name] = asdict(checked(name))
            append_record(asked.o, done[name])
    print(table([done[name] for name in asked.variants], asked.runs))


def finished(path: Path) -> dict[str, dict]:
    """The variants of a JSON-lines file by name; a line cut short by a kill is left out."""
    return {record["name"]: record for record in read_records(path, dict)}


def checked(name: str) -> Checked:
    """Samples one variant and bridges it."""
    plain = name.removesuffix(" as printed")
    variant = covid.variant(plain) if plain == name else covid.variant_as_printed(plain)
    model = covid.model(variant)
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        whitening, searched = curvature_at_mode(model.log_density, model.start)
        drawn = sample(
            model.log_density, whitening, chains=CHAINS, warmup=WARMUP, kept=KEPT, seed=1
        )
        coordinates = Coordinates.of(model, variant)
        y = coordinates.to_y(drawn.x.reshape(-1, model.dim)).reshape(drawn.x.shape)
        density = coordinates.density(model.log_density)
        first, second = y[: CHAINS // 2], y[CHAINS // 2 :]

        def proposal(fit: np.ndarray) -> Proposal:
            if coordinates.daily:
                return Nested.of(density, coordinates.effects, fit)
            return Whole.of(density, fit)

        step = KEPT // BRIDGED if coordinates.daily else 1
        halves = [
            bridge(proposal(fit), own[:, ::step], rng)
            for fit, own in ((first, second), (second, first))
        ]
        gaussians = [
            gaussian_bridge(half, lambda x: _finite(model.log_densities(x)), rng)
            for half in np.split(drawn.x, 2)
        ]
    return Checked(
        name=name,
        dim=model.dim,
        value=float(np.mean([half.value for half in halves])),
        error=float(np.sqrt(sum(half.error**2 for half in halves)) / 2),
        halves=(halves[0].value, halves[1].value),
        gaussian=tuple(gaussians),
        overlap=min(half.overlap for half in halves),
        gradients=searched + drawn.gradients + sum(half.gradients for half in halves),
        divergences=drawn.divergences,
        fewest=float(np.min(effective_sample_size(drawn.x))),
        worst=float(np.max(gelman_rubin(drawn.x))),
    )


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, -np.inf)


def table(records: list[dict], runs: Path | None) -> str:
    """The Markdown table of what was found, with refti's values where there are runs."""
    lines = [_HEAD, "|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|"]
    for each in records:
        value, error = each["value"], each["error"]
        other, z = _compared(runs, each["name"], value, error)
        cells = [
            each["name"],
            f"{each['dim']}",
            f"{value:.3f} ± {error:.3f}",
            "halves " + ", ".join(f"{half:.3f}" for half in each["halves"]),
            f"{each['overlap']:.2f}",
            ", ".join(plus_minus(v, e, decimals=2) for v, e in each["gaussian"]),
            f"{each['gradients']:,}",
            f"{each['fewest']:.0f}",
            f"{each['worst']:.3f}",
            other,
            z,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", _CLOSING])


def _compared(runs: Path | None, name: str, value: float, error: float) -> tuple[str, str]:
    """refti's value, or the known one, and the difference in combined errors."""
    result = runs / name / "result.json" if runs else None
    if result is not None and result.exists():
        record = json.loads(result.read_text(encoding="utf-8"))
        theirs, own = record["value"], record["error"]
    elif name in KNOWN:
        theirs, own = KNOWN[name]
    else:
        return "—", "—"
    return plus_minus(theirs, own, decimals=3), f"{(value - theirs) / np.hypot(error, own):+.1f}"


_HEAD = (
    "| variant | parameters | bridge log z | by halves | overlap | Gaussian bridge, by halves "
    "| gradients | fewest effective | R-hat | refti, or known | z |"
)
_CLOSING = (
    f"NUTS: {CHAINS} chains × ({WARMUP} + {KEPT}). Errors of the bridge: jackknife over whole "
    "chains. Errors of the Gaussian bridge: its own relative mean squared error."
)


if __name__ == "__main__":
    main()
