"""Datasets of a result are made when they are first looked at, once."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import xarray

from made_up_results import made_up_result
from refti.results.late import NamedArrays
from refti.results.result import Evidence

THETA = np.arange(12.0).reshape(2, 3, 2)
POSTERIOR = NamedArrays(
    {"theta": THETA}, ("chain", "draw"), {"theta": ("arm",)}, {"arm": ["a", "b"]}
)


@pytest.fixture
def result() -> Evidence:
    given = {"observed_data": NamedArrays({"y": np.ones(3)}), "lp": xarray.Dataset({"z": 1.0})}
    late = {"posterior": POSTERIOR, "groups": given, "reference": NamedArrays()}
    return replace(made_up_result(2), **late)  # type: ignore[arg-type]


def test_what_is_read_is_a_dataset(result: Evidence):
    drawn = result.posterior["theta"]
    assert drawn.dims == ("chain", "draw", "arm")
    assert list(drawn.coords["arm"].values) == ["a", "b"]
    np.testing.assert_array_equal(drawn, THETA)
    assert list(result.groups) == ["observed_data", "lp"]
    np.testing.assert_array_equal(result.groups["observed_data"]["y"], np.ones(3))
    assert result.groups["lp"]["z"] == 1.0
    assert result.reference.identical(xarray.Dataset())


def test_it_is_made_once(result: Evidence):
    assert vars(result)["posterior"] is POSTERIOR
    first = result.posterior
    assert result.posterior is first
    assert result.groups["observed_data"] is result.groups["observed_data"]


def test_copies_have_the_same(result: Evidence):
    before, after = pickle.loads(pickle.dumps(result)), replace(result, value=0.0)
    assert before.posterior.identical(result.posterior)
    assert after.posterior.identical(result.posterior)
    assert after.groups["observed_data"].identical(result.groups["observed_data"])


def test_none_is_a_dataset_too():
    assert replace(made_up_result(2), reference=xarray.Dataset()).reference.data_vars == {}
    fields = vars(made_up_result(2)).copy()
    del fields["reference"], fields["groups"]
    bare = Evidence(**fields)
    assert bare.reference.identical(xarray.Dataset())
    assert bare.groups == {}
    with pytest.raises(AttributeError):
        bare.posterior = bare.reference  # type: ignore[misc]
