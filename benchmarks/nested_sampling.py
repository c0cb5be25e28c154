"""refti beside nested sampling on every target of the suite whose prior is uniform on a box.

For each target and seed three runs, one after the other: refti with its defaults; dynesty (static,
its own choice of bounds and sampler) with 1,000 live points; and dynesty with as many live points
as its claimed error takes to be refti's, for that goes with 1 / sqrt(live points). Both go on until
0.01 nats are left. No run of the last kind is started that would take longer than --limit seconds:
it gets fewer live points, and a star. "off" is the estimate minus the truth, which is what counts;
"error" is what was claimed. refti counts gradients and densities together, dynesty calls of the
likelihood, which is the same function, compiled. Seconds include compiling.

    python -m benchmarks.nested_sampling [--targets eggbox,grid_25_box] [--seeds 3] [-o runs.jsonl]
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import dynesty
import jax
import numpy as np

import refti
from refti.studies import append_record, read_records
from refti.suite import TARGETS, Box, Target, find

LIVE = 1000
FEWEST = 50  # live points
# dynesty's own threshold grows with the live points, and so would what its claimed error holds of
# the mass not reached yet.
REMAINING = 0.01
REFTI, STATIC, EQUAL = "refti", "dynesty, 1,000 live points", "dynesty, equal error"


@dataclass(frozen=True)
class Run:
    """What came of one way on one target; `capped` had fewer live points than it should have."""

    target: str
    seed: int
    way: str
    live: int
    evaluations: int
    seconds: float
    log_z: float
    error: float
    trusted: bool
    capped: bool = False

    @property
    def key(self) -> tuple[str, int, str]:
        """What tells this run from others."""
        return self.target, self.seed, self.way


def refti_run(target: Target, seed: int) -> Run:
    """The run of refti; not a number where it refused."""
    began = time.perf_counter()
    try:
        result = refti.evidence(target.model(), seed=seed, progress=False)
    except refti.RefTIError as error:
        print(f"{target.name}, seed {seed}: {error}", flush=True)
        seconds = time.perf_counter() - began
        return Run(target.name, seed, REFTI, 0, 0, seconds, math.nan, math.nan, False)
    seconds = time.perf_counter() - began
    evaluations = int(result.cost.evaluations)
    return Run(
        target.name,
        seed,
        REFTI,
        0,
        evaluations,
        seconds,
        float(result.log_z),
        float(result.error),
        bool(result.trusted),
    )


def nested_run(target: Target, seed: int, way: str, live: int, *, capped: bool = False) -> Run:
    """The run of dynesty with so many live points."""
    assert target.box is not None
    began = time.perf_counter()
    with jax.enable_x64(True):
        sampler = dynesty.NestedSampler(
            _one_point(target.box),
            target.box.from_cube,
            target.dim,
            nlive=live,
            rstate=np.random.default_rng(seed),
        )
        sampler.run_nested(dlogz=REMAINING, print_progress=False)
    found = sampler.results
    return Run(
        target.name,
        seed,
        way,
        live,
        int(np.sum(found.ncall)),
        time.perf_counter() - began,
        float(found.logz[-1]),
        float(found.logzerr[-1]),
        trusted=True,
        capped=capped,
    )


def equal_error_run(ours: Run, static: Run, target: Target, limit: float) -> Run:
    """The run of dynesty whose claimed error should be ours, if the limit of seconds allows it."""
    wanted, allowed = float(LIVE), LIVE * limit / static.seconds
    if math.isfinite(ours.error):
        wanted *= (static.error / max(ours.error, 1e-6)) ** 2
    live = max(FEWEST, int(min(wanted, allowed)))
    return nested_run(target, ours.seed, EQUAL, live, capped=wanted > allowed)


def runs_of(
    target: Target, seed: int, limit: float, done: dict[tuple[str, int, str], Run]
) -> Iterator[Run]:
    """Yields the three runs of a target, those that are done already as they were."""

    def make(way: str, run: Callable[[], Run]) -> Run:
        known = done.get((target.name, seed, way))
        return run() if known is None else known

    ours = make(REFTI, lambda: refti_run(target, seed))
    yield ours
    static = make(STATIC, lambda: nested_run(target, seed, STATIC, LIVE))
    yield static
    yield make(EQUAL, lambda: equal_error_run(ours, static, target, limit))


def table(runs: Sequence[Run]) -> str:
    """The runs as a table in Markdown, one row a target: medians, and every distance."""
    head = ["target", "dim", "log z"]
    for way in (REFTI, STATIC, EQUAL):
        head += [f"{way}: evaluations", "seconds", "off", "error"]
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for name in dict.fromkeys(run.target for run in runs):
        target = find(name)
        cells = [name, str(target.dim), f"{target.log_z:.3f}"]
        for way in (REFTI, STATIC, EQUAL):
            cells += _cells([r for r in runs if r.target == name and r.way == way], target.log_z)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(runs: Sequence[Run], truth: float) -> list[str]:
    if not runs:
        return ["–"] * 4
    star = "*" if any(run.capped for run in runs) else ""
    off = [
        f"{run.log_z - truth:+.3f}{'' if run.trusted else ' (untrusted)'}".replace("-", "−")
        for run in runs
    ]
    return [
        f"{median(run.evaluations for run in runs):,.0f}{star}",
        f"{median(run.seconds for run in runs):.0f}",
        ", ".join(off),
        f"{median(run.error for run in runs):.3f}",
    ]


def _one_point(box: Box) -> Callable[[np.ndarray], float]:
    """The log likelihood of one point, compiled; dynesty asks for one at a time."""
    compiled = jax.jit(box.log_likelihood)

    def log_likelihood(x: np.ndarray) -> float:
        return float(compiled(x))

    return log_likelihood


def _read(record: dict[str, Any]) -> Run:
    numbers = {name: float(record[name]) for name in ("seconds", "log_z", "error")}
    return Run(**{**record, **numbers})


def main() -> None:
    """Makes the runs that are not there yet and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--targets", help="names with commas between; all with a box if left out")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of a run, about")
    parser.add_argument("-o", "--output", type=Path, default=Path("runs/nested_sampling.jsonl"))
    given = parser.parse_args()
    # It has much to say of bounds that it enlarges, at every update of them.
    warnings.filterwarnings("ignore", message="The enlargement factor", category=UserWarning)
    names = given.targets.split(",") if given.targets else [t.name for t in TARGETS if t.box]
    targets = [find(name) for name in names]
    without = [target.name for target in targets if target.box is None]
    if without:
        parser.error(f"{without[0]} has no uniform prior on a box, which nested sampling needs.")
    done = {run.key: run for run in read_records(given.output, _read)}
    made = []
    for target in targets:
        for seed in range(given.seeds):
            for run in runs_of(target, seed, given.limit, done):
                if run.key not in done:
                    append_record(given.output, asdict(run))
                    print(_line(run, target), flush=True)
                made.append(run)
    print(table(made))
    print("\n* fewer live points than an equal error takes, for want of time.")


def _line(run: Run, target: Target) -> str:
    return (
        f"{run.target}, seed {run.seed}, {run.way}: {run.evaluations:,} evaluations, "
        f"{run.seconds:.1f} s, off by {run.log_z - target.log_z:+.4f}, error {run.error:.4f}"
    )


if __name__ == "__main__":
    main()
