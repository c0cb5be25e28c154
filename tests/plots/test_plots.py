"""Plots: what they draw is what the result says, whatever its names, whether loaded or not."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
import xarray
from matplotlib.figure import Figure

import refti
from made_up_results import LOG_Z, SCALE, made_up_result, with_value
from refti import plots
from refti.draws.draws import Draws
from refti.plots.chains import worst_rung
from refti.plots.comparison import bayes_factors_columns, probabilities_columns
from refti.plots.cost import cost_columns
from refti.plots.drawing import COLOURS, SIZE, literal, short_numbers
from refti.plots.modes import search_columns
from refti.plots.overlap import overlap_matrix
from refti.plots.parameters import flat_columns
from refti.plots.path import path_columns
from refti.plots.reference import misfits
from refti.plots.reweighted import curve
from refti.plots.running import running_columns

HOSTILE = "</script><b>$x$"
OF_RESULTS = [
    "chains", "cost", "estimates", "modes", "overlap", "path", "reference", "running", "search",
    "variance",
]  # fmt: skip
OF_COMPARISONS = ["bayes_factors", "evidences", "probabilities"]


@pytest.fixture(scope="module")
def result() -> refti.Evidence:
    return made_up_result()


@pytest.fixture(scope="module")
def comparison(result: refti.Evidence) -> refti.Comparison:
    values = {"first": -3.0, HOSTILE: -3.5, "third": -9.0}
    return refti.compare({n: with_value(result, v, 0.1) for n, v in values.items()})


@pytest.fixture
def ax() -> Any:
    return Figure().subplots()


def assert_labels_apart(ax: Any) -> None:
    """Asserts that no two names of columns share a place."""
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(boxes) > 3
    for left, right in itertools.pairwise(sorted(boxes, key=lambda box: box.x0)):
        assert left.x1 < right.x0


def svg(draw: Callable[[Any], object]) -> str:
    """What a plot draws, as text."""
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "test"}):
        figure, written = Figure(), io.StringIO()
        draw(figure.subplots())
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def test_all_plots_are_public():
    assert sorted([*OF_RESULTS, *OF_COMPARISONS]) == sorted(plots.__all__)
    assert refti.plots is plots


@pytest.mark.parametrize("name", OF_RESULTS)
def test_a_plot_of_a_result_draws_into_given_axes_and_labels_them(name: str, result, ax):
    assert getattr(plots, name)(result, ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel() or len(ax.get_yticklabels()) > 1
    assert ax.lines or ax.images or ax.patches


@pytest.mark.parametrize("name", OF_COMPARISONS)
def test_a_plot_of_a_comparison_draws_into_given_axes_and_names_models(name: str, comparison, ax):
    assert getattr(plots, name)(comparison, ax) is ax
    drawn = svg(lambda ax: getattr(plots, name)(comparison, ax))
    assert ">first<" in drawn
    # As it is written, letter by letter: neither markup nor a formula.
    assert ">&lt;/script&gt;&lt;b&gt;$x$<" in drawn


@pytest.mark.parametrize("name", ["reference", "modes"])
def test_parameters_of_any_name_are_shown_as_themselves(name: str):
    odd = made_up_result(names=(HOSTILE, r"\$a_b^c$"))
    drawn = svg(lambda ax: getattr(plots, name)(odd, ax))
    assert ">&lt;/script&gt;&lt;b&gt;$x$<" in drawn
    assert r">\$a_b^c$<" in drawn


@pytest.mark.parametrize("name", OF_RESULTS)
def test_a_result_that_was_saved_gives_the_same_plot(name: str, result, tmp_path: Path):
    result.save(tmp_path / "run")
    loaded = refti.load(tmp_path / "run")
    plot = getattr(plots, name)
    assert svg(lambda ax: plot(result, ax)) == svg(lambda ax: plot(loaded, ax))


def test_new_axes_are_made_where_none_are_given(result):
    matplotlib.use("Agg")
    from matplotlib import pyplot

    ax = plots.estimates(result)
    assert ax.figure.number in pyplot.get_fignums()  # so that a notebook shows it
    pyplot.close(ax.figure)


class TestNumbers:
    """The numbers behind the figures, against closed forms."""

    def test_the_curve_between_rungs_is_that_of_the_formula(self, result):
        found = curve(made_up_result(3).draws[0])
        precision = (1 - found.lambdas) + found.lambdas / SCALE**2
        half = 0.5 * (1 - 1 / SCALE**2)
        # delta is half * chi-squared / precision; with 3,600 draws the mean is good to 3 %.
        assert found.mean == pytest.approx(half / precision, rel=0.1)
        assert found.variance == pytest.approx(2 * (half / precision) ** 2, rel=0.25)
        assert len(found.lambdas) > 30

    def test_rungs_stand_on_the_path_with_their_errors(self, result):
        columns = path_columns(result)
        assert columns["λ"] == pytest.approx(np.linspace(0, 1, 5))
        leg = result.draws[0]
        assert columns["mean of Δ"] == pytest.approx(leg.mean())
        plain = np.sqrt(leg.variance() / leg.delta[0].size)
        assert columns["standard error"] == pytest.approx(plain, rel=0.25)  # draws are independent

    def test_overlap_is_symmetric_and_that_of_the_check_beside_the_diagonal(self, result):
        lambdas, values = overlap_matrix(result)
        assert np.allclose(values, values.T)
        assert np.diagonal(values) == pytest.approx(np.ones(5))
        assert np.diagonal(values, 1) == pytest.approx(result.draws[0].overlap(), abs=0.02)
        assert values[0, -1] == values.min()

    def test_running_estimates_end_at_the_final_ones(self, result):
        columns = running_columns(result)
        assert columns["MBAR"][-1] == result.estimates["mbar"].value
        assert columns["TI, spline"][-1] == result.estimates["ti"].value
        assert columns["draws a chain"][-1] == 300
        # Ten times fewer draws, about three times the error.
        assert 2 < columns["error of MBAR"][0] / columns["error of MBAR"][-1] < 5
        assert columns["MBAR"][0] == pytest.approx(LOG_Z, abs=5 * columns["error of MBAR"][0])

    def test_the_worst_fitting_parameter_comes_first(self, result):
        shifted = result.reference.assign(b=result.reference["b"] + 3.0)
        found = misfits(replace(result, reference=shifted))
        assert [name for name, _ in found] == ["b", "a"]
        assert found[0][1] == pytest.approx(3.0, abs=0.4)

    def test_a_search_finds_what_the_formula_says(self, result):
        columns = search_columns(result)
        shares = np.array(columns["share of starting points that lead to the mode"])
        assert columns["found, of the prior"] == pytest.approx(1 - (1 - shares) ** 300)

    def test_rounds_are_added_up_and_nothing_is_lost(self, result):
        columns = cost_columns(result)
        assert columns["stage"] == ["finding the modes", "sampling in rounds"]
        assert columns["seconds"] == [1.0, 2.5]
        assert sum(columns["evaluations of the density"]) == 10_200

    def test_probabilities_and_bayes_factors_are_those_of_the_comparison(self, comparison):
        shown = probabilities_columns(comparison)
        assert sum(shown["probability"]) == pytest.approx(1.0)
        assert shown["probability"][0] == comparison.probability("first")
        factors = bayes_factors_columns(comparison)
        assert factors["log Bayes factor"] == pytest.approx([0.5, 6.0, 5.5])
        assert factors["error"] == pytest.approx([np.hypot(0.1, 0.1)] * 3)

    def test_the_rung_whose_chains_agree_least_is_found(self, result):
        delta = np.array(result.draws[0].delta)
        delta[2, 0] += 20.0
        stuck = replace(result, draws=(Draws(result.draws[0].lambdas, delta),))
        assert worst_rung(stuck) == (0, 2)

    def test_places_along_a_parameter_go_by_the_users_names(self):
        values = xarray.DataArray(
            np.zeros((2, 3, 2)), dims=("chain", "draw", "school"), coords={"school": ["A", "B"]}
        )
        dataset = xarray.Dataset(
            {"theta": values, "x": (("chain", "draw", "i"), np.ones((2, 3, 1)))}
        )
        columns = flat_columns(dataset, ("chain", "draw"))
        assert list(columns) == ["theta[A]", "theta[B]", "x[0]"]
        assert columns["x[0]"].tolist() == [1.0] * 6


class TestLegs:
    """Paths of several legs, and of one parameter."""

    def test_several_legs_are_drawn_one_after_the_other(self, result, ax):
        two = replace(result, draws=(result.draws[0], result.draws[0]))
        plots.path(two, ax)
        assert max(np.max(line.get_xdata()) for line in ax.lines) == 2.0
        assert path_columns(two)["leg"][-1] == 2
        _, values = overlap_matrix(two)
        assert np.isnan(values[0, -1])

    def test_a_single_parameter_is_drawn_as_a_distribution(self, ax):
        plots.reference(made_up_result(names=("only",)), ax)
        assert ax.get_xlabel() == "only"
        assert ax.get_ylabel() == "density"


class TestLegibility:
    """Without colour, and where numbers go astray."""

    def test_estimators_differ_in_marker_and_dash_too(self, result, ax):
        plots.running(result, ax)
        looks = [(line.get_marker(), line.get_linestyle()) for line in ax.lines]
        assert len(set(looks)) == len(looks) == 3

    def test_colours_stand_out_from_white_and_from_black(self):
        for colour in COLOURS:
            luminance = relative_luminance(colour)
            assert 1.05 / (luminance + 0.05) >= 3.0  # WCAG for graphics
            assert (luminance + 0.05) / 0.05 >= 3.0

    def test_an_estimate_far_off_does_not_squeeze_the_others(self, result, ax):
        wild = dict(result.estimates)
        wild["ti"] = replace(wild["ti"], value=1e6)
        plots.estimates(replace(result, estimates=wild), ax)
        low, high = ax.get_xlim()
        assert high - low < 40 * result.error
        assert any("1e+06" in text.get_text() for text in ax.texts)

    @pytest.mark.parametrize("rungs", [7, 13, 30])
    def test_the_names_of_many_rungs_do_not_lie_on_each_other(self, rungs: int):
        figure = Figure(SIZE, layout="constrained")
        assert_labels_apart(plots.overlap(made_up_result(rungs), figure.subplots()))

    def test_the_names_of_many_models_do_not_lie_on_each_other(self, result):
        many = {
            f"a model of a long name {i}": with_value(result, -float(i), 0.1) for i in range(16)
        }
        figure = Figure(SIZE, layout="constrained")
        assert_labels_apart(plots.bayes_factors(refti.compare(many), figure.subplots()))

    def test_many_models_leave_the_best_in_the_figure(self, result, ax):
        many = {f"m{i}": with_value(result, -float(i), 0.1) for i in range(30)}
        plots.probabilities(refti.compare(many), ax)
        assert len(ax.get_yticklabels()) == 20

    def test_numbers_of_any_size_are_written_whole(self, ax):
        ax.set(xlim=(0.8e-5, 2.1e-5), ylim=(-1e6 - 0.3, -1e6))
        short_numbers(ax)
        across = [label.get_text() for label in ax.get_xticklabels()]
        up = [label.get_text() for label in ax.get_yticklabels()]
        assert "1.5e−5" in across
        assert "−1000000.2" in up
        assert len(set(up)) == len(up)
        assert ax.xaxis.get_offset_text().get_text() == ""

    def test_a_long_name_is_cut(self):
        assert literal("x" * 100) == "x" * 27 + "…"
        assert literal("a$b\n") == r"a\$b?"


class TestBadInput:
    """What cannot be drawn is told in words, and no figure is opened for it (see the end)."""

    def test_a_run_without_draws_of_its_reference(self, result):
        with pytest.raises(refti.SettingsError, match="no draws of its reference"):
            plots.reference(replace(result, reference=xarray.Dataset()))

    @pytest.mark.parametrize("name", ["modes", "search"])
    def test_a_run_that_tells_nothing_of_modes(self, name: str, result):
        with pytest.raises(refti.SettingsError, match=r"earlier version|did not look"):
            getattr(plots, name)(replace(result, found={}))

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [({"leg": 1}, "leg= must be from 0 to 0; got 1"), ({"rung": 9}, "from 0 to 4; got 9")],
    )
    def test_a_rung_that_is_not_there(self, arguments, words: str, result):
        with pytest.raises(refti.SettingsError, match=words):
            plots.chains(result, **arguments)

    def test_a_pair_that_is_not_there(self, result):
        with pytest.raises(refti.SettingsError, match="rank= must be from 0 to 0"):
            plots.reference(result, rank=1)

    def test_axes_that_are_none(self, result):
        with pytest.raises(refti.SettingsError, match=r"ax= must be matplotlib axes.*got str"):
            plots.path(result, "axes")  # type: ignore[arg-type]

    def test_a_result_in_place_of_a_comparison(self, result):
        with pytest.raises(refti.SettingsError, match=r"result of refti\.compare; got Evidence"):
            plots.probabilities(result)

    def test_matplotlib_that_is_missing(self, result, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("refti.plots.drawing.find_spec", lambda name: None)
        with pytest.raises(refti.SettingsError, match=r'pip install "refti\[report\]"'):
            plots.path(result)


def relative_luminance(colour: str) -> float:
    """That of a colour such as #0072B2, as WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.fixture(autouse=True)
def _figures_leave_nothing_open() -> Iterator[None]:
    yield
    from matplotlib import pyplot

    assert pyplot.get_fignums() == []
