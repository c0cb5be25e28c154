"""The evidences of the Stan case studies: `python -m benchmarks.case_studies [study ...]`.

Beside each stands the evidence by another way, where there is one: a closed form, quadrature or
importance sampling that uses neither refti nor Stan.
"""

from __future__ import annotations

import sys
from math import hypot

from tests.case_studies import STUDIES, Study
from tests.case_studies.exact import Exact, exact

import refti

MAX_EVALUATIONS = 5_000_000


def main() -> None:
    """Prints one row a study as it is done."""
    print("| study | after | parameters | log z | by another way | z | trusted | gradients | s |")
    print("|---|---|---:|---:|---:|---:|---|---:|---:|")
    for study in STUDIES:
        if not sys.argv[1:] or study.name in sys.argv[1:]:
            print(row(study, exact(study.name)), flush=True)


def row(study: Study, other: Exact | None) -> str:
    """The line of a study, with its evidence by another way and how far off that is, in errors."""
    model = refti.from_stan(study.program, data=study.data)
    start = f"| {study.name} | {study.after} | {model.dim} |"
    told = "—" if other is None else f"{other[0]:.3f} ± {other[1]:.3f}"
    try:
        result = refti.evidence(model, max_evaluations=MAX_EVALUATIONS, progress=False)
    except refti.RefTIError as error:
        return f"{start} — | {told} | — | no: {error} | — | — |"
    reasons = "; ".join(f"{c.name}: {c.advice}" for c in result.checks if not c.ok)
    verdict = f"no: {reasons}" if reasons else "yes"
    error = 0.0 if other is None else hypot(result.error, other[1])
    off = "—" if other is None else f"{(result.log_z - other[0]) / max(error, 1e-9):+.1f}"
    numbers = f"{result.log_z:.3f} ± {result.error:.3f} | {told} | {off}"
    cost = f"{result.cost.gradient_evaluations:,} | {result.cost.seconds:.0f}"
    return f"{start} {numbers} | {verdict} | {cost} |"


if __name__ == "__main__":
    main()
