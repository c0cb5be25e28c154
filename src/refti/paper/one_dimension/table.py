"""The table of the 1-D example: every number that the paper prints of it."""

from __future__ import annotations

import numpy as np

from refti.paper.one_dimension import exact
from refti.paper.one_dimension.runs import Runs, posterior_variance, reference_z
from refti.paper.recipe import DRAWS, z_with_error
from refti.paper.report.findings import Table
from refti.paper.report.verdicts import rounds_to, verdict
from refti.studies import plus_minus

PRINTED_VARIANCE, PRINTED_Z_REF = 0.424, 1.559
PRINTED_ITERATIONS = {0.01: 500, 0.001: 17_000}  # by the band about z
BANDS = tuple(PRINTED_ITERATIONS)


def table(runs: Runs) -> Table:
    """Printed, ours and exact, side by side."""
    z, z_ref = exact.evidence(), reference_z(runs.recipe)
    variance, error = posterior_variance(runs.recipe)
    theta = runs.recipe.posterior["x"].values
    of_paper = error * np.sqrt(theta.size / DRAWS)
    recipe, default = z_with_error(runs.recipe), z_with_error(runs.default)
    share, exact_share = 100 * z_ref / z, 100 * exact_z_ref() / z
    rows = [
        (
            "sampled variance of θ",
            "0.424",
            plus_minus(variance, error),
            f"{exact.variance():.6f}",
            verdict(abs(PRINTED_VARIANCE - exact.variance()) < 3 * of_paper),
            f"It is a sampled value; {DRAWS:,} draws know it to ± {of_paper:.4f}.",
        ),
        (
            "z_ref",
            "1.559",
            f"{z_ref:.3f}, mean {runs.reference.mean:.4f}",
            f"{exact_z_ref():.6f}",
            rounds_to("1.559", exact_z_ref()),
            f"It is q at a sampled mean; {offset_of_printed():.4f} off the cusp gives 1.559.",
        ),
        (
            "z by quadrature",
            "1.523",
            f"{plus_minus(*default)} (default)",
            f"{z:.9f}",
            rounds_to("1.523", z),
            "Two quadratures, one of them here, give the same.",
        ),
        (
            "z by referenced TI",
            "1.523",
            f"{plus_minus(*recipe)} (recipe)",
            f"{z:.9f}",
            verdict(abs(1.523 - recipe[0]) < 3 * recipe[1]),
            "It is reached from either z_ref, since the path makes up for the reference.",
        ),
        (
            "z_ref / z",
            "102 %",
            f"{share:.1f} %",
            f"{exact_share:.1f} %",
            rounds_to("102 %", exact_share),
            "It follows z_ref, and so the sampled mean.",
        ),
        *(_convergence_row(runs, band) for band in BANDS),
    ]
    return Table(
        "numbers",
        "What the paper prints of the 1-D example",
        ("quantity", "printed", "ours", "exact", "verdict", "why"),
        tuple(rows),
        (
            "Iterations are those kept at one value of λ by all four chains together. They took "
            "as many as stand before the estimate of z, with all iterations so far, stays within "
            "the band about the exact value until the run ends: median and range over "
            f"{len(runs.iterations(BANDS[0]))} repetitions. The paper does not say how it counts.",
        ),
    )


def _convergence_row(runs: Runs, band: float) -> tuple[str, ...]:
    printed = PRINTED_ITERATIONS[band]
    taken, longest = runs.iterations(band), runs.longest
    why = "It differs from run to run; the printed number is compared with the range."
    if printed > longest:
        why = f"The short version ends after {longest:,} iterations."
    return (
        f"iterations to {100 * band:g} %",
        f"{printed:,}",
        median_and_range(taken, longest),
        f"standard error {100 * band:g} % at {runs.iterations_expected(band):,.0f}",
        verdict(bool(taken.min() <= printed <= taken.max())) if printed <= longest else "not seen",
        why,
    )


def median_and_range(taken: np.ndarray, longest: int) -> str:
    """Iterations over repetitions in words, of which some may be longer than was run."""

    def words(iterations: float) -> str:
        return f"{iterations:,.0f}" if np.isfinite(iterations) else f"over {longest:,.0f}"

    middle = float(np.sort(taken)[len(taken) // 2])
    return f"{words(middle)} ({words(taken.min())} to {words(taken.max())})"


def exact_z_ref() -> float:
    """The integral of the reference of the exact mean and variance."""
    return exact.laplace_reference(exact.CENTRE, exact.variance()).z


def offset_of_printed() -> float:
    """How far off the cusp the printed variance has the printed z_ref."""
    at_cusp = exact.laplace_reference(exact.CENTRE, PRINTED_VARIANCE).z
    # The quartic is nothing at this distance.
    return float((2 * np.log(at_cusp / PRINTED_Z_REF)) ** 2)
