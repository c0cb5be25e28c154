"""The paper's 2-D example with a bounded parameter: Figure 2, Table 1 and what its numbers are."""

from __future__ import annotations

from functools import partial

from refti.paper.recipe import z_with_error
from refti.paper.report.findings import Figure, Findings
from refti.paper.report.work import Work
from refti.paper.two_dimensions.exact import Case
from refti.paper.two_dimensions.expansions import expand_at_mode
from refti.paper.two_dimensions.figure import draw
from refti.paper.two_dimensions.runs import run_ti, runs_of_case
from refti.paper.two_dimensions.tables import (
    AS_COMPUTED,
    AS_PRINTED,
    CASES,
    OTHER_BOUND,
    all_cases_table,
    printed_table,
    readings_table,
)
from refti.studies import plus_minus


def make_findings(work: Work) -> Findings:
    """Figure 2 and Table 1, for both signs and both bounds."""
    chosen = CASES[:2] if work.quick else CASES
    runs = {case: runs_of_case(work.within(_folder(case)), case) for case in chosen}
    twice = expand_at_mode(AS_COMPUTED, precision=2.0)
    folder = work.within("twice_the_precision")
    doubled = [run_ti(folder, "full", twice), run_ti(folder, "diagonal", twice.diagonal())]
    main = runs[AS_COMPUTED]
    defaults = [r for each in runs.values() for r in (each.declared, each.undeclared)]
    declared, undeclared = (
        " and ".join(
            plus_minus(*z_with_error(getattr(runs[c], kind))) for c in (AS_PRINTED, AS_COMPUTED)
        )
        for kind in ("declared", "undeclared")
    )
    return Findings(
        title="Two dimensions: a bounded parameter",
        says=(
            "With θ₁ ≥ 0 the evidence is 3.31. A reference that does not know of the bound gives "
            "too much (4.79), and the diagonal one with the constraint correction 3.33."
        ),
        holds=(
            f"Quadrature gives {AS_PRINTED.evidence():.6f} for the density as printed, with "
            f"θ + ½, and {AS_COMPUTED.evidence():.6f} with θ - ½, to which the printed numbers "
            f"belong; 3.31 is {OTHER_BOUND.evidence():.6f}, with the bound on θ₂. refti's default "
            f"gives {declared} where the bound is declared and {undeclared} where it is not. From "
            "a reference that does not know of the bound TI gives "
            f"{plus_minus(*main.full.unbounded)} with θ - ½, too much by the reciprocal of "
            "the reference's share within, "
            f"1 / {main.full.expansion.share_within_bound():.4f}: the paper's point, whatever "
            "the numbers."
        ),
        why=(
            "The signs of the printed density differ from those behind the numbers, the exact "
            "value has the bound on the other parameter, and the other four agree with a "
            "reference of twice the Hessian's precision whose share within the bound is taken "
            "with θ₁'s mode and θ₂'s variance. The printed orthant formula lacks a factor ½ for "
            "each bounded parameter; the printed numbers have it."
        ),
        tables=(printed_table(runs), readings_table(doubled), all_cases_table(runs)),
        figures=(_figure(),),
        trusted=all(result.trusted for result in defaults),
    )


def _folder(case: Case) -> str:
    return f"{'plus' if case.shift > 0 else 'minus'}_theta_{case.bounded}"


def _figure() -> Figure:
    return Figure(
        "figure_2",
        "Contours of q and of its references by the full and the diagonal Hessian at the mode "
        "(cross), above for the density as printed, below with θ - ½; each at 0.1, 0.3, … 0.9 of "
        "its own peak. The shaded side of the line θ₁ = 0 is outside the support of q.",
        partial(draw, {"θ + ½": expand_at_mode(AS_PRINTED), "θ - ½": expand_at_mode(AS_COMPUTED)}),
    )
