"""The answer of a comparison in words that a colleague would use."""

from __future__ import annotations

from refti.checks.verdict import Verdict
from refti.results.comparison import Comparison, Row, is_ranked
from refti.results.text import list_names, plus_minus, printable
from refti.results.tuning import TUNING


def answer(comparison: Comparison) -> str:
    """Returns which model is preferred, by how much, and whether that can be relied on."""
    ranked = [row for row in comparison.rows if is_ranked(row.log_z, row.error)]
    if not ranked:
        return "No model has a finite log evidence, so none can be preferred."
    if len(ranked) == 1:
        return f"Only {printable(ranked[0].name)} has a finite log evidence. " + _trust(comparison)
    best, second = ranked[0], ranked[1]
    factor, error = comparison.log_bayes_factor(best.name, second.name)
    is_sound = all(row.verdict is not Verdict.NOT_TRUSTED for row in comparison.rows)
    name, other = printable(best.name), printable(second.name)
    over = f"log Bayes factor over {other} {plus_minus(factor, error)}"
    if factor < TUNING.undecided * error:
        first = f"{name} and {other} cannot be told apart at this precision: {over}."
    else:
        ahead = "is preferred" if is_sound else "is ahead"
        first = f"{name} {ahead}: {_probability(best)}; {over}{_words(second)}."
    if is_sound:
        return f"{first} {_trust(comparison)}"
    return f"Do not rely on this. {_trust(comparison)} As it stands, {first}"


def _probability(row: Row) -> str:
    error = row.probability_error
    if error >= 5e-5:
        return f"probability {plus_minus(row.probability, error)}"
    return (
        "probability above 0.9999"
        if row.probability >= 0.99995
        else (f"probability {row.probability:.4f}")
    )


def _words(second: Row) -> str:
    return (
        f", {second.strength}"
        if second.strength.startswith("not")
        else (f", {second.strength} evidence")
    )


def _trust(comparison: Comparison) -> str:
    """Whether the estimates can be relied on, and if not, which cannot and in which way."""
    rows = comparison.rows
    if comparison.trusted:
        if len(rows) == 1:
            return "The estimate can be trusted."
        return f"{'Both' if len(rows) == 2 else f'All {len(rows)}'} estimates can be trusted."
    told = []
    for verdict in (Verdict.NOT_TRUSTED, Verdict.STOPPED_EARLY, Verdict.IMPRECISE):
        names = [row.name for row in rows if row.verdict is verdict]
        if names:
            told.append(f"{verdict.shown}: {list_names(names)}.")
    return " ".join(told)
