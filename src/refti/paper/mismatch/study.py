"""The paper's figure on mismatched densities: what a poor reference costs, and what refti says."""

from __future__ import annotations

from functools import partial

import numpy as np

import refti
from refti.paper.mismatch.figure import draw
from refti.paper.mismatch.normals import DRAWS_A_RUNG, LADDER, MismatchedPair, Replicates, replicate
from refti.paper.normal_reference import NormalReference
from refti.paper.report.findings import Figure, Findings, Table
from refti.paper.report.work import Work
from refti.studies import plus_minus

MISMATCHES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0])
RUN_AT = (1.0, 2.0, 3.0, 4.0)


def make_findings(work: Work) -> Findings:
    """The figure on mismatched densities, and what refti does with such references."""
    count = 2_000 if work.quick else 10_000
    replicates = {}
    for k, mismatch in enumerate(MISMATCHES):
        work.report("mismatch: replicates", k, len(MISMATCHES))
        replicates[float(mismatch)] = replicate(MismatchedPair(float(mismatch)), count, work.seed)
    reference = NormalReference.of([0.0], [[1.0]], 0.0)
    short = {"reference": reference, "kept": DRAWS_A_RUNG, "estimator": "ti"}
    runs = {
        m: {
            "2 rungs": work.evidence(
                f"{m:g}-two", MismatchedPair(m).model(), ladder=(0, 1), **short
            ),
            "5 rungs": work.evidence(
                f"{m:g}-five", MismatchedPair(m).model(), ladder=LADDER, **short
            ),
            "adapted": work.evidence(
                f"{m:g}-adapted", MismatchedPair(m).model(), reference=reference
            ),
        }
        for m in (RUN_AT[1::2] if work.quick else RUN_AT)
    }
    worst = MismatchedPair(RUN_AT[-1])
    bias_within = worst.mean_within_range() - worst.delta_moments(np.array(0.0))[0]
    last, unbiased = runs[worst.mismatch], replicates[worst.mismatch].reference_mean
    return Findings(
        title="Mismatched densities",
        says="A mismatch of q and q_ref raises the variance of log q/q_ref and biases its mean.",
        holds=(
            f"At a mismatch of {worst.mismatch:g} the mean of log q/q_ref over {DRAWS_A_RUNG} "
            f"draws of the reference is off by {plus_minus(*_mean(unbiased))} on average, over "
            f"draws within its 99 % range by {bias_within:.3f}; the "
            f"spline through 5 exact expectations is off by {worst.spline_error():.2f} in log z, "
            f"and refti takes {last['adapted'].draws[0].rungs} rungs and is off by "
            f"{plus_minus(last['adapted'].log_z - worst.log_z, last['adapted'].error)}."
        ),
        why=(
            "Means of independent draws have no bias however poor the reference is; a sampler "
            "that does not leave a 99 % range has, and so has what is not linear in the means."
        ),
        tables=(_table(runs),),
        figures=(_figure(replicates, runs),),
        trusted=all(run["adapted"].trusted for run in runs.values()),
    )


def _mean(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def _table(runs: dict[float, dict[str, refti.Evidence]]) -> Table:
    rows = [
        (
            f"{m:g}",
            ladder,
            str(result.draws[0].rungs),
            *(
                plus_minus(result.estimates[each].value, result.estimates[each].error)
                for each in ("ti", "mbar")
            ),
            f"{MismatchedPair(m).log_z:.4f}",
            "yes" if result.trusted else "no",
            ", ".join(check.name for check in result.checks if not check.ok) or "none",
        )
        for m, ladders in runs.items()
        for ladder, result in ladders.items()
    ]
    return Table(
        "mismatch",
        "log z from a standard normal reference that does not match",
        ("mismatch", "ladder", "rungs", "TI", "MBAR", "exact", "trusted", "checks that fail"),
        tuple(rows),
        (
            f"Ladders of 2 and 5 rungs are fixed, with 8 chains of {DRAWS_A_RUNG} draws a rung, "
            "and the result is that of TI; the adapted ladder is the default, where the result is "
            "that of MBAR and more rungs are added where the densities overlap too little.",
        ),
    )


def _figure(
    replicates: dict[float, Replicates], runs: dict[float, dict[str, refti.Evidence]]
) -> Figure:
    adapted = {m: ladders["adapted"] for m, ladders in runs.items()}
    return Figure(
        "mismatch",
        "a) A reference and densities that drift away from it, with their 99 % ranges Ω. "
        "b) The standard deviation of log q/q_ref under the reference, and the spread of the mean "
        f"of {DRAWS_A_RUNG} draws of it and of log z by TI with 5 rungs of as many: lines are "
        "exact, markers measured over replicates. c) Bias of the mean of log q/q_ref under the "
        "reference, with all draws and with those inside the 99 % range. d) Error of log z: the "
        "spline through 5 rungs, weights of the reference's draws alone, and refti with an "
        "adapted ladder. Bars are two standard errors.",
        partial(draw, [MismatchedPair(m) for m in replicates], replicates, adapted),
    )
