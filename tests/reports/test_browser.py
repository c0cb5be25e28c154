"""Pages in a headless Chromium: what is seen at every width, in the light, in the dark, on paper.

Where Chromium is missing these tests are left out, and the end of the run says so; `make browser`
installs it and runs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import refti
from browser import Browser
from made_up_results import made_up_result, with_value
from refti.checks.check import Check
from refti.paper.covid import runs as covid_runs
from refti.paper.covid import study as covid_study
from refti.paper.covid.jobs import Job
from refti.paper.covid.model import VARIANTS
from refti.paper.radiata import model as radiata
from refti.paper.report import page as paper_page
from refti.paper.report.work import Work

pytestmark = pytest.mark.browser

HOSTILE = '</script><b>$x$<img src=x onerror="document.title=1">'
WIDTHS = (360, 800, 1400)
PAGES = ("radiata", "covid", "names")
FIGURES = {"radiata": 3 + 2 * 10, "covid": 5, "names": 3 + 5 * 10}
HEADINGS = {
    "radiata": ["Evidence of 2 models", "The answer", "Ranking", "The models", "adjusted_density"],
    "covid": ["COVID-19 in South Korea", "The verdict", "What the paper says", "Why they differ"],
    "names": ["Evidence of 5 models", "The answer", "Ranking", "The models", HOSTILE],
}
FAILED = Check("peak", 3.0, 1.0, False, "the density has a spike; bound the parameters")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The radiata demo as it is run, the COVID-19 study, and models of odd names and verdicts."""
    folder = tmp_path_factory.mktemp("pages")
    return {
        "radiata": _radiata(folder),
        "covid": _covid(folder / "covid"),
        "names": _names(folder),
    }


def _radiata(folder: Path) -> Path:
    quick: dict[str, Any] = {"kept": 100, "warmup": 100, "ladder": refti.power(4), "seed": 1}
    quick |= {"search": "quick", "check_prior": False}
    models = {"density": radiata.density(), "adjusted_density": radiata.adjusted_density()}
    runs = {name: refti.evidence(model, **quick) for name, model in models.items()}
    return refti.report(runs, folder / "radiata.html").path


def _names(folder: Path) -> Path:
    long = "a_model_with_a_name_that_goes_on_and_on_" * 3
    hostile_parameters = made_up_result(3, names=(HOSTILE, "b"))
    runs = {
        HOSTILE: with_value(hostile_parameters, -1.0, 0.1),
        long: with_value(made_up_result(30, seed=1), -2.5, 0.1),
        "far": with_value(made_up_result(2, seed=2), -1234567.25, 0.1),
        "not trusted": with_value(made_up_result(3, seed=3, failed=(FAILED,)), -3.0, 2.0),
        "many": with_value(
            made_up_result(3, seed=4, names=tuple(f"parameter_{i}" for i in range(60))), -4.0, 0.1
        ),
    }
    return refti.report(runs, folder / "names.html").path


def _covid(folder: Path) -> Path:
    """The page of the study on two variants, with posteriors that were drawn and not sampled."""
    with pytest.MonkeyPatch.context() as patch, _two_variants():
        patch.setattr(covid_runs, "run_jobs", _made_up_runs)
        return paper_page.write(folder, covid_study.make_findings(Work(folder, quick=True)))


@contextmanager
def _two_variants() -> Iterator[None]:
    """All variants of the paper but two are left out, and come back in their order."""
    everything = dict(VARIANTS)
    for name in everything.keys() - {"W=4", "W=7"}:
        del VARIANTS[name]
    yield
    VARIANTS.clear()
    VARIANTS.update(everything)


def _made_up_runs(jobs: list[Job], report: object) -> dict[str, refti.Evidence]:
    found = {}
    for number, job in enumerate(jobs):
        model = job.build(*job.arguments)
        x = 0.1 * np.random.default_rng(0).standard_normal((4 * 30, model.dim))
        posterior = {
            name: (
                ("chain", "draw", *(f"{name}_{k}" for k in range(v.ndim - 1))),
                v.reshape(4, 30, *v.shape[1:]),
            )
            for name, v in model.space.constrain_all(x).items()
        }
        result = with_value(made_up_result(3, seed=number), -800.0 - number, 0.1)
        found[job.name] = replace(result, posterior=xarray.Dataset(posterior))
    return found


