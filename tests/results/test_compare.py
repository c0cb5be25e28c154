"""Ranking of models: exact numbers, propagation against brute force, laws, refusals."""

import json
import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from refti.errors import CompareError
from refti.results.compare import compare, strength


@dataclass(frozen=True)
class Result:
    log_z: float
    error: float = 0.0
    trusted: bool = True


# Closed forms of the two regressions of the radiata pine data.
DENSITY = Result(-310.1282855367, 0.0021)
ADJUSTED = Result(-301.7046021344, 0.0019)


def test_radiata_bayes_factor_and_ranking():
    table = compare({"density": DENSITY, "adjusted": ADJUSTED})
    value, error = table.log_bayes_factor("adjusted", "density")
    assert [row.name for row in table.rows] == ["adjusted", "density"]
    assert math.exp(value) == pytest.approx(4553.64551, rel=1e-8)
    assert error == pytest.approx(math.sqrt(0.0021**2 + 0.0019**2))
    assert table.log_bayes_factor("density", "adjusted") == (-value, error)
    assert table.rows[1].log_bayes_factor == -value
    assert table.rows[1].strength == "very strong"
    assert table.probability("adjusted") == pytest.approx(4553.64551 / 4554.64551)
    assert table.trusted


def test_probabilities_are_the_softmax():
    table = compare({"a": Result(math.log(1)), "b": Result(math.log(6)), "c": Result(math.log(3))})
    assert [row.name for row in table.rows] == ["b", "c", "a"]
    assert [row.probability for row in table.rows] == pytest.approx([0.6, 0.3, 0.1])
    assert [row.probability_error for row in table.rows] == [0, 0, 0]


def test_prior_weights_are_normalised_and_leave_the_ranking_alone():
    results = {"a": Result(math.log(2)), "b": Result(math.log(3)), "c": Result(math.log(100))}
    table = compare(results, prior={"a": 30, "b": 10, "c": 0})
    assert [row.name for row in table.rows] == ["c", "b", "a"]
    assert [row.probability for row in table.rows] == pytest.approx([0, 1 / 3, 2 / 3])
    assert [row.prior for row in table.rows] == pytest.approx([0, 0.25, 0.75])
    assert compare(results, prior=dict.fromkeys("abc", 1e308)) == compare(results)


def test_one_model_is_certain():
    (row,) = compare({"only": Result(-5.0, 0.3)}).rows
    assert (row.probability, row.probability_error) == (1, 0)
    assert (row.log_bayes_factor, row.log_bayes_factor_error, row.strength) == (0, 0, "")


@pytest.mark.parametrize(
    ("errors", "prior"),
    [
        ((0.05, 0.02, 0.03), (1, 1, 1)),
        ((1.5, 0.2, 0.8), (1, 1, 1)),
        ((3.0, 0.1, 2.0), (1, 5, 2)),
    ],
)
def test_probability_errors_match_brute_force(errors, prior):
    log_z = np.array([-1.0, -2.0, -1.5])
    names = ["a", "b", "c"]
    results = {name: Result(z, e) for name, z, e in zip(names, log_z, errors, strict=True)}
    table = compare(results, prior=dict(zip(names, prior, strict=True)))
    drawn = np.random.default_rng(12345).normal(log_z, errors, size=(400_000, 3))
    masses = np.exp(drawn) * prior
    expected = (masses / masses.sum(axis=1, keepdims=True)).std(axis=0)
    got = [next(row.probability_error for row in table.rows if row.name == n) for n in names]
    # 4,096 draws know a standard deviation to 1 %, up to 2 % where it is skewed; 4 sigma.
    np.testing.assert_allclose(got, expected, rtol=0.08)


def test_small_errors_match_the_delta_method():
    table = compare({"a": Result(0.0, 0.01), "b": Result(1.0, 0.02)})
    p = table.probability("a")
    expected = p * (1 - p) * math.hypot(0.01, 0.02)
    for row in table.rows:
        assert row.probability_error == pytest.approx(expected, rel=0.05)


