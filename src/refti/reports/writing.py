"""report(): one run, or a comparison of many, as a single HTML page or a PDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from threadpoolctl import threadpool_limits

from refti.errors import CompareError, SettingsError, StoreError
from refti.plots import drawing
from refti.reports.data import Group, group_runs
from refti.reports.figures import comparison_figures
from refti.reports.paged import FigureShown, TableShown, render
from refti.reports.pdf import find_browser, write_pdf
from refti.reports.runs import Given, Run, Unread, read_runs
from refti.reports.sections import VERDICTS, Section, make_section
from refti.reports.svg import StyleSheet
from refti.reports.words import GLOSSARY
from refti.results.answer import answer
from refti.results.compare import compare
from refti.results.comparison import Comparison, Row
from refti.results.files import write_bytes
from refti.results.result import LogRatio
from refti.results.text import list_names, plus_minus, printable

Format = Literal["html", "pdf"]
FULL_SECTIONS = 20  # models of which every one has its figures; of more only the best
BEST_WITH_FIGURES = 8
DATA_UNKNOWN = (
    "Some of these runs do not say which data they used: the ranking is valid only if all of them "
    "used the same data."
)
SMALL_PROBABILITY = 1e-4
UNFOLDED = 4  # models whose sections stand open


@dataclass(frozen=True)
class Ranking:
    """Models of the same data, ranked.

    Attributes:
        title: of its heading; "" where all models are ranked together.
        table: the ranking.
        notes: what a reader has to know before using it.
        figures: of the comparison.
    """

    title: str
    table: TableShown
    notes: tuple[str, ...]
    figures: tuple[FigureShown, ...]


@dataclass(frozen=True)
class Reported:
    """What a report came to.

    Attributes:
        path: where it was written.
        trusted: whether every run in it can be trusted.
        unread: the runs that are not in it, each with the reason.
    """

    path: Path
    trusted: bool
    unread: tuple[Unread, ...]


def report(
    runs: Given,
    path: str | Path,
    *,
    prior: Mapping[str, float] | None = None,
    title: str | None = None,
    format: Format | None = None,
) -> Reported:
    """Writes the report of one run, or of several that are compared, and returns what it came to.

    It is one file that needs no network and runs no code. The same runs always give the same
    bytes. Runs that are known to be of different data are not ranked together.

    Args:
        runs: results of `refti.evidence`, or folders that hold them, in a dictionary by name or in
            a list; a folder of folders stands for all runs in it.
        path: the file to write.
        prior: prior weight of every model, as for `refti.compare`.
        title: of the page.
        format: "html", or "pdf" where Chromium is installed; by the ending of path if not given.

    Raises:
        SettingsError: an argument cannot be used, or a package or Chromium is missing.
        StoreError: no run can be read.
    """
    if format not in ("html", "pdf", None):
        raise SettingsError(f'format= must be "html" or "pdf"; got {format!r}.')
    drawing.require_packages("matplotlib", "jinja2")
    file = Path(path)
    pdf = format == "pdf" or (format is None and file.suffix.lower() == ".pdf")
    browser = find_browser() if pdf else None
    if file.is_dir() or not file.parent.exists():
        raise SettingsError(
            f"The report needs the path of a file in a folder that exists; got {file}. Use, say, "
            "report.html."
        )
    read, unread = read_runs(runs)
    if not read:
        raise StoreError("\n".join(one.reason for one in unread))
    names = {run.name for run in read}
    if prior is not None and not names <= set(prior) <= names | {one.name for one in unread}:
        raise CompareError(
            "Prior must have one weight for every model reported; expected "
            f"{list_names(sorted(names))}; got {list_names(prior)}. Leave it out for equal weights."
        )
    # One thread: the last bits, and so the bytes, must not depend on how many cores there are.
    with threadpool_limits(limits=1):
        page = make_page(read, unread, prior=prior, title=title)
    if browser is None:
        write_bytes(file, page.encode())
    else:
        write_pdf(browser, page, file)
    return Reported(file, all(run.result.trusted for run in read), tuple(unread))


def make_page(
    runs: Sequence[Run],
    unread: Sequence[Unread] = (),
    *,
    prior: Mapping[str, float] | None = None,
    title: str | None = None,
) -> str:
    """The report as HTML."""
    sheet = StyleSheet()
    groups = group_runs(runs)
    comparisons = {
        group: compare(
            {run.name: run.result for run in group.runs},  # type: ignore[misc]
            prior=None if prior is None else {run.name: prior[run.name] for run in group.runs},
        )
        for group in groups
        if len(group.runs) > 1
    }
    ordered = _ordered(groups, comparisons)
    rankings = [_ranking(group, comparison, sheet) for group, comparison in comparisons.items()]
    few = len(ordered) <= FULL_SECTIONS
    sections = [
        make_section(run, n, sheet, with_figures=few or n <= BEST_WITH_FIGURES)
        for n, run in enumerate(ordered, start=1)
    ]
    return render(
        "report.html",
        sheet,
        title=printable(title) if title else _title(ordered),
        answers=_answers(groups, comparisons, sections, unread),
        rankings=rankings,
        sections=sections,
        unread=unread,
        folded=len(sections) > UNFOLDED,
        left_out=0 if few else len(sections) - BEST_WITH_FIGURES,
        best=BEST_WITH_FIGURES,
        glossary=GLOSSARY,
    )


def _ordered(groups: Sequence[Group], comparisons: Mapping[Group, Comparison]) -> list[Run]:
    """The runs, best first within the models of one data set."""
    ordered = []
    for group in groups:
        by_name = {run.name: run for run in group.runs}
        names = [row.name for row in comparisons[group].rows] if group in comparisons else by_name
        ordered += [by_name[name] for name in names]
    return ordered


def _title(runs: Sequence[Run]) -> str:
    if len(runs) == 1:
        return f"Evidence of {printable(runs[0].name)}"
    return f"Evidence of {len(runs)} models"


def _answers(
    groups: Sequence[Group],
    comparisons: Mapping[Group, Comparison],
    sections: Sequence[Section],
    unread: Sequence[Unread],
) -> list[str]:
    """What is to be known first, in words that a colleague would use."""
    said = []
    if len(groups) > 1:
        said.append(
            "These runs used different data, and evidences of different data cannot be compared, "
            f"so they are not ranked together. {' '.join(group.sentence for group in groups)}"
        )
    for group in groups:
        if group in comparisons:
            said.append(answer(comparisons[group]))
        else:
            name = printable(group.runs[0].name)
            section = next(one for one in sections if one.name == name)
            result = group.runs[0].result
            what = "log Bayes factor" if isinstance(result, LogRatio) else "log evidence"
            value = plus_minus(result.value, result.error)
            said.append(f"The {what} of {name} is {value}. {section.sentence}")
    if unread:
        said.append(
            f"Not in this report, for the reasons below: {list_names(u.name for u in unread)}."
        )
    return said


def _probability(row: Row) -> str:
    if row.probability < SMALL_PROBABILITY:
        return f"< {SMALL_PROBABILITY:.4f}"
    return plus_minus(row.probability, row.probability_error)


def _ranking(group: Group, comparison: Comparison, sheet: StyleSheet) -> Ranking:
    verdicts = [VERDICTS[row.verdict] for row in comparison.rows]
    rows = tuple(
        (
            str(place),
            printable(row.name),
            plus_minus(row.log_z, row.error).replace("-", "−"),
            "0"
            if place == 1
            else plus_minus(row.log_bayes_factor, row.log_bayes_factor_error).replace("-", "−"),
            _probability(row),
            row.strength or "–",
            verdict,
        )
        for place, (row, verdict) in enumerate(zip(comparison.rows, verdicts, strict=True), start=1)
    )
    head = ("rank", "model", "log z", "log Bayes factor over the best", "probability")
    head_end = ("evidence for the best over it", "verdict")
    return Ranking(
        title=group.title,
        table=TableShown((*head, *head_end), rows),
        notes=(*comparison.notes, *([] if group.is_known else [DATA_UNKNOWN])),
        figures=tuple(comparison_figures(comparison, sheet)),
    )
