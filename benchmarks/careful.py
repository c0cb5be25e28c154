"""The cost of being careful: gradients of refti's defaults against NUTS with bridge sampling.

`make careful` runs both on every target, prints the table and writes docs/careful.md. The peer's
gradients are those it needs for refti's error; its error falls as one over the root of its draws.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import special, stats

import refti
from benchmarks.bridge import CHAINS, FEWEST, KEPT, WARMUP, Bridged, bridged
from benchmarks.targets import skewed
from refti.reproduce import radiata

ASKED = 0.05  # the error that refti's defaults ask for
FINEST = 0.001  # an error below which nobody asks, however exact a reference happens to be
FALSE_ALARM = 1e-4  # chance that right errors are called wrong, by the sum of z²


@dataclass(frozen=True)
class Target:
    """A model and its exact log evidence; `easy` where a Gaussian proposal is enough."""

    name: str
    easy: bool
    make: Callable[[], tuple[refti.Model, float]]


@dataclass(frozen=True)
class Row:
    """Both sides on one target, over all seeds."""

    target: Target
    exact: float
    ours: Sequence[refti.Evidence]
    peers: Sequence[Bridged]

    @property
    def our_gradients(self) -> float:
        """Gradients of one run of refti, on average."""
        return float(np.mean([result.cost.gradient_evaluations for result in self.ours]))

    @property
    def our_densities(self) -> float:
        """Evaluations without a gradient of one run of refti, on average."""
        return float(np.mean([result.cost.density_evaluations for result in self.ours]))

    @property
    def is_fair(self) -> bool:
        """Whether both sides' errors hold the truth, without which costs mean nothing."""
        squares = [np.sum(self.z(runs) ** 2) for runs in (self.ours, self.peers)]
        return all(stats.chi2.sf(squares, len(self.ours)) > FALSE_ALARM)

    def z(self, runs: Sequence[refti.Evidence] | Sequence[Bridged]) -> np.ndarray:
        """(value - exact) / error of each run."""
        return np.array([np.divide(run.value - self.exact, run.error) for run in runs])

    def draws_to(self, error: float) -> float:
        """The draws a chain with which the peer reaches an error."""
        return max(FEWEST, KEPT * (_root_mean_square(self.peers) / max(error, FINEST)) ** 2)

    def peer_gradients(self, draws: float) -> float:
        """Gradients of the peer with so many draws a chain, warm-up included, on average."""
        warmup = np.mean([run.warmup_gradients for run in self.peers])
        return float(warmup + draws * np.mean([run.draw_gradients for run in self.peers]))

    def ratio(self, error: float) -> float:
        """refti's gradients over those of the peer at an error."""
        return self.our_gradients / self.peer_gradients(self.draws_to(error))

    def line(self) -> str:
        """The row of the table."""
        reached = _root_mean_square(self.ours)
        draws = self.draws_to(reached)
        trusted = sum(result.trusted for result in self.ours)
        ratios = [f"{self.ratio(error):.2f}" for error in (reached, ASKED)]
        cells = [
            self.target.name,
            "easy" if self.target.easy else "hard",
            _count(self.our_gradients),
            f"{reached:.4f}",
            _scores(self.z(self.ours)),
            f"{trusted} of {len(self.ours)}",
            _count(self.peer_gradients(KEPT)),
            f"{_root_mean_square(self.peers):.4f}",
            _scores(self.z(self.peers)),
            _count(draws),
            _count(self.peer_gradients(draws)),
            *(ratio if self.is_fair else f"({ratio})" for ratio in ratios),
            f"{_count(self.our_densities)} / {_count(CHAINS * draws)}",
        ]
        return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Prints the table row by row; with all targets, writes it as a page of the documentation."""
    targets = {target.name: target for target in _targets()}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--targets", nargs="+", choices=targets, default=list(targets))
    asked = parser.parse_args()
    lines, rows = [_HEAD, "|---|---|" + "---:|" * 12], []
    print("\n".join(lines), flush=True)
    for name in asked.targets:
        try:
            rows.append(_row(targets[name], asked.seeds))
            lines.append(rows[-1].line())
        except (refti.RefTIError, ValueError) as error:
            lines.append(f"| {name} | refused: {str(error).splitlines()[0]} |" + " — |" * 12)
        print(lines[-1], flush=True)
    closing = "\n\n".join(_closing(rows))
    print(closing)
    if set(asked.targets) == set(targets):
        page = Path(__file__).parent.parent / "docs" / "careful.md"
        introduction = _INTRODUCTION.format(seeds=asked.seeds)
        page.write_text("\n".join([introduction, *lines, "", closing, ""]), encoding="utf-8")


def _row(target: Target, seeds: int) -> Row:
    model, exact = target.make()
    ours = [refti.evidence(model, seed=seed, progress=False) for seed in range(seeds)]
    return Row(target, exact, ours, bridged(model, seeds))


def _closing(rows: Sequence[Row]) -> Iterator[str]:
    """Yields a sentence with the ratios of the easy targets, and one with those of the hard."""
    for kind, easy in (("easy", True), ("hard", False)):
        ratios = [
            row.ratio(error)
            for row in rows
            if row.target.easy == easy and row.is_fair
            for error in (_root_mean_square(row.ours), ASKED)
        ]
        if ratios:
            at_ours, at_asked = np.array(ratios).reshape(-1, 2).T
            yield (
                f"Over the {len(at_ours)} {kind} targets where both sides' errors hold the truth, "
                f"ours / peer's is {np.exp(np.log(at_ours).mean()):.2f} at our error "
                f"({at_ours.min():.2f} to {at_ours.max():.2f}) and "
                f"{np.exp(np.log(at_asked).mean()):.2f} at {ASKED} "
                f"({at_asked.min():.2f} to {at_asked.max():.2f}), in the geometric mean."
            )


def _root_mean_square(runs: Sequence[refti.Evidence] | Sequence[Bridged]) -> float:
    return float(np.sqrt(np.mean([run.error**2 for run in runs])))


def _scores(z: np.ndarray) -> str:
    return f"{np.abs(z).mean():.1f} ({np.abs(z).max():.1f})"


def _count(number: float) -> str:
    return f"{number:,.0f}"


_HEAD = (
    "| target | kind | our gradients | our error | our z | trusted "
    f"| peer's gradients, {KEPT:,} draws | peer's error | peer's z | peer's draws for our error "
    f"| its gradients | ours / peer's | ours / peer's at {ASKED} | densities, ours / peer's |"
)
_INTRODUCTION = f"""\
# The cost of being careful