def test_evidences_far_apart_give_neither_overflow_nor_nan():
    table = compare({"a": Result(1e5, 2.0), "b": Result(0.0, 2.0), "c": Result(-1e5, 2.0)})
    assert [row.probability for row in table.rows] == [1, 0, 0]
    assert [row.probability_error for row in table.rows] == [0, 0, 0]
    ruled_out = compare({"a": Result(1e5), "b": Result(0.0)}, prior={"a": 0, "b": 1})
    assert [row.probability for row in ruled_out.rows] == [0, 1]


def test_spread_next_to_certainty_is_not_rounding_noise():
    table = compare({"a": Result(0.0, 1e-9), "b": Result(-30.0, 1e-9)})
    assert table.rows[0].probability_error < 1e-15


@pytest.mark.parametrize(
    "bad",
    [
        Result(math.nan, math.nan),
        Result(math.nan, 0.1),
        Result(math.inf, 0.1),
        Result(-math.inf, 0.0),
        Result(5.0, math.inf),
        Result(5.0, math.nan),
    ],
)
def test_a_row_without_a_finite_number_is_shown_last_and_marked(bad):
    good = {"good": Result(0.0, 0.1), "better": Result(1.0, 0.1)}
    table = compare({"bad": bad, **good})
    assert [row.name for row in table.rows] == ["better", "good", "bad"]
    for row, alone in zip(table.rows, compare(good).rows, strict=False):
        assert row.probability == pytest.approx(alone.probability)
        assert row.probability_error == pytest.approx(alone.probability_error)
        assert row.log_bayes_factor == alone.log_bayes_factor
    assert math.isnan(table.rows[-1].probability)
    assert math.isnan(table.rows[-1].probability_error)
    assert not table.rows[-1].trusted
    assert not table.trusted
    assert "left out of the probabilities: bad." in str(table)
    json.dumps(table.to_dict(), allow_nan=False)


def test_only_bad_rows_still_give_a_table():
    table = compare({"a": Result(math.nan, math.nan, False), "b": Result(2.0, math.inf)})
    assert not table.trusted
    assert all(math.isnan(row.probability) for row in table.rows)
    assert str(table).count(" NO") == 2


def test_all_prior_weight_on_a_bad_row_leaves_probabilities_unknown():
    table = compare({"a": Result(math.nan), "b": Result(1.0, 0.1)}, prior={"a": 1, "b": 0})
    assert math.isnan(table.probability("b"))


def test_text_of_the_table():
    assert str(compare({"density": DENSITY, "adjusted": ADJUSTED})).splitlines() == [
        "model                  log z  log Bayes factor              probability"
        "  best over this  trusted",
        "-" * 96,
        "adjusted  -301.7046 ± 0.0019             0 ± 0  0.99978044 ± 0.00000063"
        "                  yes",
        "density   -310.1283 ± 0.0021  -8.4237 ± 0.0028  0.00021956 ± 0.00000063"
        "  very strong     yes",
    ]


@pytest.mark.parametrize(
    ("log_z", "error", "text"),
    [
        (-310.12828, 0.00214, "-310.1283 ± 0.0021"),
        (-310.12828, 0.0997, "-310.13 ± 0.10"),
        (-310.12828, 1.26, "-310.1 ± 1.3"),
        (-310.12828, 12.6, "-310 ± 13"),
        (-310.12828, 126.0, "-310 ± 130"),
        (-310.12828, 1.26e-12, "-310.12828000 ± 1.3e-12"),
        (-310.12828, 0.0, "-310.12828 ± 0"),
        (-310.12828, math.inf, "-310.1283 ± inf"),
    ],
)
def test_errors_are_shown_to_two_significant_digits(log_z, error, text):
    assert f" {text}  " in str(compare({"m": Result(log_z, error)}))


def test_notes_tell_an_untrusted_row_and_an_undecided_ranking():
    close = compare({"a": Result(0.0, 0.1, False), "b": Result(0.1, 0.1)})
    assert close.notes == (
        "Ranking undecided: b and a are closer than 2 combined errors.",
        "Checks failed, do not rely on: a.",
    )
    assert str(close).splitlines()[-2:] == list(close.notes)
    assert not close.trusted
    assert compare({"a": Result(0.0, 0.1), "b": Result(0.3, 0.1)}).notes == ()


