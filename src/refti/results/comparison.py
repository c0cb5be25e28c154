"""Comparison: models ranked by evidence, as values and as a table in plain text."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from refti.checks.verdict import Verdict
from refti.errors import CompareError
from refti.results.html import comparison_html
from refti.results.papers import (
    PaperRow,
    paper_number,
    paper_probability,
    to_latex,
    to_markdown,
)
from refti.results.text import fitted_table, list_names, plus_minus, printable, table, wrapped
from refti.results.tuning import TUNING

HEADER = ("model", "log z", "log Bayes factor", "probability", "best over this", "trusted")
WORDS, FACTOR, STRENGTH = (0, 4, 5), 2, 4  # columns


@dataclass(frozen=True)
class Row:
    """One model of a comparison.

    Attributes:
        name: What the model was called.
        log_z: Its log evidence.
        error: The standard error of `log_z`.
        log_bayes_factor: `log_z` less that of the best model, so 0 for the best and negative below.
        log_bayes_factor_error: Standard error of that difference.
        probability: Posterior probability of the model among those ranked; NaN if it is not ranked.
        probability_error: Standard deviation of `probability` that the errors of all models cause.
        strength: How strong the evidence for the best model over this one is; "" for the best.
        trusted: Whether the result passed its checks and has a finite `log_z` and `error`.
        prior: Prior probability of the model.
        verdict: What is to be thought of its result.
        notes: What a reader has to know of the model before using its number, such as a prior
            that does not integrate to one.
    """

    name: str
    log_z: float
    error: float
    log_bayes_factor: float
    log_bayes_factor_error: float
    probability: float
    probability_error: float
    strength: str
    trusted: bool
    prior: float
    verdict: Verdict
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Models ranked by evidence, best first; those without a finite number stand last, unranked."""

    rows: tuple[Row, ...]

    @property
    def trusted(self) -> bool:
        """True when every row is to be relied on."""
        return all(row.trusted for row in self.rows)

    def log_bayes_factor(self, a: str, b: str) -> tuple[float, float]:
        """Returns log z_a - log z_b and its standard error, the two runs being independent."""
        first, second = self._row(a), self._row(b)
        return difference(first.log_z, first.error, second.log_z, second.error, same=a == b)

    def probability(self, name: str) -> float:
        """Returns the posterior probability of one model."""
        return self._row(name).probability

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know before using the table, one sentence each."""
        ranked = [row for row in self.rows if is_ranked(row.log_z, row.error)]
        unranked = [row.name for row in self.rows if not is_ranked(row.log_z, row.error)]
        notes = []
        if len(ranked) > 1 and _is_undecided(ranked[1]):
            notes.append(
                f"Ranking undecided: {printable(ranked[0].name)} and {printable(ranked[1].name)} "
                f"are closer than {TUNING.undecided:g} combined errors."
            )
        for verdict, sentence in _SENTENCES.items():
            names = [row.name for row in ranked if row.verdict is verdict]
            if names:
                notes.append(f"{sentence}: {list_names(names)}.")
        if unranked:
            notes.append(
                "No finite log z and error; do not rely on these, which are left out of the "
                f"probabilities: {list_names(unranked)}."
            )
        return tuple(notes)

    @property
    def footnotes(self) -> tuple[str, ...]:
        """The notes on the models, each once, after the names of those that it is of."""
        names: dict[str, list[str]] = {}
        for row in self.rows:
            for note in row.notes:
                names.setdefault(note, []).append(row.name)
        return tuple(f"{list_names(of)}: {printable(note)}" for note, of in names.items())

    def to_dict(self) -> dict[str, Any]:
        """Returns the table as values that JSON has; a number that is not finite becomes None."""
        rows = [
            {key: _json_value(value) for key, value in asdict(row).items()} for row in self.rows
        ]
        return {"rows": rows, "trusted": self.trusted, "notes": list(self.notes)}

    def to_markdown(self) -> str:
        """Returns the table in Markdown, for a README or a notebook."""
        return to_markdown(self._paper_rows(), self.notes, self.footnotes)

    def to_latex(self) -> str:
        """Returns the table in LaTeX, for a paper; it needs the package booktabs."""
        return to_latex(self._paper_rows(), self.notes, self.footnotes)

    def __repr__(self) -> str:
        """Returns which models are compared and whether all can be trusted, in a line."""
        names = list_names(row.name for row in self.rows[:4])
        more = f" and {len(self.rows) - 4} more" if len(self.rows) > 4 else ""
        trust = "all trusted" if self.trusted else "not all trusted"
        return f"Comparison({names}{more}; {trust})"

    def _repr_html_(self) -> str:
        notes = (*self.notes, *self.footnotes)
        return comparison_html(HEADER, [_cells(row) for row in self.rows], notes)

    def __str__(self) -> str:
        """Returns the table as plain text, errors to two significant digits, notes below."""
        lines = table(HEADER, [_cells(row) for row in self.rows], words=WORDS)
        notes = (*self.notes, *self.footnotes)
        return "\n".join([*lines, *([""] if notes else []), *notes])

    def fitted(self, width: int) -> str:
        """Returns the table as plain text that fits a width, with the notes on the ranking below.

        Those on the models are not there: the command line tells them in words of its own.
        """
        rows = [_cells(row) for row in self.rows]
        numbers = [(*row[:STRENGTH], *row[STRENGTH + 1 :]) for row in (HEADER, *rows)]
        if len(table(numbers[0], numbers[1:])[1]) > width:
            # The last digits of probabilities are what a narrow terminal has no room for.
            rows = [(*row[:3], _short(self.rows[i]), *row[4:]) for i, row in enumerate(rows)]
        lines = fitted_table(HEADER, rows, width, words=WORDS, spare=(STRENGTH, FACTOR))
        return "\n".join([*lines, *self._notes(width)])

    def _notes(self, width: int) -> list[str]:
        lines = [line for note in self.notes for line in wrapped(note, width)]
        return ["", *lines] if lines else []

    def _paper_rows(self) -> list[PaperRow]:
        return [
            PaperRow(
                row.name,
                (
                    paper_number(row.log_z, row.error),
                    paper_number(
                        row.log_bayes_factor,
                        row.log_bayes_factor_error,
                        is_best=row is self.rows[0],
                    ),
                    paper_probability(row.probability, row.probability_error),
                ),
                row.verdict.cell,
            )
            for row in self.rows
        ]

    def _row(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        known = list_names(row.name for row in self.rows)
        raise CompareError(
            f"No model of this comparison is called {name!r}. Expected one of: {known}."
        )


def is_ranked(log_z: float, error: float) -> bool:
    """Returns whether a model has a log z and an error that can be ranked."""
    return math.isfinite(log_z) and math.isfinite(error) and error >= 0


def difference(
    log_z: float, error: float, other: float, other_error: float, *, same: bool
) -> tuple[float, float]:
    """Returns log z less that of another model, and its standard error."""
    if not (math.isfinite(log_z) and math.isfinite(other)):
        return math.nan, math.nan
    if same:
        # A model against itself: the two errors are one and cancel.
        return 0.0, 0.0
    return log_z - other, math.hypot(error, other_error)


def _is_undecided(second: Row) -> bool:
    return -second.log_bayes_factor < TUNING.undecided * second.log_bayes_factor_error


_SENTENCES = {
    Verdict.NOT_TRUSTED: "Checks failed, do not rely on",
    Verdict.STOPPED_EARLY: "Stopped early, so not everything was checked",
    Verdict.IMPRECISE: "Less precise than asked; number and error can be used",
}


def _json_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Verdict):
        return value.value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _short(row: Row) -> str:
    """The probability to four decimals where its error has none to show in them."""
    if not row.probability_error < 5e-5:
        return plus_minus(row.probability, row.probability_error)
    if row.probability < 5e-5:
        return "< 0.0001"
    return "> 0.9999" if row.probability >= 0.99995 else f"{row.probability:.4f}"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        printable(row.name),
        plus_minus(row.log_z, row.error),
        plus_minus(row.log_bayes_factor, row.log_bayes_factor_error),
        plus_minus(row.probability, row.probability_error),
        row.strength,
        row.verdict.cell,
    )
