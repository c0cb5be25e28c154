"""Every method on the paper's small examples: `make table` prints it and writes docs/table.md.

The paper's budget: 11 rungs, 4 chains, 2,000 iterations, half of them thrown away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import refti
from benchmarks.made_by import made_by
from refti.paper.one_dimension import model as one_dimension
from refti.paper.radiata import model as radiata
from refti.paper.two_dimensions import model as two_dimensions
from refti.suite import quartic

ELEVEN = refti.uniform(11)
PAPER: dict[str, Any] = {"ladder": ELEVEN, "chains": 4, "warmup": 1000, "kept": 1000}
FAMILIES = ("laplace", "covariance", "diagonal", "variational", "variational_diagonal", "truncated")
COLUMNS = ("mbar", "ti", "stepping_stone")


@dataclass(frozen=True)
class Case:
    """One row: a call whose result is set beside the exact value."""

    example: str
    method: str
    model: refti.Model
    exact: float
    options: dict[str, Any]
    against: refti.Model | None = None  # the other model of a switch

    def result(self) -> refti.Evidence | refti.LogRatio:
        """The call's result."""
        options = {**PAPER, **self.options}
        if self.against is not None:
            return refti.log_bayes_factor(self.model, self.against, **options)
        return refti.evidence(self.model, **options)


def cases() -> Iterator[Case]:
    """All rows, those that share compiled programs next to each other."""
    one = one_dimension.model()
    exact = math.log(one_dimension.EXACT_Z)
    yield from _families("1-D", one, exact)
    yield Case("1-D", "covariance, 10 x draws", one, exact, _covariance() | {"kept": 10_000})
    quartic_part = refti.Model(one_dimension.log_density_without_cusp, dim=1)
    yield Case("1-D", "telescopic, order 4 at the cusp", one, exact, _telescopic(4))
    yield Case("1-D", "telescopic, smooth part of order 4", one, exact, _telescopic(quartic_part))
    for sign, shift in (("minus", -0.5), ("plus", 0.5)):
        exact = math.log(two_dimensions.EXACT_Z[sign])
        for declared in (False, True):
            model = two_dimensions.model(shift=shift, declared=declared)
            how = "declared" if declared else "undeclared"
            yield from _families(f"2-D {sign} half, bound {how}", model, exact)
    models = {"density": radiata.density(), "adjusted_density": radiata.adjusted_density()}
    for name, model in models.items():
        yield from _families(f"radiata, {name}", model, radiata.EXACT_LOG_Z[name])
    for name, model in models.items():
        for label, ladder in (
            ("11 equal", ELEVEN),
            ("11 power-law", refti.power(11, 5)),
            ("100 power-law", refti.power(100, 5)),
        ):
            options = {"path": "power", "ladder": ladder}
            exact = radiata.EXACT_LOG_Z[name]
            yield Case(f"radiata, {name}", f"power posteriors, {label}", model, exact, options)
    exact = radiata.EXACT_LOG_Z["adjusted_density"] - radiata.EXACT_LOG_Z["density"]
    both = models["adjusted_density"], models["density"]
    yield Case("radiata, log BF 21", "model switch", both[0], exact, {}, against=both[1])
    smooth, exact = quartic(20).model(), quartic(20).log_z
    yield Case("quartic, 20-D", "laplace", smooth, exact, {"reference": "laplace"})
    yield Case("quartic, 20-D", "telescopic, order 4", smooth, exact, {"reference": ["laplace", 4]})


def main() -> None:
    """Prints the table row by row and writes it as a page of the documentation."""
    lines = [_HEAD, "|---|---|---:|---:|" + "---:|---:|" * len(COLUMNS) + "---|"]
    print("\n".join(lines), flush=True)
    differences: dict[str, refti.Evidence] = {}
    for case in cases():
        row = _row(case, differences)
        lines.append(row)
        print(row, flush=True)
    ratio = differences["adjusted_density"].log_z - differences["density"].log_z
    error = math.hypot(*(result.error for result in differences.values()))
    exact = radiata.EXACT_LOG_Z["adjusted_density"] - radiata.EXACT_LOG_Z["density"]
    closing = (
        f"log BF 21 from the two covariance-referenced evidences: {ratio:.4f} ± {error:.4f}, "
        f"exact {exact:.4f}, difference {ratio - exact:+.4f}."
    )
    print(closing)
    page = Path(__file__).parent.parent / "docs" / "table.md"
    page.write_text(
        "\n".join([_INTRODUCTION, *lines, "", closing, "", made_by("make table")]), encoding="utf-8"
    )


def _families(example: str, model: refti.Model, exact: float) -> Iterator[Case]:
    for family in FAMILIES:
        yield Case(example, family, model, exact, {"reference": family})


def _covariance() -> dict[str, Any]:
    return {"reference": "covariance"}


def _telescopic(station: Any) -> dict[str, Any]:
    return {"reference": ["covariance", station]}


def _row(case: Case, differences: dict[str, refti.Evidence]) -> str:
    start = f"| {case.example} | {case.method} | {case.exact:.4f} |"
    try:
        result = case.result()
    except refti.ReferenceFitError as error:
        reason = str(error).split(". ")[0]
        return f"{start} — |" + " — | — |" * len(COLUMNS) + f" refused: {reason} |"
    if case.method == "covariance" and case.example.startswith("radiata"):
        assert isinstance(result, refti.Evidence)
        differences[case.example.removeprefix("radiata, ")] = result
    known = result.found["log_z_start"]
    laplace = f"{known:.4f}" if known and "power" not in case.method else "—"
    cells = [
        f" {e.value:.4f} ± {e.error:.4f} | {(e.value - case.exact) / e.error:+.1f} |"
        for e in (result.estimates[name] for name in COLUMNS)
    ]
    failed = ", ".join(check.name for check in result.checks if not check.ok)
    return f"{start} {laplace} |" + "".join(cells) + f" {f'no: {failed}' if failed else 'yes'} |"


_HEAD = (
    "| example | method | exact log z | Laplace: log z of the reference | MBAR | z "
    "| TI (spline) | z | stepping stone | z | trusted |"
)
_INTRODUCTION = """\
# Every method on the paper's small examples

All values are log evidences in nats (for a log evidence an error of 0.005
is 0.5 % of the evidence); the paper's budget of 11 rungs, 4 chains and 2,000 iterations, half of
them thrown away. *Laplace* is the log integral of the reference alone, which is the Laplace
approximation that the paper starts from. z is (value − exact) / error. All rows run under one
seed, so those of one model, or of models of one shape, are not independent of each other.
"""

if __name__ == "__main__":
    main()