Written by `make careful`: `refti.evidence(model)` at its defaults beside what many people run,
NumPyro's NUTS at its defaults ({CHAINS} chains, {WARMUP:,} iterations of warm-up, {KEPT:,} draws a
chain) and bridge sampling with a Gaussian proposal, {{seeds}} seeds each. The cost is counted in
gradients of the log density, warm-up and everything else included; evaluations without a gradient
stand apart in the last column. Errors are root mean squares over the seeds. z is the mean of
|value − exact| / error and, in parentheses, the largest; errors that are right give about 0.8.

*Ours / peer's* is the ratio of gradients at equal error. The peer's error falls as one over the
root of its draws, so it is given the draws that bring it to our error (or to {FINEST} where ours is
smaller), but no fewer than {FEWEST} a chain; this favours it where so few would not determine its
proposal. The ratio at {ASKED} gives it only the draws for the error that our defaults ask for,
however small ours turned out. Ratios in parentheses mean nothing: the values of a side lie further
from the truth than its errors allow (by the sum of z², with {FALSE_ALARM:g} for the rate of false
alarms), and more draws of the same chains do not mend that.
"""


def _targets() -> list[Target]:
    """Every target, easy ones first."""
    return [
        Target("correlated Gaussian, 5-D", True, _gaussian),
        Target("AR(1), 50-D", True, lambda: _ar1(50)),
        Target("conjugate regression, 6-D", True, _regression),
        Target("radiata, 3-D", True, lambda: (radiata.density(), radiata.EXACT_LOG_Z["density"])),
        Target("log-gamma, 10-D", True, _log_gamma),
        Target("skewed and correlated, 100-D", False, lambda: skewed(100)),
        Target("AR(1), 200-D", False, lambda: _ar1(200)),
        Target("Student-t, 3 degrees, 10-D", False, _student),
        Target("banana, 2-D", False, _banana),
        Target("two modes, 9 to 1, 2-D", False, _two_modes),
        Target("support cut, undeclared, 5-D", False, _cut),
        Target("simplex, Dirichlet of 20", False, _dirichlet),
    ]


LOG_2_PI = math.log(2 * math.pi)
FACTOR = np.tril(np.full((5, 5), 0.6), -1) + np.diag([0.2, 0.5, 1.0, 2.0, 4.0])


def _gaussian() -> tuple[refti.Model, float]:
    precision, mean = np.linalg.inv(FACTOR @ FACTOR.T), np.arange(5.0)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -0.5 * (x - mean) @ precision @ (x - mean)

    return refti.Model(log_density, dim=5), _gaussian_log_z()


def _gaussian_log_z() -> float:
    return 2.5 * LOG_2_PI + float(np.log(np.diag(FACTOR)).sum())


def _ar1(dim: int) -> tuple[refti.Model, float]:
    rho = 0.9

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -0.5 * (x[0] ** 2 + jnp.sum((x[1:] - rho * x[:-1]) ** 2) / (1 - rho**2))

    return refti.Model(log_density, dim=dim), 0.5 * (
        dim * LOG_2_PI + (dim - 1) * math.log1p(-(rho**2))
    )


def _regression() -> tuple[refti.Model, float]:
    """Five coefficients of scale 2 times the noise, whose variance has an inverse Gamma(3, 2)."""
    rng = np.random.default_rng(6)
    design = rng.normal(size=(40, 5)) @ np.triu(np.full((5, 5), 0.5) + 0.5 * np.eye(5))
    responses = design @ np.array([1.0, -2.0, 0.5, 0.0, 3.0]) + rng.normal(size=40)

    def log_density(
        coefficients: Float[Array, " column"], variance: Float[Array, ""]
    ) -> Float[Array, ""]:
        squares = jnp.sum((responses - design @ coefficients) ** 2) + jnp.sum(coefficients**2) / 4
        return -(squares / 2 + 2) / variance - (45 / 2 + 3 + 1) * jnp.log(variance)

    supports = {"coefficients": refti.real(shape=(5,)), "variance": refti.positive()}
    precision = design.T @ design + np.eye(5) / 4
    least = responses @ responses - responses @ design @ np.linalg.solve(
        precision, design.T @ responses
    )
    exact = 2.5 * LOG_2_PI - 0.5 * np.linalg.slogdet(precision)[1]
    exact += special.gammaln(23.0) - 23.0 * math.log(least / 2 + 2)
    return refti.Model(log_density, supports), float(exact)


def _log_gamma() -> tuple[refti.Model, float]:
    shapes = np.linspace(0.7, 5.0, 10)
    model = refti.Model(lambda x: jnp.sum(shapes * x - jnp.exp(x)), dim=10)
    return model, float(special.gammaln(shapes).sum())


def _student() -> tuple[refti.Model, float]:
    scales, degrees, dim = np.linspace(0.5, 3.0, 10), 3.0, 10

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -0.5 * (degrees + dim) * jnp.log1p(jnp.sum((x / scales) ** 2) / degrees)

    exact = special.gammaln(degrees / 2) - special.gammaln((degrees + dim) / 2)
    exact += 0.5 * dim * math.log(degrees * math.pi) + np.log(scales).sum()
    return refti.Model(log_density, dim=dim), float(exact)


def _banana() -> tuple[refti.Model, float]:
    """A normal of scale 10 bent by 0.03 x²."""

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -0.5 * ((x[0] / 10) ** 2 + (x[1] - 0.03 * (x[0] ** 2 - 100)) ** 2)

    return refti.Model(log_density, dim=2), LOG_2_PI + math.log(10)


def _two_modes() -> tuple[refti.Model, float]:
    centre = np.array([5.0, 0.0])

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        heavy = math.log(0.9) - 0.5 * jnp.sum((x + centre) ** 2)
        return jnp.logaddexp(heavy, math.log(0.1) - 0.5 * jnp.sum((x - centre) ** 2))

    return refti.Model(log_density, dim=2), LOG_2_PI


def _cut() -> tuple[refti.Model, float]:
    """The correlated Gaussian, centred, where its coordinates sum to more than 1."""
    precision, total = np.linalg.inv(FACTOR @ FACTOR.T), FACTOR.sum(axis=0)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.where(jnp.sum(x) > 1, -0.5 * x @ precision @ x, -jnp.inf)

    share = stats.norm.logsf(1 / np.linalg.norm(total))
    return refti.Model(log_density, dim=5), _gaussian_log_z() + float(share)


def _dirichlet() -> tuple[refti.Model, float]:
    shapes = np.linspace(0.5, 4.0, 20)
    model = refti.Model(
        lambda p: jnp.sum((shapes - 1) * jnp.log(p)), {"p": refti.simplex(len(shapes))}
    )
    return model, float(special.gammaln(shapes).sum() - special.gammaln(shapes.sum()))


if __name__ == "__main__":
    main()
