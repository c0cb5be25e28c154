"""Coverage: whether errors are as large as they say, from many runs of one target."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy import stats

from refti.calibrate.answer_first import answer_first
from refti.calibrate.runs import Job, Run
from refti.calibrate.tuning import TUNING

# A posterior that is a Gaussian exactly is left out: its own expansion is the reference then, and
# an estimate without any spread has no error to be covered.
TARGETS = (
    "regression_noise",
    "bounded",
    "dirichlet_20",
    "cut_gaussian",
    "student_multivariate",
    "skewed_20",
    "skewed_100",
    "quartic_60",
)

# One of each shape that samplers are known to fail on. Neal's funnel is left out as well, and the
# like: their map makes them exactly normal, so that no estimate of them has any spread.
HARD_TARGETS = (
    "cauchy_5",
    "horseshoe_5_centred",
    "eight_schools",
    "ring_5",
    "mixture_10_5d_box",
    "two_widths_5_box",
    "horseshoe_5",
    "change_point",
)


@dataclass(frozen=True)
class CountedShare:
    """A share of runs with the 95 % Wilson bounds of its probability."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Scores:
    """What z = (log_z - truth) / error of one group of runs looks like.

    Attributes:
        runs: how many entered.
        left_out: how many did not, because their error was not finite or only rounding.
        mean: the mean of z and `mean_error` its standard error; 0 is unbiased.
        variance: the variance of z, between `variance_low` and `variance_high` with 99 %; 1 is an
            error of the right size, more an error too small.
        coverage: the shares of the 50, 68, 90 and 95 % intervals that hold the truth.
    """

    runs: int
    left_out: int
    mean: float
    mean_error: float
    variance: float
    variance_low: float
    variance_high: float
    coverage: tuple[CountedShare, ...]

    @property
    def equivalent(self) -> bool:
        """Whether the errors are proved right: the 99 % interval of the variance lies within
        0.7 to 1.4, and the lower bound of 95 % coverage is at least 0.90."""
        return (
            TUNING.variance[0] <= self.variance_low
            and self.variance_high <= TUNING.variance[1]
            and self.coverage[-1].low >= TUNING.least_coverage
        )

    @property
    def within(self) -> bool:
        """Whether the figures themselves lie within 92 to 98 % and 0.7 to 1.4."""
        return (
            TUNING.variance[0] <= self.variance <= TUNING.variance[1]
            and TUNING.coverage_95[0] <= self.coverage[-1].value <= TUNING.coverage_95[1]
        )

    @property
    def contradicted(self) -> bool:
        """Whether the figures rule these limits out, each with 99 %."""
        if self.runs < 2:
            return False
        inside = round(self.coverage[-1].value * self.runs)
        return bool(
            self.variance_high < TUNING.variance[0]
            or self.variance_low > TUNING.variance[1]
            or stats.binom.cdf(inside, self.runs, TUNING.coverage_95[0]) < 0.005
            or stats.binom.sf(inside - 1, self.runs, TUNING.coverage_95[1]) < 0.005
        )

    @property
    def passes(self) -> bool:
        """Whether the figures lie within the limits, or with few runs do not contradict them."""
        if self.runs < TUNING.enough_runs:
            return self.runs > 1 and not self.contradicted
        return self.within

    @property
    def passes_as_hard(self) -> bool:
        """Whether the variance lies within 0.7 to 1.4 and the mean within 0.3 of 0; with few runs,
        whether their 99 % intervals reach there."""
        low, high = TUNING.variance
        if self.runs >= TUNING.enough_hard_runs:
            return low <= self.variance <= high and abs(self.mean) <= TUNING.mean_z
        reach = TUNING.mean_z + NormalDist().inv_cdf(0.995) * self.mean_error
        near = self.variance_low <= high and self.variance_high >= low
        return self.runs > 1 and near and abs(self.mean) <= reach


@dataclass(frozen=True)
class Coverage:
    """The scores of a target: of all its runs, and of those to be trusted, which decide.

    Hard targets have a rule of their own: their mean is looked at, their intervals are not.
    """

    target: str
    runs: int
    trusted: int
    of_all: Scores
    of_trusted: Scores
    hard: bool = False

    @property
    def passes(self) -> bool:
        """Whether the errors of trusted runs are right."""
        return self.of_trusted.passes_as_hard if self.hard else self.of_trusted.passes

    @property
    def untrusted_share(self) -> float:
        """The share of runs that were not trusted, and so did not decide."""
        return 1 - self.trusted / self.runs


