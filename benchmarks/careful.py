"""The cost of being careful: gradients of refti's defaults against NUTS with bridge sampling.

`make careful` runs both on every target, prints the table and writes docs/careful.md. The peer's
gradients are those it needs for refti's error; its error falls as one over the root of its draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy import stats

import refti
from benchmarks.bridge import CHAINS, FEWEST, KEPT, WARMUP, Bridged, bridged
from benchmarks.made_by import made_by
from refti import suite
from refti.paper.radiata import model as radiata

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
        page.write_text(
            "\n".join([introduction, *lines, "", closing, "", made_by("make careful")]),
            encoding="utf-8",
        )


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
    easy = [
        suite.find("gaussian"),
        suite.ar1(50),
        suite.find("regression_noise"),
        suite.log_gamma(),
    ]
    hard = [
        suite.skewed(100),
        suite.ar1(200),
        suite.find("student_multivariate"),
        suite.banana(2),
        suite.bimodal(2, 10.0, 0.9),
        suite.find("cut_gaussian"),
        suite.dirichlet(20),
    ]
    found = [
        Target(target.name, kind, partial(_made, target))
        for kind, targets in ((True, easy), (False, hard))
        for target in targets
    ]
    made = radiata.density(), radiata.EXACT_LOG_Z["density"]
    return [*found[: len(easy)], Target("radiata", True, lambda: made), *found[len(easy) :]]


def _made(target: suite.Target) -> tuple[refti.Model, float]:
    return target.model(), target.log_z


if __name__ == "__main__":
    main()
