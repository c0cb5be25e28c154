"""Results on disk: the same bits come back, and nothing else is accepted."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, replace
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray

import refti
from refti.checks.check import at_least, at_most
from refti.checks.ended import Ended
from refti.draws.cost import Cost
from refti.draws.draws import Draws
from refti.estimators import Estimate, estimate_path
from refti.results.files import sha256
from refti.results.rungs import summarise_rungs
from refti.results.saving import digest_of

FILES = {"result.json", "draws.nc", "posterior.nc", "reference.nc"}


@pytest.fixture(scope="module")
def result() -> refti.Evidence:
    """A result of two legs, made by hand."""
    rng = np.random.default_rng(0)
    legs = (
        Draws([0, 0.5, 1], rng.normal(-1, 0.5, size=(3, 4, 30))),
        Draws([0, 1], rng.normal(0.3, 0.2, size=(2, 4, 30))),
    )
    estimates = estimate_path(legs, Estimate(2.5, 0.0))
    posterior = xarray.Dataset(
        {
            "scale": (("chain", "draw"), rng.uniform(size=(4, 30))),
            "share": (("chain", "draw", "share_dim_0"), rng.uniform(2, 5, size=(4, 30, 2))),
        }
    )
    rungs = [
        summarise_rungs(
            index, leg, divergences=np.full(leg.rungs - 1, 0.001), exchanges=np.full(2, 0.4)
        )
        for index, leg in enumerate(legs)
    ]
    return refti.Evidence(
        value=estimates["mbar"].value,
        error=estimates["mbar"].error,
        estimates=estimates,
        checks=(
            at_most("target error", 0.04, 0.05, "raise kept=", mended_by_draws=True),
            at_least("overlap", 0.3, 0.05, "use more rungs"),
        ),
        draws=legs,
        posterior=posterior,
        cost=Cost(1200, 340, 1.5, 0.25, 3),
        settings={"reference": ["auto"], "path": "referenced", "ladder": None, "seed": 3},
        found={
            "path": "telescopic",
            "chosen_reference": "laplace",
            "lengths": {"laplace": 0.25, "covariance": inf},
            "ended": Ended.OUT_OF_BUDGET.value,
        },
        rungs=(*rungs[0], *rungs[1]),
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


class TestRoundTrip:
    """save() and load()."""

    def test_every_bit_comes_back(self, result: refti.Evidence, tmp_path: Path):
        result.save(tmp_path / "kept")
        again = refti.load(tmp_path / "kept")
        assert type(again) is refti.Evidence
        assert (again.value, again.error) == (result.value, result.error)
        assert dict(again.estimates) == dict(result.estimates)
        assert again.checks == result.checks
        assert again.cost == result.cost
        assert dict(again.settings) == dict(result.settings)
        assert repr(again.rungs) == repr(result.rungs)  # NaN is not equal to itself
        assert {**again.found, "lengths": {}} == {**result.found, "lengths": {}}
        assert again.trusted == result.trusted
        assert again.posterior.identical(result.posterior)
        for name, variable in result.posterior.items():
            assert again.posterior[name].dtype == variable.dtype
        for here, there in zip(result.draws, again.draws, strict=True):
            np.testing.assert_array_equal(here.lambdas, there.lambdas)
            np.testing.assert_array_equal(here.delta, there.delta)
        assert str(again) == str(result)

    def test_numbers_that_are_not_finite(self, result: refti.Evidence, tmp_path: Path):
        checks = (replace(result.checks[0], value=nan, ok=False), *result.checks[1:])
        strange = replace(
            result,
            error=inf,
            estimates={"mbar": Estimate(-1.5, inf), "ti": Estimate(-inf, 0.1, inf)},
            checks=checks,
        )
        strange.save(tmp_path / "kept")
        again = refti.load(tmp_path / "kept")
        assert again.error == inf
        assert dict(again.estimates) == dict(strange.estimates)
        assert isnan(again.checks[0].value)
        assert not again.trusted
        assert again.interval() == (-inf, inf)

    def test_a_ratio_comes_back_as_a_ratio(self, result: refti.Evidence, tmp_path: Path):
        fields = {name: getattr(result, name) for name in result.__dataclass_fields__}
        refti.LogRatio(**fields).save(tmp_path / "kept")
        again = refti.load(tmp_path / "kept")
        assert type(again) is refti.LogRatio
        assert not hasattr(again, "log_z")

    def test_a_result_without_checks_is_not_trusted(self, result: refti.Evidence, tmp_path: Path):
        bare = replace(result, checks=())
        bare.save(tmp_path / "kept")
        assert not bare.trusted
        assert not refti.load(tmp_path / "kept").trusted

    def test_json_is_strict(self, result: refti.Evidence, tmp_path: Path):
        replace(result, error=inf).save(tmp_path / "kept")

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is not JSON")

        text = (tmp_path / "kept" / "result.json").read_text()
        record = json.loads(text, parse_constant=refuse)
        assert record["kind"] == "Evidence"
        assert record["checks"] == [asdict(check) for check in result.checks]

    def test_only_json_and_netcdf_are_written_and_nothing_is_unpickled(
        self, result: refti.Evidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        result.save(tmp_path / "kept")
        assert set(contents(tmp_path / "kept")) == FILES

        def refuse(*arguments: Any, **options: Any) -> None:
            raise AssertionError("unpickled")

        for name in ("load", "loads", "Unpickler"):
            monkeypatch.setattr(pickle, name, refuse)
        assert refti.load(tmp_path / "kept").value == result.value

    def test_a_result_is_not_written_over(self, result: refti.Evidence, tmp_path: Path):
        result.save(tmp_path / "kept")
        before = contents(tmp_path / "kept")
        with pytest.raises(refti.StoreError, match="holds a result already"):
            result.save(tmp_path / "kept")
        assert contents(tmp_path / "kept") == before

    @pytest.mark.parametrize("level", [0, 1, -0.5, nan])
    def test_impossible_levels(self, result: refti.Evidence, level: float):
        with pytest.raises(refti.SettingsError, match="between 0 and 1"):
            result.interval(level)


class TestDamage:
    """Files that are not those that were written."""

    @pytest.mark.parametrize("file", ["draws.nc", "posterior.nc", "reference.nc"])
    def test_changed_netcdf_is_refused(self, result: refti.Evidence, tmp_path: Path, file: str):
        result.save(tmp_path)
        data = bytearray((tmp_path / file).read_bytes())
        data[len(data) // 2] ^= 1
        (tmp_path / file).write_bytes(bytes(data))
        with pytest.raises(refti.StoreError, match="sha256") as caught:
            refti.load(tmp_path)
        assert file in str(caught.value)

    @pytest.mark.parametrize("file", ["draws.nc", "posterior.nc", "reference.nc"])
    def test_missing_netcdf_is_refused(self, result: refti.Evidence, tmp_path: Path, file: str):
        result.save(tmp_path)
        (tmp_path / file).unlink()
        with pytest.raises(refti.StoreError, match=file):
            refti.load(tmp_path)

    @pytest.mark.parametrize(
        "text",
        ["", "{", "[]", "null", '{"format": 99}', '{"format": 2}', "[" * 100_000, '{"a":' * 9_999],
        ids=["empty", "cut", "list", "null", "newer", "fields missing", "deep", "deep objects"],
    )
    def test_damaged_json_is_refused(self, result: refti.Evidence, tmp_path: Path, text: str):
        result.save(tmp_path)
        (tmp_path / "result.json").write_text(text)
        with pytest.raises(refti.StoreError):
            refti.load(tmp_path)

    @pytest.mark.parametrize(
        ("field", "value"),
        [("value", "nan"), ("error", -1.0), ("checks", []), ("trusted", True), ("found", {})],
    )
    def test_a_number_changed_by_hand_is_refused(
        self, result: refti.Evidence, tmp_path: Path, field: str, value: Any
    ):
        replace(result, checks=(replace(result.checks[0], ok=False),)).save(tmp_path)
        record = json.loads((tmp_path / "result.json").read_text())
        assert record[field] != value
        (tmp_path / "result.json").write_text(json.dumps({**record, field: value}))
        with pytest.raises(refti.StoreError, match="changed after it was written"):
            refti.load(tmp_path)

    @pytest.mark.parametrize("field", ["estimates", "rungs", "cost", "sha256"])
    @pytest.mark.parametrize("value", [None, 3, "text", [[]], {"a": None}])
    def test_wrong_kinds_of_values_are_refused(
        self, result: refti.Evidence, tmp_path: Path, field: str, value: Any
    ):
        result.save(tmp_path)
        record = json.loads((tmp_path / "result.json").read_text())
        del record["digest"]
        record[field] = value
        record["digest"] = digest_of(record)  # as one would who means harm
        (tmp_path / "result.json").write_text(json.dumps(record))
        with pytest.raises(refti.StoreError):
            refti.load(tmp_path)

    def test_a_small_file_that_claims_to_be_large_is_not_loaded(
        self, result: refti.Evidence, tmp_path: Path
    ):
        result.save(tmp_path)
        with h5py.File(tmp_path / "draws.nc", "w") as file:  # never written, so it takes no room
            file.create_dataset("delta_0", shape=(2**35,), chunks=(2**16,), dtype="f8")
        record = json.loads((tmp_path / "result.json").read_text())
        del record["digest"]
        record["sha256"]["draws.nc"] = sha256((tmp_path / "draws.nc").read_bytes())
        record["digest"] = digest_of(record)
        (tmp_path / "result.json").write_text(json.dumps(record))
        with pytest.raises(refti.StoreError, match="claims to hold 274,877,906,944"):
            refti.load(tmp_path)

    def test_a_link_is_not_followed(self, result: refti.Evidence, tmp_path: Path):
        result.save(tmp_path / "there")
        result.save(tmp_path / "here")
        (tmp_path / "here" / "draws.nc").unlink()
        (tmp_path / "here" / "draws.nc").symlink_to(tmp_path / "there" / "draws.nc")
        with pytest.raises(refti.StoreError, match=r"draws\.nc cannot be read"):
            refti.load(tmp_path / "here")

    def test_nothing_there(self, tmp_path: Path):
        with pytest.raises(refti.StoreError, match=r"There is no folder .*nowhere"):
            refti.load(tmp_path / "nowhere")
