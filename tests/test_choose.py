"""The choice of the reference: which family a density gets, what is written down, and by name.

Seeds are fixed. A z-score beyond 4.5 is a false alarm once in 150,000.
"""

from __future__ import annotations

from functools import cache

import pytest

import refti
from refti import suite
from refti.references.fit import FAMILIES

TOO_FAR = 4.5


@cache
def model(name: str) -> refti.Model:
    return suite.find(name).model()


@cache
def result(name: str, **settings: object) -> refti.Evidence:
    return refti.evidence(model(name), **settings, progress=False)


def expect_right(found: refti.Evidence, name: str) -> None:
    assert found.trusted, str(found)
    # Where the reference is the density itself, rounding is all that is left.
    assert abs(found.value - suite.find(name).log_z) < TOO_FAR * max(found.error, 1e-9)


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("gaussian", {"laplace"}),
        ("student_multivariate", {"student"}),
        ("skewed_20", {"warped", "covariance"}),
        ("bimodal_2d_10sd_90", {"mixture"}),
    ],
)
def test_family_that_a_density_gets(name: str, families: set[str]):
    found = result(name)
    expect_right(found, name)
    assert found.settings["reference"] == ["auto"]
    assert found.settings["chosen_reference"] in families


@pytest.mark.parametrize(
    "name", ["gaussian", "student_multivariate", "skewed_20", "bimodal_2d_10sd_90"]
)
def test_lengths_and_reason_are_written_down(name: str):
    settings = result(name).settings
    chosen, lengths = settings["chosen_reference"], settings["lengths"]
    assert set(lengths) <= set(FAMILIES)
    assert {chosen, "covariance", "laplace"} <= set(lengths)
    assert all(length >= 0 for length in lengths.values())
    # A plain family may be kept for a shaped one that saves too little.
    assert lengths[chosen] <= min(lengths["covariance"], lengths["laplace"])
    assert f"{lengths[chosen]:.3g}" in settings["chosen_because"]
    for family in set(lengths) - {chosen}:
        assert f"{family} {lengths[family]:.3g}" in settings["chosen_because"]


def test_lengths_say_what_each_density_lacks():
    lengths = {
        name: result(name).settings["lengths"]
        for name in ("gaussian", "student_multivariate", "skewed_20", "bimodal_2d_10sd_90")
    }
    # A Laplace reference is the Gaussian itself.
    assert lengths["gaussian"]["laplace"] < 1e-6
    # Where a Gaussian will do, nothing else is fitted.
    assert set(lengths["gaussian"]) == {"covariance", "laplace"}
    student = lengths["student_multivariate"]
    assert student["student"] < 0.6 * min(student["covariance"], student["laplace"])
    skewed = lengths["skewed_20"]
    assert skewed["warped"] < 0.9 * skewed["covariance"] < 0.9 * skewed["laplace"]
    two = lengths["bimodal_2d_10sd_90"]
    assert two["mixture"] < 0.3 * min(two["covariance"], two["laplace"])


@pytest.mark.parametrize("family", ["student", "warped", "mixture", "low_rank"])
def test_families_by_name(family: str):
    found = result("log_gamma", reference=family)
    expect_right(found, "log_gamma")
    assert found.settings["reference"] == [family]
    assert found.settings["chosen_reference"] == family
    assert found.settings["chosen_because"] == "it was asked for"
    assert found.error < 0.05


def test_of_one_kind_there_is_one_choice():
    # In three dimensions a covariance has no rank to be low: both are the same Gaussian.
    low_rank = result("log_gamma", reference="low_rank")
    covariance = result("log_gamma", reference="covariance")
    assert low_rank.value == pytest.approx(covariance.value, abs=0.01)
