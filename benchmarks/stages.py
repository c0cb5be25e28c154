"""What each stage of a run costs under several seeds, on a COVID-19 model of the paper.

    python -m benchmarks.stages --variant "AR(2)" --seeds 10 -o stages.jsonl

The prior is not integrated: its integral is known in closed form. Every run is a line of the file,
and is not made again.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import refti
from refti.paper.covid import model as covid
from refti.studies import append_record, read_records

STAGES = {
    "modes": ("getting ready", "finding the modes"),
    "warm-up": ("finding the posterior",),
    "pilot": ("drawing from the posterior", "choosing coordinates and the reference"),
    "shape": ("finding its shape",),
    "ladder": ("building the ladder of leg 1",),
    "rounds": ("round",),
    "checks": ("checking",),
}


@dataclass(frozen=True)
class Run:
    """What one run took: evaluations by stage, and processor seconds with those of compiling."""

    variant: str
    target_error: float
    seed: int
    log_z: float
    error: float
    trusted: bool
    reference: str
    rungs: int
    rounds: int
    stages: dict[str, int]
    evaluations: int
    seconds: float
    processor_seconds: float
    programs: int


def main() -> None:
    """Makes the runs that the file does not hold and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-o", type=Path, required=True, help="JSON lines, read and added to")
    parser.add_argument("--variant", default="AR(2)")
    parser.add_argument("--error", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, default=10)
    asked = parser.parse_args()
    model = covid.model(covid.variant(asked.variant))
    for seed in range(1, asked.seeds + 1):
        if not any(run.seed == seed for run in _finished(asked.o, asked.variant, asked.error)):
            append_record(asked.o, asdict(_run(model, asked.variant, asked.error, seed)))
    runs = [r for r in _finished(asked.o, asked.variant, asked.error) if r.seed <= asked.seeds]
    print(table(runs))


def _finished(path: Path, variant: str, error: float) -> list[Run]:
    runs = read_records(path, lambda record: Run(**record))
    return [run for run in runs if (run.variant, run.target_error) == (variant, error)]


def _run(model: refti.Model, variant: str, error: float, seed: int) -> Run:
    began, before = time.perf_counter(), time.process_time()
    found = refti.evidence(model, target_error=error, seed=seed, check_prior=False, progress=False)
    seconds, processor = time.perf_counter() - began, time.process_time() - before
    spent = {name: 0 for name in STAGES}
    for stage in found.found["stages"]:
        names = [n for n, own in STAGES.items() if any(stage["stage"].startswith(o) for o in own)]
        spent[names[0] if names else "checks"] += stage["evaluations"]
    return Run(
        variant,
        error,
        seed,
        found.log_z,
        found.error,
        found.trusted,
        found.found["chosen_reference"],
        len(found.rungs),
        found.found["rounds"],
        spent,
        sum(spent.values()),
        seconds,
        processor,
        found.cost.programs,
    )


def table(runs: list[Run]) -> str:
    """The Markdown table, in thousands of evaluations, and the sentence below it."""
    shown = [name for name in STAGES if any(run.stages[name] for run in runs)]
    head = ["seed", *shown, "in all", "rungs", "reference", "log z", "error", "trusted"]
    lines = ["| " + " | ".join(head) + " |", "|---:" * len(head) + "|"]
    for run in runs:
        cells = [str(run.seed), *(f"{run.stages[name] / 1000:.0f}" for name in shown)]
        cells += [f"{run.evaluations / 1000:.0f}", str(run.rungs), run.reference]
        cells += [f"{run.log_z:.3f}", f"{run.error:.3f}", "yes" if run.trusted else "no"]
        lines.append("| " + " | ".join(cells) + " |")
    totals = np.array([run.evaluations for run in runs])
    values = np.array([run.log_z for run in runs])
    closing = (
        f"Evaluations: {totals.mean():,.0f} on average, the most {totals.max() / totals.min():.2f} "
        f"times the fewest. log z: mean {values.mean():.3f}, standard deviation "
        f"{values.std(ddof=1) if len(values) > 1 else float('nan'):.3f}."
    )
    return "\n".join([*lines, "", closing])


if __name__ == "__main__":
    main()
