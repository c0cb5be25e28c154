"""Sections: what a report says of one run, as a template takes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from refti.checks.verdict import Verdict
from refti.draws import autocorrelation
from refti.plots.parameters import flat_columns
from refti.reports.figures import run_figures
from refti.reports.paged import FigureShown, TableShown, cell, make_table
from refti.reports.runs import Run
from refti.reports.svg import StyleSheet
from refti.reports.words import CHECKS
from refti.results.result import LogRatio, Result
from refti.results.text import plus_minus, printable
from refti.run.settings import Settings

MOST_PARAMETERS = 40  # numbers in the summary of the posterior
MOST_OF_ONE = 8  # of one parameter, where there are more in all
VERDICTS = {
    Verdict.TRUSTED: "can be trusted",
    Verdict.IMPRECISE: "less precise than asked",
    Verdict.STOPPED_EARLY: "stopped early",
    Verdict.NOT_TRUSTED: "may be wrong",
}
SENTENCES = {
    Verdict.TRUSTED: "All checks passed, so the number and its error can be trusted.",
    Verdict.IMPRECISE: "All checks but one passed: the number and its error can be used, but the "
    "error is larger than you asked for.",
    Verdict.STOPPED_EARLY: "The run was stopped early. What was checked passed, but not "
    "everything was checked.",
    Verdict.NOT_TRUSTED: "Some checks failed, so the number may be wrong by more than its error "
    "says.",
}


@dataclass(frozen=True)
class Section:
    """What is said of one run.

    Attributes:
        name: of the model.
        anchor: where in the page it stands.
        value: its number with its error.
        symbol: what the number is.
        interval: the 95 % interval.
        verdict: in a few words.
        kind: of the verdict, for its colour.
        sentence: the verdict in a sentence.
        notes: what a reader has to know of the model before using its number.
        failed: checks that failed: name, what was found, what to do.
        checks: all of them.
        figures: of the run; none where there are too many models.
        posterior: its summary.
        made: how the run was made, by what.
        command: what makes it again.
    """

    name: str
    anchor: str
    value: str
    symbol: str
    interval: str
    verdict: str
    kind: str
    sentence: str
    notes: tuple[str, ...]
    failed: tuple[tuple[str, str, str], ...]
    checks: TableShown
    figures: tuple[FigureShown, ...]
    posterior: TableShown
    made: TableShown
    command: str


def make_section(run: Run, number: int, sheet: StyleSheet, *, with_figures: bool) -> Section:
    """The section of a run."""
    result = run.result
    low, high = result.interval(0.95)
    return Section(
        name=printable(run.name),
        anchor=f"model-{number}",
        value=plus_minus(result.value, result.error).replace("-", "−"),
        symbol="log Bayes factor" if isinstance(result, LogRatio) else "log z",
        interval=f"{cell(low)} to {cell(high)}",
        verdict=VERDICTS[result.verdict],
        kind=result.verdict.name.lower(),
        sentence=SENTENCES[result.verdict],
        notes=tuple(printable(note) for note in result.found.get("notes", ())),
        failed=tuple((c.name, c.measured, c.advice) for c in result.checks if not c.ok),
        checks=_checks(result),
        figures=tuple(run_figures(result, sheet)) if with_figures else (),
        posterior=summarise_posterior(result),
        made=_made(run),
        command=command(run),
    )


def summarise_posterior(result: Result) -> TableShown:
    """Mean, spread, quantiles and convergence of every parameter, as far as there is room."""
    sampled = {dim: 0 for dim in ("chain", "draw") if dim in result.posterior.dims}
    sizes = {name: values.size for name, values in result.posterior.isel(sampled).items()}
    crowded = sum(sizes.values()) > MOST_PARAMETERS
    rows: list[tuple[Any, ...]] = []
    for name in sizes:
        columns = flat_columns(result.posterior[[name]], ("chain", "draw"))
        shown = list(columns.items())[: MOST_OF_ONE if crowded else None]
        rows += [_summary(label, values, result) for label, values in shown]
    left_out = sum(sizes.values()) - len(rows[:MOST_PARAMETERS])
    head = ("parameter", "mean", "sd", "5 %", "50 %", "95 %", "effective draws", "R-hat")
    cells = zip(*rows[:MOST_PARAMETERS], strict=True) if rows else [()] * len(head)
    table = make_table(dict(zip(head, cells, strict=True)))
    if not left_out:
        return table
    note = f"{left_out:,} more numbers are in result.posterior."
    return TableShown(table.columns, table.rows, notes=(note,))


def _summary(label: str, values: np.ndarray, result: Result) -> tuple[Any, ...]:
    chains = values.reshape(result.posterior.sizes["chain"], -1)
    with np.errstate(all="ignore"):
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
        worth, r_hat = autocorrelation.bulk_size(chains), autocorrelation.r_hat(chains)
    mean, spread = float(values.mean()), float(values.std())
    return label, mean, spread, low, middle, high, _whole(float(worth)), float(r_hat)


def _whole(number: float) -> int | None:
    return round(number) if np.isfinite(number) else None


def _checks(result: Result) -> TableShown:
    rows = [
        ("yes" if c.ok else "NO", c.name, c.measured, CHECKS.get(c.name, "")) for c in result.checks
    ]
    return TableShown(("holds", "check", "found", "requirement"), tuple(rows))


def _made(run: Run) -> TableShown:
    """What was asked for, what the run chose, and with what it was made."""
    result, found = run.result, run.result.found
    rows = [("model", str(found.get("source", ""))), *_origin(found.get("origin"))]
    rows += [
        (f"{name}=", str(value) if name == "seed" else _plain(value))  # a seed is copied
        for name, value in sorted(result.settings.items())
    ]
    rungs = [str(leg.rungs) for leg in result.draws] or ["none: there is nothing to sample"]
    rows.append(("rungs", rungs[0] if len(rungs) == 1 else f"{', '.join(rungs)} on the legs"))
    words = {
        "chosen_reference": "reference chosen",
        "chosen_because": "because",
        "coordinates": "coordinates",
        "kernel": "kernel used",
        "pilot": "first draws",
        "rounds": "rounds",
        "modes": "modes found",
        "broad_parts": "broad parts beyond them",
    }
    rows += [(label, _plain(found[key])) for key, label in words.items() if found.get(key)]
    if found.get("search"):
        rows.append(("search", str(found["search"]["sentence"])))
    cost = result.cost
    rows.append(
        (
            "cost",
            f"{cost.gradient_evaluations:,} gradients, {cost.density_evaluations:,} densities, "
            f"{cost.seconds:.1f} s, of which {cost.compile_seconds:.1f} s compiling",
        )
    )
    versions = found.get("versions") or run.record.get("versions") or {}
    if versions:
        rows.append(("versions", ", ".join(f"{n} {v}" for n, v in sorted(versions.items()))))
    return TableShown(
        ("what", "value"), tuple((a, printable(b)) for a, b in rows if b not in ("", "None"))
    )


def _origin(origin: Any) -> list[tuple[str, str]]:
    """The program and the data of a model in Stan, by their files and their digests."""
    if not isinstance(origin, Mapping):
        return []
    rows = []
    for what in ("program", "data"):
        name, digest = origin.get(what), origin.get(f"{what}_sha256")
        if digest is not None:
            rows.append((what, f"{name or 'given as values'}, sha256 {str(digest)[:12]}…"))
    return rows


def _plain(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(one) for one in value)
    if isinstance(value, float):
        return f"{value:g}"
    return cell(value)


def command(run: Run) -> str:
    """What makes the run again: the command that its folder tells of, or the call in Python."""
    told = run.record.get("command")
    if isinstance(told, str):
        return printable(told)
    usual = Settings().record()
    asked: Mapping[str, Any] = run.result.settings
    different = {
        n: v for n, v in sorted(asked.items()) if n in usual and n != "seed" and v != usual[n]
    }
    reference = different.pop("reference", None)
    if reference is not None:
        different["reference"] = reference[0] if len(reference) == 1 else reference
    arguments = [f"seed={asked.get('seed', usual['seed'])}"]
    arguments += [f"{name}={_python(value)}" for name, value in different.items()]
    if isinstance(run.result, LogRatio):
        return f"refti.log_bayes_factor(model_a, model_b, {', '.join(arguments)})"
    return f"refti.evidence(model, {', '.join(arguments)})"


def _python(value: Any) -> str:
    return repr(value) if not isinstance(value, list) else json.dumps(value)