SCRIPT = (Path(__file__).parent / "page_checks.js").read_text(encoding="utf-8")
OPEN_ALL = "document.querySelectorAll('details').forEach(d => d.open = true)"
FOLDED = "!h.checkVisibility({contentVisibilityAuto: true})"


def faults(browser: Browser, check: str) -> list[str]:
    """What a function of page_checks.js finds."""
    return browser.run(f"(() => {{ {SCRIPT}; return {check}(); }})()")


@pytest.mark.parametrize("name", PAGES)
def test_headings_and_figures_are_there_and_nothing_is_asked_for(name, pages, browser):
    browser.show(pages[name], width=1400)
    headings = browser.run("[...document.querySelectorAll('h1,h2,h3')].map(h => h.textContent)")
    assert headings[: len(HEADINGS[name])] == HEADINGS[name]
    seen = "[...document.querySelectorAll('svg')].filter(s => s.getBBox().width > 100).length"
    browser.run(OPEN_ALL)
    assert browser.run(seen) == FIGURES[name]
    others = [url for url in browser.requests if not url.startswith("data:image/png")]
    assert others == [pages[name].as_uri()]
    assert browser.run("document.scripts.length") == 0
    problems = [event for event in browser.events if event["method"] == "Runtime.exceptionThrown"]
    assert problems == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", WIDTHS)
def test_no_text_overflows(name, width, pages, browser):
    browser.show(pages[name], width=width)
    browser.run(OPEN_ALL)
    assert faults(browser, "overflowing") == []
    assert faults(browser, "overlapping") == []


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_or_folded_on_paper(name, pages, browser):
    browser.show(pages[name], width=688, paper=True)  # A4 within its margins
    assert faults(browser, "overflowing") == []
    if name == "radiata":  # a ranking of short names has room as a table
        assert browser.run("getComputedStyle(document.querySelector('td')).display") == "table-cell"
    headings = "[...document.querySelectorAll('.model h4')]"
    assert browser.run(f"{headings}.filter(h => {FOLDED}).length") == 0
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast_is_enough(name, dark, pages, browser):
    browser.show(pages[name], width=1400, dark=dark)
    browser.run(OPEN_ALL)
    assert faults(browser, "faint") == []
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") != dark


def test_a_model_of_any_name_appears_as_itself_and_runs_nothing(pages, browser):
    browser.show(pages["names"], width=1400)
    assert browser.run("document.querySelector('h3').textContent") == HOSTILE
    assert browser.run("document.title") == "Evidence of 5 models"
    assert browser.run("document.querySelectorAll('b, img, script').length") == 0
    shown = browser.run("[...document.querySelectorAll('svg text')].map(t => t.textContent)")
    assert HOSTILE[:27] + "…" in shown


def test_the_checker_finds_what_it_is_for(browser, tmp_path: Path):
    page = tmp_path / "bad.html"
    words = "<p>word</p>" * 60
    page.write_text(
        f'<style>p{{color:#aaa}}</style><div style="width:3000px">{words}far</div>'
        '<svg viewBox="0 0 90 50" width="90"><text x="80" y="20">outside</text>'
        '<text x="60" y="20">under it</text></svg>'
        '<img src="http://example.org/x.png">'
    )
    browser.show(page, width=360)
    found = faults(browser, "overflowing")
    assert any("the page is" in one for one in found)
    assert any(one.startswith("outside: ") for one in found)
    assert faults(browser, "overlapping") == ["outside | under it"]
    assert len(faults(browser, "faint")) == 60
    assert "http://example.org/x.png" in browser.requests


def test_a_report_is_printed_to_pdf(tmp_path: Path):
    done = refti.report({"a": made_up_result(2)}, tmp_path / "r.pdf")  # by the ending of its name
    assert done.path.read_bytes().startswith(b"%PDF")
    assert done.path.stat().st_size > 20_000


@pytest.mark.long
def test_the_study_of_covid_as_it_is_run(browser, tmp_path: Path):
    with _two_variants():
        page = paper_page.write(tmp_path, covid_study.make_findings(Work(tmp_path, quick=True)))
    for width in WIDTHS:
        browser.show(page, width=width)
        assert faults(browser, "overflowing") == []
