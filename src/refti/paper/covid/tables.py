"""The COVID-19 tables: printed numbers beside ours, the ranking, and what it all cost."""

from __future__ import annotations

from math import hypot
from typing import Any

import refti
from refti.paper.covid.jobs import Outcome
from refti.paper.covid.model import VARIANTS, Variant
from refti.paper.covid.printed import NOTHING, PRINTED, describe_outcome
from refti.paper.covid.runs import Runs
from refti.paper.laplace import Laplace
from refti.paper.report.findings import Table
from refti.studies import plus_minus

GROUPS = {
    "generation interval": tuple(name for name in VARIANTS if name.startswith("GI")),
    "autoregression": tuple(name for name in VARIANTS if name.startswith("AR")),
    "window": tuple(name for name in VARIANTS if name.startswith("W")),
}


def evidence_table(
    found: Runs, approximations: dict[Variant, Laplace], *, of_the_paper: bool
) -> Table:
    """Table 3 anew: every variant on all days, with normalised priors, by each method."""
    columns: tuple[str, ...] = ("model", "parameters")
    columns += ("printed Laplace", "printed log z") if of_the_paper else ()
    columns += ("Laplace ± noise", "11 equal rungs, spline", "log z ± error", "trusted")
    rows = []
    for name, outcome in found.right.items():
        printed = PRINTED[name]
        row = (str(printed.laplace), str(printed.log_z)) if of_the_paper else ()
        rows.append(
            (
                name,
                _parameters(outcome),
                *row,
                str(approximations.get(VARIANTS[name], NOTHING)),
                describe_outcome(found.recipe.get(name)),
                describe_outcome(outcome),
                _trusted(outcome),
            )
        )
    notes = (
        "All models on the same days, with priors that integrate to one; log z in nats.",
        "Laplace: a Gaussian about the mean of the posterior's draws with their covariance, in the "
        "model's own parameters; its noise is that of the draws, by a jackknife over chains.",
    )
    return Table("log_evidence", "Log evidence of the variants", columns, tuple(rows), notes)


def ranking_tables(found: Runs) -> tuple[Table, ...]:
    """Bayes factors and probabilities, within each group and over all."""
    groups = {f"ranking_{key.replace(' ', '_')}": names for key, names in GROUPS.items()}
    # W = 1 is AR(2): counted twice it would weigh twice.
    groups["ranking_all"] = tuple(name for name in VARIANTS if name != "W=1")
    tables = []
    for key, names in groups.items():
        results = {name: found.evidences[name] for name in names if name in found.evidences}
        if len(results) > 1:
            tables.append(_ranking(key, results))
    return tuple(tables)


def _ranking(key: str, results: dict[str, refti.Evidence]) -> Table:
    table = refti.compare(results)
    rows = tuple(
        (
            row.name,
            plus_minus(row.log_z, row.error),
            plus_minus(row.log_bayes_factor, row.log_bayes_factor_error) if index else "0",
            probability(row),
            "yes" if row.trusted else "no",
        )
        for index, row in enumerate(table.rows)
    )
    columns = ("model", "log z", "log Bayes factor to the best", "probability", "trusted")
    what = key.removeprefix("ranking_").replace("_", " ")
    of_all = "All models but W=1, which is AR(2)"
    title = of_all if what == "all" else f"Models that differ in {what}"
    return Table(key, title, columns, rows, table.notes)


def probability(row: Any) -> str:
    """The probability of a comparison's row with its error."""
    if row.probability < 5e-4:
        return "< 0.0005"
    return plus_minus(row.probability, row.probability_error)


def cost_table(found: Runs) -> Table:
    """What each variant took."""
    rows, results = [], found.runs_of_their_own
    for name, result in results.items():
        cost, rungs = result.cost, sum(len(leg.lambdas) for leg in result.draws)
        rows.append(
            (
                name,
                str(result.found.get("chosen_reference", NOTHING)),
                str(rungs),
                f"{cost.gradient_evaluations:,}",
                f"{cost.seconds:.0f}",
                f"{cost.compile_seconds:.0f}",
            )
        )
    total = sum(result.cost.gradient_evaluations for result in results.values())
    seconds = sum(result.cost.seconds for result in results.values())
    rows.append(("all", "", "", f"{total:,}", f"{seconds:.0f}", ""))
    columns = ("model", "reference", "rungs", "gradients", "seconds", "of which compiling")
    notes = ("Two variants run side by side, so the whole takes about half of the sum of seconds.",)
    return Table("cost", "What the evidences took", columns, tuple(rows), notes)


def same_model_note(found: Runs) -> str:
    """Whether W = 1 and AR(2), which are one model, agree."""
    one, two = found.evidences.get("W=1"), found.evidences.get("AR(2)")
    if one is None or two is None:
        return "W = 1 and AR(2) were not both finished."
    if one is two:
        return "W = 1 and AR(2) are the same model, which the quick version runs once."
    difference, error = one.log_z - two.log_z, hypot(one.error, two.error)
    word = "agree" if abs(difference) <= 3 * error else "DISAGREE"
    return (
        f"W = 1 and AR(2) are the same model; run by different seeds they {word}: they differ by "
        f"{plus_minus(difference, error)}, which is {abs(difference) / error:.1f} errors."
    )


def _parameters(outcome: Outcome) -> str:
    if isinstance(outcome, str):
        return NOTHING
    sizes = (values[0, 0].size for values in outcome.posterior.data_vars.values())
    return str(sum(sizes))


def _trusted(outcome: Outcome) -> str:
    if isinstance(outcome, str):
        return "no"
    failed = ", ".join(check.name for check in outcome.checks if not check.ok)
    return f"no: {failed}" if failed else "yes"
