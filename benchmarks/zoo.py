"""The evidences of the zoo from four languages: `python -m benchmarks.zoo [model ...]`."""

from __future__ import annotations

import sys
from itertools import combinations
from math import hypot

from tests.zoo import MODELS, SOURCES

import refti

MAX_EVALUATIONS = 5_000_000


def main() -> None:
    """Prints one row a model as it is done."""
    print(f"| model | dim | {' | '.join(SOURCES)} | largest z of a difference | not trusted |")
    print("|---|---:|" + "---:|" * len(SOURCES) + "---:|---|")
    for name in sys.argv[1:] or MODELS:
        print(_row(name), flush=True)


def _row(name: str) -> str:
    results, reasons = {}, []
    for seed, (source, build) in enumerate(SOURCES.items()):
        model = build(MODELS[name])
        try:
            result = refti.evidence(
                model, seed=seed, max_evaluations=MAX_EVALUATIONS, progress=False
            )
        except refti.RefTIError as error:
            reasons.append(f"{source}: {error}")
            continue
        results[source] = result
        failed = ", ".join(check.name for check in result.checks if not check.ok)
        reasons += [f"{source}: {failed}"] if failed else []
    cells = [
        f"{results[source].log_z:.3f} ± {results[source].error:.3f}" if source in results else "—"
        for source in SOURCES
    ]
    differences = [
        abs(a.log_z - b.log_z) / hypot(a.error, b.error)
        for a, b in combinations(results.values(), 2)
    ]
    largest = f"{max(differences):.1f}" if differences else "—"
    return f"| {name} | {model.dim} | {' | '.join(cells)} | {largest} | {'; '.join(reasons)} |"


if __name__ == "__main__":
    main()
