"""`refti reproduce covid`: sixteen renewal models of COVID-19 in South Korea, or of other cases."""

from __future__ import annotations

from functools import partial

import refti
from refti.paper.covid import figures, tables
from refti.paper.covid.cases import Cases, south_korea
from refti.paper.covid.figures import Pair
from refti.paper.covid.model import (
    GENERATION_INTERVALS,
    VARIANTS,
    Variant,
    model,
    variant_as_printed,
)
from refti.paper.covid.printed import PRINTED, describe_differences, laplace_table, printed_table
from refti.paper.covid.runs import Runs, all_runs, results_among
from refti.paper.laplace import Laplace, laplace
from refti.paper.report.findings import Figure, Findings
from refti.paper.report.work import Work

SAYS = (
    "The paper ranks renewal models of the cases in South Korea within three groups: a fixed mean "
    "generation interval (GI = 5 to 20 days), an autoregression of 2 to 4 days, and reproduction "
    "numbers that hold for 1 to 7 days (W). By referenced TI it prefers GI = 8, AR(3) and W = 2, "
    "and by Laplace's approximation GI = 20, AR(2) and W = 7."
)
WHY = (
    "Seven of the printed numbers belong to the first 183 days and the others to all 201, and "
    "evidences of different data cannot be compared; in the run of AR(4) two coefficients had "
    "changed places; the truncated priors do not integrate to one, by another constant in each "
    "group; and a spline through 11 equal rungs misses the steep start of the path, which the "
    "printed intervals, spreads of a running integral, do not contain."
)

OTHER_CASES = "The paper's numbers belong to South Korea's cases."


def make_findings(work: Work, cases: Cases | None = None) -> Findings:
    """The findings on South Korea's cases, or on others, to which no printed number belongs."""
    of_the_paper = cases is None
    cases = south_korea() if cases is None else cases
    found = all_runs(work, cases, of_the_paper=of_the_paper)
    results = {VARIANTS[name]: result for name, result in found.evidences.items()}
    results |= {
        variant_as_printed(name): result for name, result in results_among(found.printed).items()
    }
    approximations = {v: laplace(model(v, cases), r.posterior) for v, r in results.items()}
    shown = [tables.evidence_table(found, approximations, of_the_paper=of_the_paper)]
    if of_the_paper:
        shown += [printed_table(found), laplace_table(found, approximations)]
    shown += [*tables.ranking_tables(found), tables.cost_table(found)]
    return Findings(
        title="COVID-19 in South Korea" if of_the_paper else "COVID-19, cases of your own",
        says=SAYS,
        holds=_holds(found),
        why=f"{WHY} {describe_differences(found)}" if of_the_paper else OTHER_CASES,
        tables=tuple(shown),
        figures=_figures(found, approximations, cases, of_the_paper=of_the_paper),
        trusted=all(isinstance(r, refti.Evidence) and r.trusted for r in found.right.values()),
    )


def _holds(found: Runs) -> str:
    """What the ranking says, with its numbers, and what it means."""
    groups = {
        group: {name: found.evidences[name] for name in names if name in found.evidences}
        for group, names in tables.GROUPS.items()
    }
    best = {group: refti.compare(r).rows[0] for group, r in groups.items() if len(r) > 1}
    if not best:
        return "Fewer than two models of a group could be fitted to these cases."
    first = ", ".join(f"{row.name} ({tables.probability(row)})" for row in best.values())
    everything = {name: result for name, result in found.evidences.items() if name != "W=1"}
    whole = refti.compare(everything).rows[0]
    return (
        f"Preferred within the groups, with their probabilities: {first}. Over all models, which "
        f"share these data, {whole.name} ({tables.probability(whole)}). "
        f"{tables.same_model_note(found)} "
        + _meaning({group: row.name for group, row in best.items()})
    )


def _meaning(best: dict[str, str]) -> str:
    """Two sentences for an epidemiologist."""
    window = best.get("window")
    held = "which window the reproduction number needs is not told"
    if window is not None:
        days = VARIANTS[window].window
        span = "change every day" if days == 1 else f"stay the same for {days} days at a time"
        held = f"these cases ask for a reproduction number that may {span}"
    interval = best.get("generation interval")
    if interval is None:
        return f"For an epidemiologist: {held}."
    mean = VARIANTS[interval].generation_interval
    edge = mean in (min(GENERATION_INTERVALS), max(GENERATION_INTERVALS))
    caution = (
        f"The preferred mean generation interval of {mean} days is at the edge of those tried, so "
        "it is a call to try more of them and no measurement of the interval."
        if edge
        else f"Of the mean generation intervals tried, {mean} days explains them best."
    )
    return f"For an epidemiologist: {held}, however well smoother ones seem to fit. {caution}"


def _pairs(found: Runs, approximations: dict[Variant, Laplace]) -> tuple[Pair, ...]:
    pairs = []
    for group, names in tables.GROUPS.items():
        known = [name for name in names if name in found.evidences]
        if known:
            pairs.append(
                Pair(
                    group,
                    max(known, key=lambda name: found.evidences[name].log_z),
                    max(known, key=lambda name: approximations[VARIANTS[name]].log_z),
                )
            )
    return tuple(pairs)


def _figures(
    found: Runs, approximations: dict[Variant, Laplace], cases: Cases, *, of_the_paper: bool
) -> tuple[Figure, ...]:
    results, pairs = found.evidences, _pairs(found, approximations)
    if len(results) < 2:
        return ()
    printed = {name: PRINTED[name].log_z for name in results} if of_the_paper else {}
    groups = {group: n for group, n in tables.GROUPS.items() if sum(m in results for m in n) > 1}
    drawn = [
        Figure(
            "evidence",
            "Log evidence of all variants on the same days, with 95 % intervals.",
            partial(figures.evidences, results, printed),
        ),
        Figure(
            "bayes_factors",
            "Log Bayes factors of the model of a row over that of a column, with their errors.",
            partial(figures.heatmaps, results, groups),
        ),
        Figure(
            "posteriors",
            "Posteriors of φ and σ of the models that the evidence and Laplace prefer.",
            partial(figures.posteriors, results, pairs),
        ),
        Figure(
            "reproduction_numbers",
            "R_t, median and 90 % band, of the models that the evidence and Laplace prefer.",
            partial(figures.reproduction, results, pairs, cases),
        ),
        Figure(
            "fitted_cases",
            "Reported cases and expected ones, median and 90 % band: all fit alike.",
            partial(figures.fits, results, pairs, cases),
        ),
    ]
    recipe = results_among(found.recipe)
    names = tuple(name for name in ("W=7", "AR(2)") if name in recipe)
    if names:
        caption = (
            "The path of the paper's recipe: the expectation rises steeply before the second of "
            "11 equal rungs, where a spline knows nothing of it."
        )
        drawn.append(Figure("paths", caption, partial(figures.paths, recipe, names)))
    return tuple(drawn)
