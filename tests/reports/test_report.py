"""Reports: the answer in words, everything in one file, the same bytes, and bad runs told."""

from __future__ import annotations

import ast
import itertools
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import xarray

import refti
from made_up_results import made_up_result, with_value
from refti.checks.check import Check
from refti.checks.verdict import Verdict
from refti.reports.data import group_runs
from refti.reports.paged import TableShown, cell
from refti.reports.runs import Run
from refti.reports.sections import SENTENCES, VERDICTS, command
from refti.reports.table_styles import TableStyles
from refti.reports.words import CHECKS, FIGURES
from refti.results.html import Checks
from refti.results.of_data import data_of

HOSTILE = "</script><b>$x$"
FAILED = Check("peak", 3.0, 1.0, False, "the density has a spike; bound the parameters")


@pytest.fixture(scope="module")
def results() -> dict[str, refti.Evidence]:
    values = {"AR(3)": -100.0, "AR(2)": -101.7, HOSTILE: -104.0}
    return {
        name: with_value(made_up_result((3, 11, 2)[i], seed=i), value, 0.1)
        for i, (name, value) in enumerate(values.items())
    }


@pytest.fixture(scope="module")
def page(results, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("report") / "report.html"
    done = refti.report(results, file)
    assert done.path == file
    assert done.trusted
    return file.read_text(encoding="utf-8")


class Reader(HTMLParser):
    """What a browser would make of a page: its elements and the text that is seen."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._hidden += tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag == "style"

    def handle_data(self, data: str) -> None:
        if not self._hidden and data.strip():
            self.texts.append(data.strip())


def text_of(page: str) -> str:
    return " ".join(Reader(page).texts).replace("\N{NO-BREAK SPACE}", " ")


def test_a_number_is_not_parted_from_its_error(page: str):
    assert "1.70\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.14" in page
    assert not re.search(r"\d ± \d", page)


def test_the_answer_comes_first_in_words(page: str):
    seen = text_of(page)
    assert "AR(3) is preferred: probability 0.8" in seen
    assert "log Bayes factor over AR(2) 1.70 ± 0.14" in seen
    assert "All 3 estimates can be trusted." in seen
    assert seen.index("is preferred") < seen.index("Ranking") < seen.index("The models")


def test_notes_on_a_model_stand_in_its_section(tmp_path: Path):
    noted = made_up_result(found={"notes": ["bounds cut off <b> of a prior"]})
    refti.report({"m": noted}, tmp_path / "noted.html")
    assert "<strong>Note</strong>: bounds cut off &lt;b&gt; of a prior." in (
        tmp_path / "noted.html"
    ).read_text(encoding="utf-8")


def test_headings_follow_each_other_and_every_model_has_its_parts(page: str):
    tags = [tag for tag, _ in Reader(page).tags if re.fullmatch(r"h[1-6]", tag)]
    assert tags[0] == "h1"
    assert tags.count("h1") == 1
    assert all(int(b[1]) - int(a[1]) <= 1 for a, b in itertools.pairwise(tags))
    seen = text_of(page)
    for part in ("Checks", "Figures", "Posterior", "How it was made"):
        assert len(re.findall(rf"\b{part}\b", seen)) >= 3


def test_every_figure_has_words_a_table_and_a_sentence_on_reading_it(page: str):
    tags = Reader(page).tags
    drawn = [attrs for tag, attrs in tags if tag == "svg"]
    assert len(drawn) == 3 + 3 * 10
    assert all(attrs["role"] == "img" and len(attrs["aria-label"] or "") > 40 for attrs in drawn)
    assert sum(tag == "figcaption" for tag, _ in tags) == len(drawn)
    assert page.count('<details class="data">') == len(drawn)
    seen = text_of(page)
    for title, reading in FIGURES.values():
        assert title in seen
        assert reading[:40] in seen


def test_the_page_holds_everything_and_runs_nothing(page: str):
    tags = Reader(page).tags
    assert not {tag for tag, _ in tags} & {"script", "link", "iframe", "object", "embed", "base"}
    assert not [name for _, attrs in tags for name in attrs if name.startswith("on")]
    links = [a[k] or "" for _, a in tags for k in ("href", "src", "xlink:href") if k in a]
    assert links
    assert all(link.startswith(("#", "data:image/png")) for link in links)
    assert "default-src 'none'" in page
    assert not re.search(r"url\((?!#)|@import", page)
    identifiers = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(identifiers) == len(set(identifiers))
    assert {link[1:] for link in links if link.startswith("#")} <= set(identifiers)


def test_a_name_is_text_wherever_it_stands(page: str):
    assert "<b>" not in page
    assert "</script>" not in page
    # In the answer or the ranking, the list of models, its heading, and the figures.
    assert Reader(page).texts.count(HOSTILE) >= 4


def test_the_same_runs_give_the_same_bytes_loaded_or_not(results, page: str, tmp_path: Path):
    for name, result in zip("abc", results.values(), strict=True):
        result.save(tmp_path / name)
    again = dict(zip(results, (tmp_path / "a", tmp_path / "b", tmp_path / "c"), strict=True))
    refti.report(again, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page


def test_one_run_is_told_with_its_interval_settings_and_command(tmp_path: Path):
    result = made_up_result(3, seed=7)
    result = replace(result, settings={**result.settings, "seed": 937549945356938600})
    refti.report(result, tmp_path / "r.html", title="Pines")
    seen = text_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert seen.startswith("Pines Pines")
    assert f"is {result.value:.3f}" in seen
    assert "refti.evidence(model, seed=937549945356938600)" in seen
    assert "seed= 937549945356938600" in seen  # to be copied, so without commas
    assert "refti 0.1.0" in seen
    assert "Ranking" not in seen


def test_a_command_names_every_setting_that_differs(results):
    changed = {"seed": 3, "target_error": 0.1, "reference": ["laplace"], "ladder": [0.0, 0.5, 1.0]}
    result = replace(results["AR(2)"], settings=results["AR(2)"].settings | changed)
    asked = command(Run("x", result))
    assert asked == (
        "refti.evidence(model, seed=3, ladder=[0.0, 0.5, 1.0], target_error=0.1, "
        "reference='laplace')"
    )
    assert command(Run("x", result, {"command": "refti run m.stan"})) == "refti run m.stan"


def test_failed_checks_are_told_with_what_to_do(tmp_path: Path):
    done = refti.report(made_up_result(3, failed=(FAILED,)), tmp_path / "r.html")
    assert not done.trusted
    seen = text_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "may be wrong" in seen
    assert "3, not ≤ 1" in seen
    assert "bound the parameters" in seen


def test_every_check_and_every_verdict_has_its_words():
    folder = Path(refti.__file__).parent / "checks"
    calls = [
        node
        for file in folder.glob("of_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("at_most", "at_least")
    ]
    names = {node.args[0].value for node in calls if isinstance(node.args[0], ast.Constant)}
    assert len(names) > 20
    assert names <= set(CHECKS)
    assert set(VERDICTS) == set(SENTENCES) == set(Verdict)


class TestSize:
    """Many models: small files, and figures of the best only."""

    def test_sixteen_models_would_be_small(self, page: str):
        assert len(page.encode()) / 3 * 16 < 1.5e6

    def test_of_two_hundred_only_the_best_have_figures_and_all_are_folded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("refti.reports.writing.BEST_WITH_FIGURES", 1)
        result = made_up_result(2)
        runs = {f"model {i}": with_value(result, -float(i), 0.1) for i in range(200)}
        refti.report(runs, tmp_path / "r.html")
        page = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert page.count("<svg") == 3 + 10
        assert page.count('<details class="model"') == 200
        assert " open>" not in page
        assert "the other 199" in text_of(page)
        assert len(page) < 3e6


class TestData:
    """Runs of different data are not ranked together."""

    @staticmethod
    def observing(values: object, name: str = "y") -> refti.Evidence:
        observed = xarray.Dataset({name: ("i", np.asarray(values))})
        return replace(made_up_result(2), groups={"observed_data": observed})

    def test_runs_of_different_data_are_ranked_apart_and_it_is_said(self, tmp_path: Path):
        runs = {
            "A": self.observing([1, 2, 3]),
            "B": self.observing([1, 2, 3], name="counts"),
            "C": self.observing([1, 2, 4]),
        }
        refti.report(runs, tmp_path / "r.html")
        seen = text_of((tmp_path / "r.html").read_text(encoding="utf-8"))
        assert "These runs used different data" in seen
        assert "Data set 1: A, B." in seen
        assert "Data set 2: C." in seen
        assert seen.count("Ranking: data set") == 1
        assert "The log evidence of C is" in seen

    def test_names_order_and_precision_do_not_matter_and_values_and_their_number_do(self):
        same = [
            data_of(one).sha256
            for one in (
                self.observing([0.1, 2]),
                self.observing([2, 0.1], name="counts"),
                self.observing(np.array([0.1, 2], dtype=np.float32)),
            )
        ]
        others = [data_of(self.observing(values)).sha256 for values in ([0.1, 2, 0], [0.1, 3])]
        assert len(set(same)) == 1
        assert len({*same, *others}) == 3

    def test_a_comparison_is_refused_too_unless_the_user_knows_better(self):
        results = {"A": self.observing([1, 2]), "C": self.observing([1, 3])}
        with pytest.raises(refti.CompareError, match="different data"):
            refti.compare(results)
        assert len(refti.compare(results, different_data=True).rows) == 2

    def test_a_run_that_tells_nothing_is_ranked_with_a_caution(self, results, page: str):
        groups = group_runs([Run(name, result) for name, result in results.items()])
        assert [len(group.runs) for group in groups] == [3]
        assert "the ranking is valid only if all of them used the same data" in text_of(page)


def test_a_model_without_parameters_is_reported(tmp_path: Path):
    drawn = made_up_result(2)
    result = replace(with_value(drawn, -3.25, 0.0), draws=(), posterior=xarray.Dataset(), rungs=())
    refti.report({"point": result}, tmp_path / "r.html")
    seen = text_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "The log evidence of point is -3.25" in seen
    assert "there is nothing to sample" in seen
    with pytest.raises(refti.SettingsError, match="has no parameters"):
        refti.plots.path(result)


class TestBadInput:
    """Runs that are not there, not whole or not finished, and arguments that make no sense."""

    @pytest.fixture
    def whole(self, tmp_path: Path) -> Path:
        made_up_result(2).save(tmp_path / "whole")
        return tmp_path / "whole"

    @pytest.mark.parametrize(
        ("spoil", "words"),
        [
            (lambda f: (f / "result.json").unlink(), "holds an unfinished run"),
            pytest.param(
                lambda f: [p.unlink() for p in f.iterdir()],
                "is empty: no run was started",
                marks=pytest.mark.long,  # what is told is the same for all of these
            ),
            pytest.param(
                lambda f: (f / "result.json").write_text("{"),
                "cannot be read",
                marks=pytest.mark.long,
            ),
            (
                lambda f: (f / "draws.nc").write_bytes(b"x"),
                "not the file this result was saved with",
            ),
            (lambda f: (f / "result.json").write_text('{"format": 2}'), "was changed after"),
        ],
        ids=["unfinished", "empty", "not JSON", "another file", "changed"],
    )
    def test_a_run_that_cannot_be_read(self, whole: Path, spoil, words: str, tmp_path: Path):
        (whole / "run.json").write_text("{}")
        made_up_result(2, seed=1).save(tmp_path / "good")
        spoil(whole)
        with pytest.raises(refti.StoreError, match=words):
            refti.report(whole, tmp_path / "r.html")
        assert not (tmp_path / "r.html").exists()
        # Beside a good one it is told, and costs the good one nothing.
        done = refti.report([tmp_path / "good", whole], tmp_path / "r.html")
        assert [one.name for one in done.unread] == ["whole"]
        seen = text_of((tmp_path / "r.html").read_text(encoding="utf-8"))
        assert "Runs that could not be read" in seen
        assert re.search(words, seen)

    def test_a_folder_of_runs_stands_for_all_of_them(self, whole: Path, tmp_path: Path):
        (tmp_path / "begun").mkdir()
        (tmp_path / "begun" / "run.json").write_text("{}")
        done = refti.report(tmp_path, tmp_path / "r.html")
        assert [one.name for one in done.unread] == ["begun"]

    @pytest.mark.parametrize(
        ("given", "options", "words"),
        [
            ([], {}, "at least one run; got none"),
            (["nowhere"], {}, "There is no folder nowhere"),
            ([1], {}, "got int"),
            (["a/x", "b/x"], {}, "different names; got x more than once"),
            (["nowhere"], {"format": "docx"}, 'must be "html" or "pdf"; got \'docx\''),
        ],
    )
    def test_arguments(self, given, options, words: str, tmp_path: Path):
        with pytest.raises(refti.RefTIError, match=re.escape(words)):
            refti.report(given, tmp_path / "r.html", **options)

    def test_a_file_that_cannot_be_written(self, whole: Path, tmp_path: Path):
        for path in (tmp_path, tmp_path / "no" / "r.html"):
            with pytest.raises(refti.SettingsError, match="in a folder that exists"):
                refti.report(whole, path)

    def test_a_prior_that_leaves_a_model_out(self, results, tmp_path: Path):
        with pytest.raises(refti.CompareError, match="one weight for every model"):
            refti.report(results, tmp_path / "r.html", prior={"AR(2)": 1.0})

    def test_packages_and_browsers_that_are_missing(self, whole, tmp_path, monkeypatch):
        monkeypatch.setattr("shutil.which", lambda name: None)
        with pytest.raises(refti.SettingsError, match="apt-get install chromium"):
            refti.report(whole, tmp_path / "r.pdf", format="pdf")
        monkeypatch.setattr("refti.plots.drawing.find_spec", lambda name: None)
        with pytest.raises(refti.SettingsError, match=r'pip install "refti\[report\]"'):
            refti.report(whole, tmp_path / "r.html")


class TestCells:
    """Numbers and names in tables."""

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            (-310.12830, "−310.1283"),
            (0.05, "0.05000"),
            (12, "12"),
            (1_234_567, "1,234,567"),
            (float("nan"), "–"),
            (float("-inf"), "−∞"),
            (None, "–"),
            (3.0, "3"),
            (1e-9, "1e−09"),
            (True, "yes"),
            ("a\x1b[31m", "a?[31m"),
        ],
    )
    def test_values(self, value, shown: str):
        assert cell(value) == shown

    def test_names_of_columns_cannot_leave_the_style_sheet(self):
        styles = TableStyles()
        styles.names(('"}</style><b>', "x"), (("1", "2"),), (True, True))
        assert "<" not in styles.css
        assert r'content:"\22 \7d \3c \2f style\3e \3c b\3e "' in styles.css

    def test_columns_of_numbers_are_found(self):
        table = TableShown(("n", "w"), (("−1.5 ± 0.1", "1 of 2"), ("–", "x"), ("1,000", "y")))
        assert table.is_numeric == (True, False)


class TestNotebooks:
    """What a notebook shows."""

    def test_a_result_is_two_lines(self, results):
        told = repr(results["AR(3)"])
        assert told.startswith("Evidence(log z = -100.0000 ± 0.1000, trusted")
        assert len(told.splitlines()) <= 2
        assert len(repr(results["AR(3)"].draws)) < 100

    def test_a_comparison_is_a_line_and_a_table(self, results):
        table = refti.compare(results)
        assert repr(table) == f"Comparison(AR(3), AR(2), {HOSTILE}; all trusted)"
        shown = table._repr_html_()
        assert "<b>" not in shown
        assert HOSTILE in unescape(shown)
        assert "−" in shown or "-101.70" in shown

    def test_checks_show_value_direction_and_threshold_and_advice_where_they_failed(self):
        result = made_up_result(2, failed=(FAILED,))
        assert isinstance(result.checks, Checks)
        shown = unescape(result.checks._repr_html_())
        assert re.search(r"R-hat \d\.\d+ ≤ 1\.03", shown)
        assert shown.count("bound the parameters") == 1
        assert "sample longer" not in shown
        assert "bound the parameters" in unescape(result._repr_html_())
        assert "FAILED  peak: 3, not ≤ 1" in repr(result.checks)
