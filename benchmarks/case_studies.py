"""The evidences of the Stan case studies: `python -m benchmarks.case_studies [study ...]`."""

from __future__ import annotations

import sys

from tests.case_studies import STUDIES, Study

import refti

MAX_EVALUATIONS = 5_000_000


def main() -> None:
    """Prints one row a study as it is done."""
    print("| study | parameters | shows | log z | trusted | gradients |")
    print("|---|---:|---|---:|---|---:|")
    for study in STUDIES:
        if not sys.argv[1:] or study.name in sys.argv[1:]:
            print(_row(study), flush=True)


def _row(study: Study) -> str:
    model = refti.from_stan(study.program, data=study.data)
    start = f"| {study.name} | {model.dim} | {study.shows} |"
    try:
        result = refti.evidence(model, max_evaluations=MAX_EVALUATIONS, progress=False)
    except refti.RefTIError as error:
        return f"{start} — | no: {error} | — |"
    reasons = "; ".join(f"{c.name}: {c.advice}" for c in result.checks if not c.ok)
    verdict = f"no: {reasons}" if reasons else "yes"
    gradients = f"{result.cost.gradient_evaluations:,}"
    return f"{start} {result.log_z:.3f} ± {result.error:.3f} | {verdict} | {gradients} |"


if __name__ == "__main__":
    main()
