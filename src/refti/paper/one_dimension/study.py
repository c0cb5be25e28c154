"""The paper's 1-D example: Figure 1 and every number printed beside it."""

from __future__ import annotations

from functools import partial

from refti.paper.mismatch.study import make_findings as make_mismatch_findings
from refti.paper.one_dimension import exact
from refti.paper.one_dimension.figure import draw
from refti.paper.one_dimension.runs import Runs, all_runs, reference_z
from refti.paper.one_dimension.table import (
    BANDS,
    exact_z_ref,
    median_and_range,
    offset_of_printed,
    table,
)
from refti.paper.recipe import z_with_error
from refti.paper.report.findings import Figure, Findings
from refti.paper.report.work import Work
from refti.studies import plus_minus


def make_findings(work: Work) -> Findings:
    """Figure 1 and the numbers of the 1-D example, and the figure on mismatched densities."""
    runs = all_runs(work)
    mismatched = make_mismatch_findings(work.within("mismatch"))
    z_ref = reference_z(runs.recipe)
    recipe, default = z_with_error(runs.recipe), z_with_error(runs.default)
    offset = offset_of_printed()
    return Findings(
        title="One dimension: a cusp on a quartic",
        says=(
            "A normal reference of the sampled variance 0.424 has z_ref = 1.559, which is 102 % "
            "of z = 1.523. Referenced TI with 5 values of λ comes within 1 % of z in 500 "
            "iterations and within 0.1 % in 17,000."
        ),
        holds=(
            f"Quadrature gives z = {exact.evidence():.6f}. The paper's recipe gives "
            f"{plus_minus(*recipe)} from a reference with z_ref = {z_ref:.3f}, refti's default "
            f"{plus_minus(*default)}. The exact variance is {exact.variance():.6f} and gives "
            f"z_ref = {exact_z_ref():.6f} at the mean. {_in_words(runs)} {mismatched.holds}"
        ),
        why=(
            "The variance and the mean of the reference were sampled. At a cusp log q falls like "
            f"the square root of the distance, so a mean {offset:.4f} off the cusp is enough to "
            "turn the exact z_ref into the printed one; z does not depend on it. Iterations to "
            "converge differ from run to run. " + mismatched.why
        ),
        tables=(table(runs), *mismatched.tables),
        figures=(_figure(runs), *mismatched.figures),
        trusted=all(r.trusted for r in (runs.recipe, runs.repeated, runs.default, mismatched)),
    )


def _in_words(runs: Runs) -> str:
    one, tenth = (f"{runs.iterations_expected(band):,.0f}" for band in BANDS)
    return (
        f"The standard error of z is 1 % at about {one} iterations a value of λ and 0.1 % at "
        f"about {tenth}."
    )


def _figure(runs: Runs) -> Figure:
    draws, reference = runs.recipe.draws[0], runs.reference
    medians = [median_and_range(runs.iterations(band), runs.longest) for band in BANDS]
    return Figure(
        "figure_1",
        "a) q^λ q_ref^(1-λ) along the path. b) Running expectation of log q/q_ref at each λ, over "
        "all four chains; lines at the right end are exact. c) The expectations against λ, with "
        "bars of two standard errors (smaller than their markers where not seen), the spline "
        "through them and the exact curve. d) Running estimate of z with bands of 1 % and 0.1 % "
        f"about the exact value. Iterations to stay within 1 %: {medians[0]}; within 0.1 %: "
        f"{medians[1]} (median and range over repetitions).",
        partial(draw, draws.lambdas, draws.delta, reference, exact.evidence()),
    )