def jobs(targets: Sequence[str], seeds: int, settings: dict[str, object]) -> list[Job]:
    """Every target under as many seeds, counted from 0."""
    return [Job("coverage", t, seed, settings=settings) for t in targets for seed in range(seeds)]


def coverage(runs: Iterable[Run], *, hard: bool = False) -> list[Coverage]:
    """The coverage of every target in the runs, to be judged as hard ones or not."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.name, []).append(run)
    return [
        Coverage(
            name,
            len(group),
            sum(run.trusted for run in group),
            _of_runs(group),
            _of_trusted(group),
            hard,
        )
        for name, group in groups.items()
    ]


def scores(z: np.ndarray, left_out: int = 0) -> Scores:
    """The figures of z-scores."""
    count = len(z)
    if count < 2:
        unknown = (CountedShare(math.nan, 0.0, 1.0),) * len(TUNING.levels)
        return Scores(count, left_out, math.nan, math.nan, math.nan, 0.0, math.inf, unknown)
    variance = float(np.var(z, ddof=1))
    low, high = stats.chi2.ppf([0.005, 0.995], count - 1)
    shares = [np.abs(z) <= NormalDist().inv_cdf(0.5 + level / 2) for level in TUNING.levels]
    return Scores(
        runs=count,
        left_out=left_out,
        mean=float(np.mean(z)),
        mean_error=math.sqrt(variance / count),
        variance=variance,
        variance_low=float((count - 1) * variance / high),
        variance_high=float((count - 1) * variance / low),
        coverage=tuple(wilson(int(inside.sum()), count) for inside in shares),
    )


def wilson(inside: int, count: int) -> CountedShare:
    """A share with its 95 % Wilson bounds."""
    quantile = NormalDist().inv_cdf(0.975)
    share, spread = inside / count, quantile**2 / count
    centre = (share + spread / 2) / (1 + spread)
    half = quantile / (1 + spread) * math.sqrt(share * (1 - share) / count + spread / (4 * count))
    return CountedShare(share, max(0.0, centre - half), min(1.0, centre + half))


def text(table: Sequence[Coverage]) -> str:
    """The answer in words, then two or three lines a target."""
    passed = sum(row.passes for row in table)
    rules = dict.fromkeys(_HARD_RULE if row.hard else _RULE for row in table)
    answer = f"{passed} of {len(table)} targets pass: {'; '.join(rules)}."
    lines = [_HEAD]
    for row in table:
        verdict = "passes" if row.passes else "FAILS"
        proved = ", equivalent" if row.of_trusted.equivalent else ""
        aside = f", {100 * row.untrusted_share:.0f} % untrusted" if row.hard else ""
        left = row.of_all.left_out
        without = f", {left} without a usable error left out" if left else ""
        lines.append(f"{row.target}: {verdict}{proved}{aside}{without}")
        lines.append(_line("trusted", row.of_trusted))
        if row.trusted < row.runs:
            lines.append(_line("all", row.of_all))
    return answer_first(answer, lines)


def _of_trusted(runs: Sequence[Run]) -> Scores:
    return _of_runs([run for run in runs if run.trusted])


def _of_runs(runs: Sequence[Run]) -> Scores:
    entering = [run.z for run in runs if math.isfinite(run.z) and run.error > TUNING.rounding]
    return scores(np.array(entering), len(runs) - len(entering))


def _line(group: str, s: Scores) -> str:
    shares = " ".join(f"{100 * share.value:3.0f}" for share in s.coverage)
    last = s.coverage[-1]
    return (
        f"  {group:8s}{s.runs:5d}  {s.mean:+5.2f} ± {s.mean_error:4.2f} "
        f"{s.variance:5.2f} ({s.variance_low:4.2f} to {s.variance_high:4.2f})  {shares} "
        f"({100 * last.low:.0f} to {100 * last.high:.0f})"
    )


_HEAD = "  runs              mean z    var z (99 %)           50  68  90  95 % (bounds)"
_RULE = (
    f"variance of z within {TUNING.variance[0]} to {TUNING.variance[1]} and 95 % intervals that "
    f"cover {100 * TUNING.coverage_95[0]:.0f} to {100 * TUNING.coverage_95[1]:.0f} % "
    f"(trusted runs; with fewer than {TUNING.enough_runs}, not contradicted)"
)
_HARD_RULE = (
    f"variance of z within {TUNING.variance[0]} to {TUNING.variance[1]} and its mean within "
    f"{TUNING.mean_z} of 0 (trusted runs; with fewer than {TUNING.enough_hard_runs}, not "
    "contradicted)"
)