def test_a_name_cannot_break_the_table():
    text = str(compare({"a\nb\x1b[31m": Result(0.0, 0.1)}))
    assert len(text.splitlines()) == 3
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("log_bayes_factor", "words"),
    [
        (0.0, "not worth more than a bare mention"),
        (1.0, "not worth more than a bare mention"),
        (1.01, "positive"),
        (-3.0, "positive"),
        (3.01, "strong"),
        (5.0, "strong"),
        (5.01, "very strong"),
        (math.inf, "very strong"),
        (math.nan, ""),
    ],
)
def test_strength_follows_kass_and_raftery(log_bayes_factor, words):
    assert strength(log_bayes_factor) == words


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ({}, "at least one model to its evidence; got nothing"),
        ([DENSITY, ADJUSTED], "got list. Write refti.compare"),
        ({1: DENSITY}, "must be strings; got 1"),
        (
            {"a": DENSITY, "a to b": SimpleNamespace(log_ratio=1.0, error=0.1, trusted=True)},
            "Result 'a to b' has no log_z: expected the evidence of one model; got SimpleNamespace."
            " A path between two models gives only the ratio of their evidences: run"
            " refti.evidence() on each.",
        ),
        ({"a": SimpleNamespace(), "b": SimpleNamespace()}, "Result 'b' has no log_z and no error"),
    ],
)
def test_what_cannot_be_ranked_is_refused(results, message):
    with pytest.raises(CompareError) as caught:
        compare(results)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"a": 1}, "expected a, b; got a."),
        ({"a": 1, "b": 1, "c": 1}, "expected a, b; got a, b, c."),
        ([0.5, 0.5], "expected a, b; got list."),
        ({"a": 1, "b": -1}, "finite and not negative; got b: -1."),
        ({"a": math.nan, "b": math.inf}, "finite and not negative; got a: nan, b: inf."),
        ({"a": 0, "b": 0}, "must not all be 0"),
    ],
)
def test_a_prior_that_cannot_be_used_is_refused(prior, message):
    with pytest.raises(CompareError) as caught:
        compare({"a": DENSITY, "b": ADJUSTED}, prior=prior)
    assert message in str(caught.value)


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(CompareError, match=r"'c'\. Expected one of: b, a"):
        compare({"a": DENSITY, "b": ADJUSTED}).probability("c")


results = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.builds(Result, st.floats(-1e5, 1e5), st.floats(0, 10), st.booleans()),
    min_size=1,
    max_size=6,
)


@given(results)
def test_probabilities_sum_to_one_and_rows_are_ranked(given_results):
    table = compare(given_results)
    assert sum(row.probability for row in table.rows) == pytest.approx(1)
    assert all(0 <= row.probability <= 1 for row in table.rows)
    assert all(0 <= row.probability_error <= 0.5 + 1e-12 for row in table.rows)
    log_z = [row.log_z for row in table.rows]
    assert log_z == sorted(log_z, reverse=True)
    assert str(table)
    json.dumps(table.to_dict(), allow_nan=False)


@given(results, st.randoms(use_true_random=False))
def test_the_order_of_the_results_changes_nothing(given_results, random):
    shuffled = list(given_results.items())
    random.shuffle(shuffled)
    assert compare(dict(shuffled)) == compare(given_results)


@given(results, st.floats(-1e4, 1e4))
def test_a_constant_added_to_every_log_z_changes_no_probability(given_results, shift):
    # Log z's closer than rounding may swap places, and with them their draws.
    gaps = np.diff(np.sort([r.log_z for r in given_results.values()]))
    assume(not np.any((gaps > 0) & (gaps < 1e-8)))
    moved = {n: Result(r.log_z + shift, r.error, r.trusted) for n, r in given_results.items()}
    table, shifted = compare(given_results), compare(moved)
    for row in table.rows:
        twin = next(other for other in shifted.rows if other.name == row.name)
        assert twin.probability == pytest.approx(row.probability, rel=1e-6, abs=1e-12)
        assert twin.probability_error == pytest.approx(row.probability_error, rel=1e-6, abs=1e-9)
