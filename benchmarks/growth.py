"""How the cost grows with the dimension: `make growth` prints the table of docs/growth.md.

refti's defaults, each run in a process of its own, so that its memory is its own and each pays for
compiling. `--dims 10000` takes half an hour for some targets, the dimensions below some minutes.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

import refti
from refti import suite

# In 10,000 dimensions the matrix of `skewed` alone is 0.8 GB, a gradient 0.4 billion operations.
TARGETS = {
    "AR(1)": (suite.ar1, (10, 100, 1000, 2000)),
    "skewed": (suite.skewed, (10, 100, 300)),
    "skewed chain": (suite.skewed_chain, (10, 100, 1000)),
}
ASKED = 0.05  # the error at which refti's defaults stop


@dataclass(frozen=True)
class Run:
    """What one run took and found; `megabytes` is the peak of its process."""

    gradients: int
    seconds: float
    megabytes: float
    rungs: int
    reference: str
    error: float
    z: float
    trusted: bool


@dataclass(frozen=True)
class Case:
    """The runs of one target in one dimension, or why there are none."""

    target: str
    dim: int
    runs: Sequence[Run]
    failure: str = ""

    @property
    def reached(self) -> bool:
        """Whether every run came to the error asked for, so that its cost is the cost of that."""
        return bool(self.runs) and all(run.error <= ASKED for run in self.runs)

    def mean(self, name: str) -> float:
        """A number of the runs, averaged over the seeds."""
        return float(np.mean([getattr(run, name) for run in self.runs]))

    def line(self) -> str:
        """The row of the table."""
        if not self.runs:
            return f"| {self.target} | {self.dim} | failed: {self.failure} |" + " — |" * 7
        z = [abs(run.z) for run in self.runs]
        cells = [
            self.target,
            f"{self.dim}",
            f"{self.mean('gradients'):,.0f}",
            f"{self.mean('seconds'):.1f}",
            f"{self.mean('megabytes'):,.0f}",
            f"{self.mean('rungs'):.0f}",
            ", ".join(sorted({run.reference for run in self.runs})),
            f"{self.mean('error'):.4f}",
            f"{np.mean(z):.1f} ({max(z):.1f})",
            f"{sum(run.trusted for run in self.runs)} of {len(self.runs)}",
        ]
        return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Prints the table and the exponents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--dims", type=int, nargs="+")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--max-seconds", type=float)
    asked = parser.parse_args()
    print(f"{HEAD}\n{RULE}", flush=True)
    cases = []
    for target in asked.targets:
        for dim in asked.dims or TARGETS[target][1]:
            cases.append(_case(target, dim, asked.seeds, asked.max_seconds))
            print(cases[-1].line(), flush=True)
    print("\n\n".join(_exponents(cases)))


def _case(target: str, dim: int, seeds: int, max_seconds: float | None) -> Case:
    runs = []
    for seed in range(seeds):
        run = run_apart(made, target, dim, seed, max_seconds)
        if isinstance(run, str):
            return Case(target, dim, (), run)
        runs.append(run)
    return Case(target, dim, runs)


Make = Callable[[str, int], tuple[refti.Model, float]]


def run_apart(make: Make, target: str, dim: int, seed: int, max_seconds: float | None) -> Run | str:
    """One run in a process of its own, or why there is none.

    A process that runs out of memory breaks its pool, and no other run.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(_run, make, target, dim, seed, max_seconds).result()
        except BrokenProcessPool:
            return "the process died, perhaps for want of memory"


def _run(make: Make, target: str, dim: int, seed: int, max_seconds: float | None) -> Run | str:
    """One run, in a process of its own; or the first line of why it was refused."""
    model, exact = make(target, dim)
    try:
        result = refti.evidence(model, seed=seed, max_seconds=max_seconds, progress=False)
    except refti.RefTIError as error:
        return str(error).splitlines()[0]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Run(
        gradients=result.cost.gradient_evaluations,
        seconds=result.cost.seconds,
        megabytes=peak / (1e6 if sys.platform == "darwin" else 1e3),  # bytes there, else kilobytes
        rungs=sum(len(leg.lambdas) for leg in result.draws),
        reference=str(result.found.get("chosen_reference", "-")),
        error=result.error,
        z=(result.value - exact) / result.error,
        trusted=result.trusted,
    )


def _exponents(cases: Sequence[Case]) -> Iterator[str]:
    """Yields sentences with the slopes of log cost on log dimension, and the peak of memory."""
    for target in dict.fromkeys(case.target for case in cases):
        own = [case for case in cases if case.target == target and case.reached]
        if len(own) > 1:
            gradients, last_gradients = _slopes(own, "gradients")
            seconds, last_seconds = _slopes(own, "seconds")
            yield (
                f"{target}: over {_listed(own)} dimensions gradients grow as dim^{gradients:.2f} "
                f"(dim^{last_gradients:.2f} between the last two) and seconds as "
                f"dim^{seconds:.2f} (dim^{last_seconds:.2f})."
            )
        missed = [case for case in cases if case.target == target and not case.reached]
        if missed:
            yield f"{target}: an error of {ASKED} was not reached in {_listed(missed)} dimensions."
    largest = max(case.dim for case in cases)
    peaks = [run.megabytes for case in cases if case.dim == largest for run in case.runs]
    if peaks:
        yield f"Peak memory in {largest} dimensions: {max(peaks):,.0f} MB."


def _slopes(cases: Sequence[Case], name: str) -> tuple[float, float]:
    dims = np.log([case.dim for case in cases])
    costs = np.log([case.mean(name) for case in cases])
    last = (costs[-1] - costs[-2]) / (dims[-1] - dims[-2])
    return float(np.polyfit(dims, costs, 1)[0]), float(last)


def _listed(cases: Sequence[Case]) -> str:
    return ", ".join(f"{case.dim:,}" for case in cases)


HEAD = (
    "| target | dimensions | gradients | seconds | peak MB | rungs | reference | error | z "
    "| trusted |"
)
RULE = "|---|---:|---:|---:|---:|---:|---|---:|---:|---:|"


def made(target: str, dim: int) -> tuple[refti.Model, float]:
    """The model and its exact log evidence."""
    found = TARGETS[target][0](dim)
    return found.model(), found.log_z


if __name__ == "__main__":
    main()
